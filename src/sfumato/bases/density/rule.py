"""Which lattice ``basis="auto"`` takes for a density that is made a probability measure: a rule of public numbers.

What is released is the nearest measure to noisy masses, and how wrong it is has no formula: the projection takes away
most of the noise where there is little mass, and finds points of mass that no linear reconstruction would. So the error
was simulated as it is shipped, for made-up data from smooth densities to towns, lines and points of mass whose
parameters were drawn at random, and for each lattice. In bandwidths, the step of least regret (the worst and mean ratio
to each family's own best) depends on one number: the noise in a mass, divided by the mean mass within a bandwidth. With
several columns, where points and lines cost more, it is a little shorter; ``benchmarks/suite`` draws families anew.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.bases.density.binning import Binning, MassLattice, SplitLattice
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.mixture import node_positions
from sfumato.core.box import Box, Integer, Interval, Periodic

# Noise over the mean mass within a bandwidth (decimal logarithm): step of the lattice, deviation of the shares, both in
# bandwidths. Between the entries steps are interpolated.
_RULE = (
    (-6.0, 0.30, 0.6),
    (-5.0, 0.36, 0.6),
    (-4.0, 0.42, 0.6),
    (-3.0, 0.50, 0.6),
    (-2.5, 0.60, 0.5),
    (-2.0, 0.72, 0.5),
    (-1.5, 0.86, 0.5),
    (-1.0, 1.05, 0.5),
    (-0.5, 1.30, 0.5),
    (0.0, 1.60, 0.5),
    (0.5, 2.00, 0.5),
    (1.0, 2.40, 0.5),
)
_SEVERAL = (0.9, 0.6)  # with several columns: steps are that much shorter, and shares at least so wide
_BEATING = 1.5  # a lattice with steps below this many whole numbers follows them
_COUNTED = 2  # cells at least for each whole number: then each has cells of its own
_NARROW = 0.1  # of a step: shares so narrow that a record belongs to the nearest point alone


def noise_to_mass(box: Box, kernel: GaussianKernel, deviation: float) -> float:
    """The noise in a mass (of a total of one) over the mean mass within a bandwidth."""
    sides = zip(box.intervals(), kernel.resolution, strict=True)
    return deviation * math.prod((column.high - column.low) / width for column, width in sides)


def choose(box: Box, kernel: GaussianKernel, deviation: float, cells: tuple[int, ...]) -> MassLattice:
    """The lattice for noise of this standard deviation in each mass, relative to a total of one.

    ``cells`` are those that records are counted in, along each axis.
    """
    place = math.log10(max(noise_to_mass(box, kernel, deviation), 1e-300))
    levels = [level for level, _, _ in _RULE]
    step = float(np.interp(place, levels, [step for _, step, _ in _RULE]))
    width = _RULE[int(np.argmin([abs(place - level) for level in levels]))][2]
    if box.dimension > 1:
        step, width = step * _SEVERAL[0], max(width, _SEVERAL[1])
    points, widths = [], []
    sides = zip(box.intervals(), kernel.resolution, node_positions(box, kernel), cells, strict=True)
    for column, own, nodes, size in sides:
        whole = whole_numbers(column)
        if whole and step * own < _BEATING and _COUNTED * whole <= size and whole <= len(nodes):
            points.append(whole)
            widths.append(_NARROW)
            continue
        count = round((column.high - column.low) / (step * own)) + (not isinstance(column, Periodic))
        points.append(min(max(2, count), len(nodes)))
        widths.append(width * own)
    return SplitLattice(tuple(points), tuple(widths)) if all(widths) else Binning(tuple(points))


def whole_numbers(column: Interval) -> int:
    """How many whole numbers a column has from end to end; 0 where it has others too, or its bounds are none."""
    if not (isinstance(column, Integer) or getattr(column, "whole", False)) or column.low % 1 or column.high % 1:
        return 0
    return int(column.high - column.low) + (not isinstance(column, Periodic))


def whole_axes(box: Box, lattice: MassLattice, cells: tuple[int, ...]) -> tuple[int, ...]:
    """The axes along which each record lies on a lattice point, to which it belongs alone: declared whole numbers."""
    if not isinstance(lattice, SplitLattice):
        return ()
    counts, shape = [whole_numbers(column) for column in box.intervals()], lattice.shape(box)
    return tuple(
        axis
        for axis, whole in enumerate(counts)
        if whole == shape[axis]
        and _COUNTED * whole <= cells[axis]
        and lattice.axis_width(box, axis) * (box.high[axis] - box.low[axis]) <= _NARROW
    )
