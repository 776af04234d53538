"""Rows of a synthetic table by a linear program: weights of candidates whose moments come nearest to the noisy ones.

The paper's Algorithm 3: ``min sum_r |W_r u - b_r|`` over ``u >= 0`` that add up to one, on a full grid where columns
are few, and on points of a private ellipsoid where they are many. Each moment counts by how well it is known.
Everything here is computed from public numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.subspace.reading import Ellipsoid, axes_of
from sfumato.bases.synthetic.blocks import LARGEST_ORDER, block_sizes, layout_of
from sfumato.bases.synthetic.contributions import chebyshev
from sfumato.bases.synthetic.model import ColumnLaw, TableLaw
from sfumato.bases.synthetic.noisy import Noisy
from sfumato.core.box import Box
from sfumato.errors import ParameterError
from sfumato.releases.rows import points_in, systematic

Floats = NDArray[np.float64]

_GRID = 4096  # candidates of a full grid, at most
_FEWEST = 8  # along each column of one
_MOST, _LEAST, _HELD = 2_000, 500, 2**18  # points of an ellipsoid: fewer for many moments, or a program takes long
LARGEST_PROGRAM = 2**20  # numbers in the matrix of a linear program
_CELLS = 160  # of a picture


@dataclass(frozen=True, eq=False)
class Atoms:
    """``(m, d)`` points of [-1, 1] with weights, and how far rows lie from them along each column, at most."""

    points: Floats
    weights: Floats
    reach: float


def moments_of(box: Box, order: int, pairs: bool) -> int:
    """How many moments a linear program is about."""
    sizes = block_sizes(box, None, order)
    return sum(sizes["means"]) + sum(sizes["spreads"]) + (sum(sizes["pairs"]) if pairs else 0)


def side_of(box: Box) -> int | None:
    """How many points a full grid has along each column; None where columns are too many for one."""
    side = math.floor(_GRID ** (1 / box.dimension) + 1e-9)
    return side if side >= _FEWEST else None


def count_of(box: Box, moments: int) -> int:
    """How many candidates there are."""
    side = side_of(box)
    return min(_MOST, max(_LEAST, _HELD // moments)) if side is None else side**box.dimension


def has_room(box: Box, pairs: bool) -> bool:
    """Whether the linear program of all moments, with or without pairs, fits."""
    moments = moments_of(box, LARGEST_ORDER, pairs)
    return count_of(box, moments) * moments <= LARGEST_PROGRAM


def check_program(box: Box, label: str | None, pairs: bool) -> None:
    """Refuse, by public parameters, what is no matter of a linear program or would fill memory."""
    layout = layout_of(box, label)
    if label is not None:
        raise ParameterError.of("label", f"must be left out for method='lp', got label={label!r}; 'strata' has classes")
    if layout.circles or layout.groups:
        name = box.names[(layout.circles + layout.groups)[0]]
        raise ParameterError.of(
            "box", f"has a column {name!r} that is no number on a line, which method='lp' needs: leave it out, or use "
            "method='strata'"
        )  # fmt: skip
    if not has_room(box, pairs):
        moments = moments_of(box, LARGEST_ORDER, pairs)
        raise ParameterError.of(
            "shares" if pairs else "box",
            f"would make a linear program of {moments:,} moments and {count_of(box, moments):,} candidates of "
            f"{box.dimension:,} columns, {LARGEST_PROGRAM:,} numbers are possible; "
            f"{'give shares without pairs' if pairs else 'give fewer columns'}, or use method='strata'",
        )


def ellipsoid_of(noisy: Noisy, box: Box) -> Ellipsoid:
    """Mean and axes of what was bought; columns of which no product was are taken to be independent."""
    layout, total = layout_of(box, None), noisy.total
    means = np.clip(noisy.sums[0] / total, -1.0, 1.0)
    mean, square = means[: len(layout.lines)], np.full(len(layout.lines), 1 / 3)
    if layout.few:
        square[list(layout.few)] = (means[len(layout.lines) :] + 1) / 2
    if noisy.spreads is not None:
        square[list(layout.many)] = (np.clip(noisy.spreads[0][:, 0] / total, -1.0, 1.0) + 1) / 2
    second = np.outer(mean, mean)
    if noisy.pairs is not None:
        many = np.array(layout.many)
        first, other = (many[part] for part in np.triu_indices(len(many), 1))
        second[first, other] = second[other, first] = np.clip(noisy.pairs[0] / total, -1.0, 1.0)
    np.fill_diagonal(second, np.maximum(square, mean**2))
    return Ellipsoid(mean, *axes_of(second - np.outer(mean, mean), box.dimension))


def candidates_of(noisy: Noisy, box: Box, generator: np.random.Generator) -> tuple[Floats, float]:
    """A full grid of the paper's, ``a_k = (2 k + 1 - N)/N``, or points of an ellipsoid; and half a cell's width."""
    side = side_of(box)
    if side is None:
        return points_in(ellipsoid_of(noisy, box), count_of(box, bought_of(noisy)), generator), 0.0
    axis = (2 * np.arange(side) + 1 - side) / side
    mesh = np.meshgrid(*[axis] * box.dimension, indexing="ij")
    return np.stack([part.ravel() for part in mesh], axis=1), 1 / side


def _parts(noisy: Noisy, many: int) -> list[tuple[Floats, float]]:
    """The sums that were bought, each with the deviation of its noise; squared lengths as a mean of columns."""
    norm = [] if noisy.norm is None else [(np.array([noisy.norm[0] / many]), noisy.norm[1] / many)]
    more = [part for part in (noisy.spreads, noisy.pairs) if part is not None]
    return [(noisy.sums[0], noisy.of_class), *norm, *more]


def bought_of(noisy: Noisy) -> int:
    """How many moments there are."""
    return sum(sums.size for sums, _ in _parts(noisy, 1))


def moments_at(points: Floats, noisy: Noisy, box: Box) -> tuple[Floats, Floats, Floats]:
    """``(R, m)`` moments of each point, the noisy ones, and the deviation of the noise in each; all within [-1, 1]."""
    layout = layout_of(box, None)
    parts = _parts(noisy, len(layout.many))
    many = points[:, list(layout.many)].T
    rows = [points.T, *(chebyshev(points[:, i], 2)[0][None, :] for i in layout.few)]
    if noisy.norm is not None:
        rows.append(chebyshev(many, 2)[0].mean(axis=0)[None, :])
    if noisy.spreads is not None:
        shapes = chebyshev(many, noisy.spreads[0].shape[1] + 1)
        rows.append(np.stack(shapes, axis=1).reshape(-1, len(points)))
    if noisy.pairs is not None:
        first, other = np.triu_indices(len(many), 1)
        rows.append(many[first] * many[other])
    wanted = [sums.ravel() / noisy.total for sums, _ in parts]
    unsure = [np.full(sums.size, sd) for sums, sd in parts]
    return np.concatenate(rows), np.clip(np.concatenate(wanted), -1.0, 1.0), np.concatenate(unsure)


def nearest(matrix: Floats, wanted: Floats, unsure: Floats) -> Floats:
    """The weights of candidates that come nearest, in L1; all alike where no program could be solved."""
    from scipy.optimize import linprog

    scale = unsure.min() / unsure
    moments, count = len(wanted), matrix.shape[1]
    program = np.zeros((moments + 1, count + 2 * moments))  # what is missing, and what is too much, of each moment
    program[:moments, :count] = scale[:, None] * matrix
    program[:moments, count:] = np.hstack([np.eye(moments), -np.eye(moments)])
    program[moments, :count] = 1.0
    cost = np.repeat([0.0, 1.0], [count, 2 * moments])
    for method in ("highs-ds", "highs-ipm"):
        found = linprog(cost, A_eq=program, b_eq=np.append(scale * wanted, 1.0), method=method)
        if found.status == 0:
            weights = np.maximum(found.x[:count], 0.0)
            return np.asarray(weights / weights.sum())
    return np.full(count, 1 / count)


def atoms_of(noisy: Noisy, box: Box, seed: int) -> Atoms:
    """The candidates of a seed, with their weights."""
    points, reach = candidates_of(noisy, box, np.random.default_rng(seed))
    return Atoms(points, nearest(*moments_at(points, noisy, box)), reach)


def law_of_atoms(atoms: Atoms, box: Box) -> TableLaw:
    """Each column by itself, in narrow cells, and the products of pairs: what faces show."""
    edges = np.linspace(-1.0, 1.0, _CELLS + 1)
    found = {}
    for i, column in enumerate(atoms.points.T):
        masses, _ = np.histogram(column, edges, weights=atoms.weights)
        found[i] = ColumnLaw(masses[None, :], edges[:-1], edges[1:])
    many = atoms.points[:, list(layout_of(box, None).many)]
    return TableLaw(np.ones(1), found, np.asarray((many.T * atoms.weights) @ many))


def rows_of_atoms(atoms: Atoms, box: Box, rows: int, generator: np.random.Generator) -> list[Floats]:
    """The columns of the box, in its units: candidates by their weights, on a grid anywhere in their cells."""
    kept = np.flatnonzero(atoms.weights)
    cells, _ = systematic(atoms.weights[kept], rows, generator)
    found = atoms.points[kept[cells]]
    found = np.clip(found + atoms.reach * generator.uniform(-1.0, 1.0, found.shape), -1.0, 1.0)
    found = found[generator.permutation(rows)]
    middle, half = box.low / 2 + box.high / 2, box.high / 2 - box.low / 2
    return list((middle + found * half).T)
