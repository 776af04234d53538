"""Summaries without noise: sums computed directly, so that only what is asked of them can be wrong."""

import numpy as np

import sfumato as sf
from sfumato.bases.moments.quadrature import category_nodes
from sfumato.core.calibration import calibrate
from sfumato.targets.base import Published

PURE = sf.Privacy(epsilon=1.0)


def scaled(records, box):
    """``(n, d)`` records with categories by their positions, in [-1, 1]."""
    parts = []
    for values, kind in zip(np.asarray(records, dtype=float).T, box.columns, strict=True):
        if isinstance(kind, sf.Categorical):
            parts.append(category_nodes(len(kind.categories))[values.astype(int)])
        else:
            parts.append((2 * values - kind.low - kind.high) / (kind.high - kind.low))
    return np.clip(np.stack(parts, axis=1), -1, 1)


def moments(records, box, frequencies):
    """Means of products of cosines, one for each frequency."""
    angles = np.arccos(scaled(records, box))
    return np.array([np.cos(angles * r).prod(axis=1).mean() for r in frequencies])


def exact(records, box, basis, privacy=PURE, noise="auto"):
    """The release of a summary whose noise happens to be zero."""
    rows = len(records) if (privacy.neighbours, privacy.unit) == ("replace", "row") else None
    target = sf.CosineMoments(basis.degree, None, basis.interactions, noise).settled(box, rows, privacy)
    certificate = target.certificate(basis, box, rows, privacy)
    law, promised = calibrate(
        certificate, target.size(basis, box), privacy, target.preferred_noise(certificate, privacy)
    )
    sums = len(records) * moments(records, box, basis.index_set(box).frequencies)
    values = sums[0 if rows is None else 1 :]
    return target.finish(Published(values, basis, box, rows, law, promised, None, privacy, "caller"))
