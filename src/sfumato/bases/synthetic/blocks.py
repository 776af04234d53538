"""Which numbers a synthetic table is made of: moments in public blocks, each with a share of the grant.

``means``: for each class of a label (one stratum if there is none) its count, ``T_1`` of numeric columns (``T_1`` and
``T_2`` of whole numbers of few values), cosine and sine of periodic ones, +1 or -1 for each category. Pooled over all
records, of numeric columns of more than few values: ``norm``, the mean ``T_2`` (their squared length); ``spreads``,
``T_2`` and more of each; ``pairs``, the products of all pairs. ``T_r`` are Chebyshev polynomials of a column scaled to
[-1, 1]. ``rule``, where labels follow one: the sign of the label, and sign times place on the rule's line.
docs/proofs/blocks.md proves how far neighbours move them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sfumato.bases.base import Basis
from sfumato.checks import one_of, shown, whole_number
from sfumato.core.box import Box, Categorical, Column, Integer, Interval, Periodic
from sfumato.core.certificate import Certificate, certify_sum
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError

WORDS = ("means", "norm", "spreads", "pairs")
RULE = "rule"
EXPONENT = -24  # of the grid; all budgets together have about so many bits
LARGEST_ORDER = 4  # of spreads
FEW_VALUES = 12  # a column of so many whole numbers is known class by class
LARGEST_SIZE = 2**20  # numbers


@dataclass(frozen=True)
class Layout:
    """The columns of a box by what is summed of them: places of the box's columns, without the label.

    Parameters
    ----------
    label
        The place of the label; None where there is none.
    lines
        Numeric columns that are no circle.
    few
        Those of the lines that are whole numbers of few values.
    circles, groups
        Periodic columns, and those of categories.
    """

    label: int | None
    lines: tuple[int, ...]
    few: tuple[int, ...]
    circles: tuple[int, ...]
    groups: tuple[int, ...]

    @property
    def many(self) -> tuple[int, ...]:
        """The lines that have more than a few values."""
        return tuple(i for i in self.lines if i not in self.few)


def _is_few(kind: Column) -> bool:
    return isinstance(kind, Integer) and math.floor(kind.high) - math.ceil(kind.low) < FEW_VALUES


def layout_of(box: Box, label: str | None) -> Layout:
    """The columns of a box by their kind."""
    place = None if label is None else box.names.index(label)
    own = [(i, kind) for i, kind in enumerate(box.columns) if i != place]
    lines = tuple(i for i, kind in own if isinstance(kind, Interval) and not isinstance(kind, Periodic))
    few = tuple(i for i in lines if _is_few(box.columns[i]))
    circles = tuple(i for i, kind in own if isinstance(kind, Periodic))
    return Layout(place, lines, few, circles, tuple(i for i, kind in own if isinstance(kind, Categorical)))


def marks_of(kind: Categorical) -> int:
    """How many numbers tell a column's categories apart: one for two, else one for each."""
    return 1 if len(kind.categories) == 2 else len(kind.categories)


def block_sizes(box: Box, label: str | None, order: int) -> dict[str, tuple[int, ...]]:
    """The numbers in the blocks of each word: in ``means`` a block for each class, else one; none for no numbers."""
    layout = layout_of(box, label)
    kind = None if layout.label is None else box.columns[layout.label]
    classes = len(kind.categories) if isinstance(kind, Categorical) else 1
    marks = sum(marks_of(c) for c in box.columns if isinstance(c, Categorical)) - (0 if kind is None else _marks(kind))
    stratum = 1 + len(layout.lines) + len(layout.few) + 2 * len(layout.circles) + marks
    wanted = {
        "means": (stratum,) * classes,
        "norm": (1,) if layout.many else (),
        "spreads": ((order - 1) * len(layout.many),),
        "pairs": (len(layout.many) * (len(layout.many) - 1) // 2,),
        RULE: (2,),
    }
    return {word: tuple(size for size in sizes if size) for word, sizes in wanted.items()}


def _marks(kind: Column) -> int:
    return marks_of(kind) if isinstance(kind, Categorical) else 0


@dataclass(frozen=True)
class TableBlocks(Basis):
    """The blocks of a synthetic table, with what a record may add to each.

    Parameters
    ----------
    label
        A categorical column of the box whose classes are strata; None for one stratum.
    budgets
        For each of the words the largest whole number that a record adds to a number of its blocks; 0 leaves them out.
    order
        ``spreads`` has the polynomials from 2 to this one.
    rule
        The budget of a linear rule's two numbers; 0 leaves them out.

    >>> TableBlocks(None, (2**24, 0, 0, 0)).size(Box({"age": (0, 110), "bmi": (10, 60)}))
    3
    """

    label: str | None
    budgets: tuple[int, int, int, int]
    order: int = 2
    rule: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if self.label is not None and not isinstance(self.label, str):
            raise ParameterError.of("label", f"must be the name of a column, got label={shown(self.label)}")
        if not isinstance(self.budgets, tuple) or len(self.budgets) != len(WORDS):
            raise ParameterError(f"budgets must be {len(WORDS)} whole numbers, got {shown(self.budgets)}")
        for word, budget in zip(WORDS, self.budgets, strict=True):
            whole_number(f"the budget of {word}", budget, word == "means", 2**-EXPONENT)
        whole_number("order", self.order, 2, LARGEST_ORDER)
        whole_number("the budget of the rule", self.rule, 0, 2**-EXPONENT)

    @cached_property
    def budget(self) -> dict[str, int]:
        """The budget of each word."""
        return {**dict(zip(WORDS, self.budgets, strict=True)), RULE: self.rule}

    def unit(self, word: str, box: Box) -> int:
        """What a number of size one becomes, in steps: pairs have squares, of a norm each column its part."""
        if word == "pairs":
            return math.isqrt(self.budget[word]) ** 2
        return (
            self.budget[word] // max(1, len(layout_of(box, self.label).many)) if word == "norm" else self.budget[word]
        )

    def sizes(self, box: Box) -> dict[str, tuple[int, ...]]:
        """The numbers in the blocks of each word that is there."""
        every = block_sizes(box, self.label, self.order)
        return {word: sizes for word, sizes in every.items() if self.unit(word, box)}

    def size(self, box: Box) -> int:
        return sum(map(sum, self.sizes(box).values()))

    def certified(self, norm: str, box: Box, privacy: Privacy) -> Certificate:
        """A record is in one stratum, and in every pooled block: docs/proofs/blocks.md, Theorems 3 and 5."""
        own = {word: (sizes[0], self.budget[word]) for word, sizes in self.sizes(box).items() if sizes}
        if norm == "l1-linf":
            blocks = tuple(size for sizes in self.sizes(box).values() for size in sizes)
            return certify_sum(norm, sum(budget for _, budget in own.values()), EXPONENT, privacy, blocks)
        squares = sum(size * budget**2 for size, budget in own.values())  # of one record, in its stratum
        return certify_sum("l2", math.isqrt(squares - 1) + 1, EXPONENT, privacy)

    def to_json(self) -> dict[str, Any]:
        budgets = {word: budget for word, budget in self.budget.items() if word != RULE or budget}
        return {"name": "table", "label": self.label, "budgets": budgets, "order": self.order}


def blocks_from_json(data: Mapping[str, Any]) -> TableBlocks:
    """Rebuild the blocks from plain data."""
    if set(data) != {"name", "label", "budgets", "order"} or {*data["budgets"]} - {RULE} != {*WORDS}:
        raise ParameterError("the blocks have unexpected or missing entries")
    one_of("name", data["name"], ("table",))
    budgets = data["budgets"]
    return TableBlocks(data["label"], tuple(budgets[word] for word in WORDS), data["order"], budgets.get(RULE, 0))


def budgets_of(shares: Mapping[str, float], box: Box, label: str | None, order: int, pure: bool) -> TableBlocks:
    """The blocks whose parts of a grant are in these proportions; words without numbers are left out.

    Of pure noise a block's scale is its budget over the sum of budgets; of Gaussian noise its square over the sum of
    squares of all that a record adds.
    """
    sizes = block_sizes(box, label, order)
    there = {word: shares.get(word, 0.0) for word in sizes if sizes[word] and shares.get(word, 0.0) > 0}
    total, found = math.fsum(there.values()), []
    for word in (*WORDS, RULE):
        part = there.get(word, 0.0) / total if total else 0.0
        part = part if pure else math.sqrt(part / sizes[word][0]) if part else 0.0
        found.append(int(2**-EXPONENT * part))
    *own, rule = found
    return TableBlocks(label, (max(1, own[0]), *own[1:]), order, rule)  # type: ignore[arg-type]
