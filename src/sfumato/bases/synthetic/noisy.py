"""The noisy numbers of a synthetic table as moments with deviations: public numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.density.measure import to_simplex
from sfumato.bases.synthetic.blocks import RULE, TableBlocks, layout_of
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.laws import block_deviations, noise_deviation

Floats = NDArray[np.float64]

_SURE = 4.0  # deviations of a number of records without a label, from which on there are some


@dataclass(frozen=True, eq=False)
class Noisy:
    """Sums over records in units of one record, and the deviation of the noise in each.

    Parameters
    ----------
    rows
        The public number of records, or None.
    counts, sums
        ``(classes,)`` and ``(classes, features)``: of each class.
    of_class
        The deviation of the noise in each of them.
    norm, spreads, pairs, rule
        Pooled: the sum of all ``T_2``, ``(columns, orders)``, ``(pairs,)``, ``(2,)``; each with its deviation. None
        where they were not bought.
    """

    rows: int | None
    counts: Floats
    sums: Floats
    of_class: float
    norm: tuple[float, float] | None
    spreads: tuple[Floats, float] | None
    pairs: tuple[Floats, float] | None
    rule: tuple[Floats, float] | None = None

    @property
    def total(self) -> float:
        """The number of records, or the noisy one; at least one."""
        return max(1.0, float(self.rows) if self.rows is not None else float(self.counts.sum()))

    @property
    def members(self) -> Floats:
        """``(classes,)``: the numbers of records, none negative, that add up to all records where noise allows it.

        All records have a label, then, as far as the numbers tell. What noise would have made negative is nothing.
        """
        whole, count = float(self.counts.sum()), len(self.counts)
        if self.rows is not None and (count == 1 or abs(whole - self.rows) < _SURE * self.of_class * math.sqrt(count)):
            whole = float(self.rows)
        whole = max(1.0, whole)
        return np.asarray(to_simplex(self.counts / whole) * whole)

    @property
    def sizes(self) -> Floats:
        """``(classes,)``: by how many records sums of a class are divided; never by less than noise can make up."""
        return self.members if len(self.counts) == 1 else np.maximum(self.members, max(1.0, self.of_class))

    @property
    def shares(self) -> Floats:
        """``(classes,)``: the part of the rows that each class has."""
        return np.asarray(self.members / self.members.sum())


def read_numbers(values: Floats, basis: TableBlocks, box: Box, law: NoiseLaw, rows: int | None) -> Noisy:
    """Noisy numbers, in the order of the blocks, as moments."""
    sizes = basis.sizes(box)
    ends = [0, *accumulate(sum(own) for own in sizes.values())]
    parts = {word: values[a:b] for word, a, b in zip(sizes, ends[:-1], ends[1:], strict=True)}
    deviations = [one for _, one in block_deviations(law)] if law.kind == "blocks" else []
    found: dict[str, tuple[Floats, float]] = {}
    place = 0
    for word, own in sizes.items():
        if own:
            unit = basis.unit(word, box) * law.step
            sd = deviations[place] if deviations else noise_deviation(law)
            found[word], place = (parts[word] / unit, sd / unit), place + len(own)
    classes = len(sizes["means"])
    means, of_class = found["means"]
    strata = means.reshape(classes, -1)
    norm, spreads = found.get("norm"), found.get("spreads")
    many = len(layout_of(box, basis.label).many)
    return Noisy(
        rows,
        strata[:, 0],
        strata[:, 1:],
        of_class,
        None if norm is None else (float(norm[0][0]), norm[1]),
        None if spreads is None else (spreads[0].reshape(many, -1), spreads[1]),
        found.get("pairs"),
        found.get(RULE),
    )
