"""Which mean losses people can have: of a named loss, mixtures of those of single records, and these are public.

Noise moves values on a lattice away from all of them; the nearest mixture is nearer to the truth
(docs/proofs/risk.md, Theorem 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from sfumato.bases.smooth_losses import SMOOTH

Floats = NDArray[np.float64]

_SIDE = 17  # made-up records along each coordinate, at most
_LARGEST_TABLE = 2**22  # of losses of made-up records at the points of a lattice
_MOST_STEPS = 200
_PRECISE = 1e-6  # of the range of a loss: noise is less than this beyond 10^12 people only


@dataclass(frozen=True, eq=False)
class PossibleLoss:
    """The mean loss of a few made-up records.

    Parameters
    ----------
    loss, range
        Its name, and what it is clipped to.
    records
        ``(r, k)`` in [-1, 1]: of a margin the columns times the response, of a residual the columns, then the response.
    shares
        ``(r,)``, of sum one: how much each record counts.
    """

    loss: str
    range: tuple[float, float]
    records: Floats
    shares: Floats

    @classmethod
    def nearest(cls, loss: str, range: tuple[float, float], points: Floats, values: Floats) -> Self:
        """That one whose values at ``(m, p)`` parameters are nearest in squares to those given.

        >>> points = np.linspace(-2, 2, 9)[:, None]
        >>> told = np.logaddexp(0.0, -points[:, 0])  # of people who all have the record 1
        >>> PossibleLoss.nearest("logistic", (0.0, 3.0), points, told).shares.round(6).tolist()
        [1.0]
        """
        coordinates = points.shape[1] + (not SMOOTH[loss].of_margin)
        side = min(_SIDE, int((_LARGEST_TABLE / len(points)) ** (1 / coordinates)))
        grid = np.meshgrid(*[np.linspace(-1.0, 1.0, side)] * coordinates, indexing="ij")
        records = np.stack([one.ravel() for one in grid], axis=1)
        low, high = range
        shares = _nearest_mixture(_losses(loss, range, points, records), (values - low) / (high - low))
        used = shares > 0
        return cls(loss, range, records[used], shares[used])

    def __call__(self, points: Floats) -> Floats:
        """At ``(m, p)`` parameters."""
        low, high = self.range
        return np.asarray(low + (high - low) * (_losses(self.loss, self.range, points, self.records) @ self.shares))


def _nearest_mixture(columns: Floats, values: Floats) -> Floats:
    """Shares of sum one that mix columns to what is nearest to the values, up to ``_PRECISE`` in the root mean square.

    One column more at a time, the one that values beyond the mixture point to most, until none of them leads nearer.
    """
    used = [int(np.argmin(((columns - values[:, None]) ** 2).sum(axis=0)))]
    shares, ones = np.ones(1), np.append(np.zeros(len(values)), 1.0)
    for _ in range(_MOST_STEPS):
        mixed = columns[:, used] @ shares
        ahead = (values - mixed) @ columns
        best = int(np.argmax(ahead))
        # No mixture is nearer to the values than this one by more than the root of this (docs/proofs/risk.md).
        if ahead[best] - (values - mixed) @ mixed <= _PRECISE**2 * len(values) or best in used:
            break
        more = [*used, best]
        # Shares of sum t are off by t times what those of sum one are, and by 1 - t: the best direction is the nearest.
        off = np.vstack([columns[:, more] - values[:, None], np.ones(len(more))])
        try:
            found, _ = nnls(off, ones, maxiter=_MOST_STEPS * len(more))
        except RuntimeError:  # columns that are alike up to rounding: what there is will do
            break
        used = [column for column, share in zip(more, found, strict=True) if share > 0]
        shares = found[found > 0] / found.sum()
    every = np.zeros(columns.shape[1])
    every[used] = shares
    return every


def _losses(loss: str, range: Sequence[float], points: Floats, records: Floats) -> Floats:
    """``(m, r)`` losses of records at parameters, as shares of the range."""
    named, (low, high) = SMOOTH[loss], range
    scores = points @ records[:, : points.shape[1]].T
    values = named.value(scores if named.of_margin else scores - records[:, -1])
    return np.asarray(np.clip((values - low) / (high - low), 0.0, 1.0))
