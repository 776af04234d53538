"""Summaries to draw and describe: real sums of made-up records, with the law of their noise but none of it."""

import numpy as np
import pandas as pd

import sfumato as sf
from unit.drawing.support import LINE, PLANE, SEX, WARD, without_noise

MIXED = {**PLANE, **SEX, **WARD}
_ROOTS = (0.7548776662466927, 0.5698402909980532, 0.324717957244746)  # an even spread in three columns


def records(box, count):
    """Numbers around the middle of each column, that rise together; categories that take turns."""
    steps = np.arange(count)
    base = np.mod(steps * _ROOTS[0], 1.0)
    data = {}
    for j, (name, kind) in enumerate(zip(box.names, box.columns, strict=True)):
        own = np.mod(steps * np.sqrt(j + 2.0), 1.0)
        if isinstance(kind, sf.Categorical):
            place = np.floor(own**1.5 * len(kind.categories)).astype(int)
            data[name] = np.array(kind.categories, dtype=object)[place]
        else:
            unit = 0.2 + 0.4 * base + 0.2 * own
            data[name] = kind.low + unit * (kind.high - kind.low)
    return pd.DataFrame(data).infer_objects()


def summary(columns=None, degree=8, interactions="auto", count=20_000, data=None, noise="auto", **grant):
    """A summary; ``grant`` as for ``sf.Privacy``."""
    box = sf.Box(LINE if columns is None else columns)
    privacy = sf.Privacy(**{"epsilon": 1.0, **grant})
    target = sf.CosineMoments(degree, interactions=interactions, noise=noise)
    public = (privacy.neighbours, privacy.unit) == ("replace", "row")
    target = target.settled(box, count if public else None, privacy)
    basis = target.choose_basis(box, count, privacy)
    table = records(box, count) if data is None else data
    return without_noise(target, table, box, basis, privacy, count if public else None)
