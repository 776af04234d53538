"""Evaluating a released function at 10^6 points in two dimensions, against numpy's chebval2d."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebval2d

import sfumato as sf
from benchmarks.timing import row, seconds

POINTS = 1_000_000
DIFFPRIV_MICROSECONDS = 570.0  # the R package diffpriv at degree 10, measured elsewhere


def run() -> list[dict[str, Any]]:
    """Nanoseconds per point and the ratios."""
    rng = np.random.default_rng(0)
    points = rng.random((POINTS, 2))
    box = sf.Box([(0, 1), (0, 1)])
    rows = []
    for degree in (10, 20):
        function = sf.Bernstein(degree, order=3).approximate(lambda p: np.sin(3 * p[:, 0]) * p[:, 1], box)
        coefficients = rng.normal(size=(degree + 1, degree + 1))
        mine = seconds(lambda f=function: f(points), repeats=3) / POINTS
        peer = seconds(lambda c=coefficients: chebval2d(2 * points[:, 0] - 1, 2 * points[:, 1] - 1, c), 3) / POINTS
        rows.append(row(f"sfumato, degree {degree}", mine * 1e9, "ns per point"))
        rows.append(row(f"numpy chebval2d, degree {degree}", peer * 1e9, "ns per point"))
        rows.append(row("  ratio", peer / mine, "times faster"))
        if degree == 10:
            ratio = DIFFPRIV_MICROSECONDS * 1e-6 / mine
            rows.append(row("  against diffpriv's 570 us per point", ratio, "times faster"))
    return rows
