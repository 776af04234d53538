"""From noisy second moments to a mean and the axes of an ellipsoid: public post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.subspace.moments import SecondMoments

Floats = NDArray[np.float64]

_GOLDEN = (1 + math.sqrt(5)) / 2


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Of columns scaled to [-1, 1]: their mean, ``(k, d)`` orthonormal components, and the variance along each."""

    mean: Floats
    components: Floats
    values: Floats


def start_of(columns: int, rank: int) -> Floats:
    """Orthonormal directions that nobody's records had a part in."""
    angles = np.outer(np.arange(1, columns + 1) ** 2, np.arange(1, rank + 1)) * _GOLDEN
    return orthonormal(np.cos(2 * math.pi * (angles % 1.0)))


def orthonormal(matrix: Floats) -> Floats:
    """Gram and Schmidt's, column after column."""
    size = float(np.abs(matrix).max())
    return np.asarray(np.linalg.qr(matrix / size if size > 0 else matrix)[0])


def split(values: Floats, basis: SecondMoments, rows: int | None, columns: int) -> tuple[float, Floats, Floats]:
    """The number of records, at least one; the mean of the columns; and the other numbers."""
    first = int(basis.counted)
    total = max(1.0, float(rows) if rows is not None else float(values[0]) / basis.count)
    mean = np.clip(values[first : first + columns] / (basis.weight * total), -1.0, 1.0)
    return total, np.asarray(mean), values[first + columns :]


def covariance_of(products: Floats, mean: Floats, total: float) -> Floats:
    """The matrix of covariances, from the upper triangle of noisy sums of products."""
    second = np.zeros((len(mean), len(mean)))
    second[np.triu_indices(len(mean))] = products / total
    second = second + np.triu(second, 1).T
    return np.asarray(second - np.outer(mean, mean))


def axes_of(covariance: Floats, rank: int) -> tuple[Floats, Floats]:
    """Its ``(rank, d)`` components with the largest variances, and these."""
    values, vectors = np.linalg.eigh(covariance)
    return _signed(vectors[:, ::-1][:, :rank].T), np.clip(values[::-1][:rank], 0.0, float(len(values)))


def ellipsoid_of(values: Floats, basis: SecondMoments, rows: int | None, columns: int, noise: float) -> Ellipsoid:
    """What noisy numbers tell; ``noise`` is the deviation of each.

    After products it is Algorithm 4's last step: components by Gram and Schmidt, and along each the length of the
    product, from which the length of the noise is taken off.
    """
    total, mean, rest = split(values, basis, rows, columns)
    if basis.noise == "covariance":
        return Ellipsoid(mean, *axes_of(covariance_of(rest, mean, total), basis.rank))
    product = rest.reshape(columns, basis.rank) / total
    lengths = np.sqrt(np.maximum(np.square(product).sum(axis=0) - columns * (noise / total) ** 2, 0.0))
    order = np.argsort(-lengths, kind="stable")
    found = _signed(orthonormal(product).T[order])
    return Ellipsoid(mean, found, np.clip(lengths[order], 0.0, float(columns)))


def _signed(components: Floats) -> Floats:
    """The same with the largest entry of each positive."""
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    return np.asarray(components * np.where(largest < 0, -1.0, 1.0))
