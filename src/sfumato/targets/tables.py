"""Synthetic tables: counts and moments by class, squares and products of all records, in one release in blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.bases.base import Basis
from sfumato.bases.synthetic.blocks import (
    LARGEST_ORDER,
    LARGEST_SIZE,
    RULE,
    WORDS,
    TableBlocks,
    block_sizes,
    budgets_of,
    layout_of,
)
from sfumato.bases.synthetic.contributions import add_block
from sfumato.bases.synthetic.line import Line, columns_of, told_by
from sfumato.bases.synthetic.model import check_fit
from sfumato.checks import did_you_mean, finite_number, one_of, positive_integer, shown, whole_number
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy, part_of
from sfumato.core.whole import Integers, Sealed
from sfumato.engines.cells import positions
from sfumato.engines.engine import Engine, Records
from sfumato.engines.passes import Values
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.laws import block_deviations, noise_deviation
from sfumato.releases.rows import MOST_ROWS, check_rows, fresh_seed
from sfumato.releases.synthetic.program import check_program, has_room
from sfumato.releases.synthetic.rule import Rule, promised_for
from sfumato.releases.synthetic.table import METHODS, TableRelease, check_label
from sfumato.targets.base import Errors, Measured, Published, Step, Target
from sfumato.targets.machine.linear import LogisticRegression
from sfumato.targets.machine.machine import KernelMachine

_EXPECTED_ROWS = 10_000  # where the number of rows is private and none is expected
_BLOCK = 8_192  # rows at a time
_HELD = 2**22  # numbers made of them, at most

# The rule of shares="auto" (docs/tables.md): parts of the grant without and with spreads, and with pairs, and how
# little noise the means of a column's T_2, or of a product, must have for them. Chosen on made-up tables
# alone (benchmarks/synthetic_rule.py).
_PLAIN = {"means": 0.75, "norm": 0.25}
_SPREAD = {"means": 0.6, "norm": 0.1, "spreads": 0.3}
_PAIRED = {"means": 0.35, "norm": 0.05, "spreads": 0.2, "pairs": 0.4}
_LEAST = {"spreads": 0.05, "pairs": 0.015}
_ORDERS = ((4, 0.01), (3, 0.02))  # of spreads, where noise is below

# The rule of method="auto" (docs/tables.md), from made-up tables alone (benchmarks/synthetic_labels.py): what a linear
# rule gets of the grant, its two numbers' part of the rest, of how many columns it is worth that, and how large
# n epsilon / d must be.
_LEARNED = Fraction(1, 2)
_TOLD = 0.1
_WIDE = 40
_ENOUGH = 100.0


@dataclass(frozen=True)
class TableSums:
    """A pass: what records add to the blocks of a synthetic table."""

    box: Box
    basis: TableBlocks
    line: Line | None = None
    features = None

    @property
    def size(self) -> int:
        """The numbers of all blocks."""
        return self.basis.size(self.box)

    @property
    def largest(self) -> int:
        """The largest budget."""
        return max(self.basis.budgets)

    def add(self, total: Integers, columns: Values) -> None:
        """Each record by itself: one whose label is missing is in no stratum, a missing value adds nothing."""
        block = min(_BLOCK, max(1, _HELD // self.basis.size(self.box)))
        for start in range(0, len(columns[0]), block):
            parts = [
                positions(values[start : start + block], kind) if isinstance(kind, Categorical)
                else values[start : start + block]
                for kind, values in zip(self.box.columns, columns, strict=True)
            ]  # fmt: skip
            add_block(total, self.box, self.basis, parts, self.line)


@dataclass(frozen=True)
class TableMoments(Target):
    """Publish what a synthetic table is made of: use ``sf.synthesize``.

    Parameters
    ----------
    label
        A categorical column of the box whose classes are told apart; None for none.
    shares
        Parts of the grant: a mapping of ``means``, ``norm``, ``spreads`` and ``pairs`` to numbers that add up to one at
        most (what they leave is theirs in proportion), or ``"auto"``: a public rule in n, epsilon and the columns.
    rows, seed
        How many rows the table has, by default as many as there are records, and which; by default any.
    method
        How rows are made, and where labels come from: ``"strata"``, each class with moments of its own; ``"rule"``, for
        two classes, from a private logistic regression that is published first; ``"lp"``, a linear program over a grid
        or the points of an ellipsoid, for numeric columns without a label; ``"auto"``: strata or rule, by a public rule
        in n, epsilon and the columns.
    expected_rows
        A public guess of the number of rows, where that number itself is private; it only steers accuracy.

    Formal guarantee: a record adds to one stratum and to the pooled blocks, to each at most its budget, whatever it
    holds; ``certificate`` says how far neighbours are then apart (docs/proofs/blocks.md).

    >>> TableMoments("ill").describe()[:2]
    (('target', 'synthetic table'), ('label', 'ill'))
    """

    label: str | None = None
    shares: Any = "auto"
    rows: int | None = None
    seed: int | None = None
    method: str = "auto"
    expected_rows: int | None = None
    rule: Rule | None = field(default=None, repr=False)  # once it is published, by ``after``, not by callers

    bases = (TableBlocks,)

    def __post_init__(self) -> None:
        if self.label is not None and not isinstance(self.label, str):
            raise ParameterTypeError.of("label", f"must be the name of a column, got label={shown(self.label)}")
        if self.rows is not None:
            check_rows(self.rows)
        if self.seed is not None:
            whole_number("seed", self.seed, 0, 2**63 - 1)
        one_of("method", self.method, ("auto", *METHODS))
        if self.expected_rows is not None:
            positive_integer("expected_rows", self.expected_rows)
        if self.rule is None and (not isinstance(self.shares, str) or self.shares != "auto"):  # else they are checked
            object.__setattr__(self, "shares", _checked_shares(self.shares))

    def check_box(self, box: Box) -> None:
        check_label(self.label, box)
        if box.max_norm is not None:
            raise ParameterError("a table reads columns one at a time: a box with max_norm has no meaning here",
                                 parameter="box")  # fmt: skip
        check_fit(box, self.label)
        if self.method == "rule" and not _two_classes(box, self.label):
            raise ParameterError.of(
                "method", "'rule' needs a label of two classes; use 'strata', or declare the two that matter"
            )
        given = {word for word, share in self.shares if share > 0} if self.shares != "auto" else set()
        if self.method == "lp":
            check_program(box, self.label, "pairs" in given)
        sizes = block_sizes(box, self.label, LARGEST_ORDER)
        wanted = sum(sum(sizes[word]) for word in WORDS if word in given | {"means"})
        if wanted > LARGEST_SIZE:
            raise ParameterError.of(
                "box", f"is too wide: its blocks would have {wanted:,} numbers, more than {LARGEST_SIZE:,}"
            )

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> TableBlocks:
        """The blocks of the shares that were given, or of the public rule."""
        rows = n or self.expected_rows or _EXPECTED_ROWS
        more = {} if self.rule is None else {RULE: _TOLD}
        if self.shares != "auto":
            return _blocks(_with(dict(self.shares), more), box, self.label, privacy, rows)
        found = auto_blocks(box, self.label, privacy, rows, more)
        if self.method == "lp" and found.budget["pairs"] and not has_room(box, True):
            return _blocks(_SPREAD, box, self.label, privacy, rows)
        return found

    def size(self, basis: TableBlocks, box: Box) -> int:  # type: ignore[override]
        return basis.size(box)

    def check_basis(self, basis: Basis, box: Box) -> None:
        super().check_basis(basis, box)
        assert isinstance(basis, TableBlocks)
        if basis.label != self.label:
            raise ParameterError(f"the blocks are of label {basis.label!r}, the target of {self.label!r}")

    # --- the rule, published first ----------------------------------------------------------------------------------

    def before(self, box: Box, n: int | None, privacy: Privacy, free: bool) -> Step | None:
        """A logistic regression of the label, where labels are to follow it."""
        if self.method == "strata" or not _two_classes(box, self.label):
            return None
        assert self.label is not None
        own = columns_of(box, self.label)
        rows = n or self.expected_rows or _EXPECTED_ROWS
        told = rows * (privacy.epsilon or 0.0) / own.dimension
        if self.method == "auto" and (own.dimension < _WIDE or told < _ENOUGH):
            return None
        kind, part = box.columns[box.names.index(self.label)], part_of(privacy, _LEARNED)
        assert isinstance(kind, Categorical)
        mechanism = "objective" if part.rho is None and part.unit == "row" else "output"
        learner = LogisticRegression(
            response=self.label, classes=kind.categories, mechanism=mechanism, prior="even", expected_rows=rows
        )
        settled = learner.settled(own, n, part)
        return Step(settled, _LEARNED, own, typical=np.zeros(settled.size(settled.choose_basis(own, n, part), own)))

    def after(
        self, measured: Measured, basis: Any, box: Box, n: int | None, granted: Privacy, rest: Privacy
    ) -> tuple[TableMoments, Any]:
        """The same, with the rule that was published."""
        target, own = measured.step.target, measured.step.box
        assert isinstance(target, KernelMachine) and own is not None
        part = part_of(granted, measured.step.share)
        found = Published(
            measured.numbers, target.choose_basis(own, n, part), own, n, measured.law,
            promised_for(part, measured.law.certificate.assumptions), None, part, "auto",
        )  # fmt: skip
        return replace(self, rule=Rule(target.finish(found), measured.step.share)), basis

    def _line(self, box: Box) -> Line | None:
        return None if self.rule is None or self.label is None else self.rule.line(box, self.label)

    # --- the pipeline -----------------------------------------------------------------------------------------------

    def gather(self, records: Records, box: Box, engine: Engine) -> _Gathered:
        """Nothing yet: which blocks there are depends on the public number of records."""
        return _Gathered(records, engine)

    def certificate(self, basis: TableBlocks, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """A record is in one stratum and in every pooled block: docs/proofs/blocks.md, Theorem 5."""
        return basis.certified(_norm(privacy), box, privacy)

    def coefficients(self, gathered: _Gathered, basis: TableBlocks, box: Box, certificate: Certificate) -> Private:
        return Private(
            gathered.engine.fold(gathered.records, TableSums(box, basis, self._line(box))).wide(), certificate
        )

    def check_law(self, law: NoiseLaw) -> None:
        if law.kind not in ("blocks", "gaussian"):
            raise ParameterError(f"noise={law.kind!r} ties all blocks together; use noise='auto'", parameter="noise")

    def predict(self, basis: TableBlocks, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        """Of a class mean, in half-widths of its column, for classes of equal size."""
        rows = n or self.expected_rows or _EXPECTED_ROWS
        typical = word_deviations(basis, box, law)["means"] * len(basis.sizes(box)["means"]) / rows
        return Errors(0.8 * typical, typical / math.sqrt(1 - confidence), None, None)  # Chebyshev's inequality

    def noise_words(self, basis: TableBlocks, box: Box, law: NoiseLaw) -> str:
        unsure = word_deviations(basis, box, law)
        sizes = {word: own for word, own in basis.sizes(box).items() if own}
        told = [
            f"{word} ({len(own)} x {own[0]:,} numbers, deviation {unsure[word]:.3g} records)"
            for word, own in sizes.items()
        ]
        return f"{law.kind}: {', '.join(told)}"

    def finish(self, published: Published) -> TableRelease:
        basis, box, records = published.basis, published.box, published.rows
        assert isinstance(basis, TableBlocks)
        promise, first = published.guarantee, () if self.rule is None else self.rule.learned.guarantee.assumptions
        promise = replace(promise, assumptions=tuple(dict.fromkeys((*promise.assumptions, *first))))
        common: dict[str, Any] = {"guarantee": promise, "law": published.law, "receipt": published.receipt}
        made = TableRelease(
            **common,
            target=self.describe(),
            domain=box,
            basis=basis,
            numbers=published.values,
            records=records,
            rows=self.rows or 1,
            seed=fresh_seed() if self.seed is None else self.seed,
            method="rule" if self.rule is not None else "lp" if self.method == "lp" else "strata",
            rule=self.rule,
        )
        return made if self.rows else replace(made, rows=min(MOST_ROWS, max(1, round(made.noisy.total))))

    def describe(self) -> tuple[tuple[str, str], ...]:
        shares = self.shares if self.shares == "auto" else ", ".join(f"{word} {share:g}" for word, share in self.shares)
        return (
            ("target", "synthetic table"),
            ("label", self.label or "-"),
            ("shares", str(shares)),
            *([] if self.rule is None else [("labels", f"follow a {self._how}")]),
            ("missing values", "count as the middle of their column"),
        )

    @property
    def _how(self) -> str:
        assert self.rule is not None
        share, noise = float(100 * self.rule.share), self.rule.learned.mechanism
        return f"logistic regression with {noise} noise, published first for {share:.3g} % of the grant"


class _Gathered(Sealed):
    """The records, and what folds over them."""

    __slots__ = ("engine", "records")

    def __init__(self, records: Records, engine: Engine) -> None:
        self.records, self.engine = records, engine

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.records.rows

    def __repr__(self) -> str:
        return "<private records>"


def _checked_shares(given: Any) -> tuple[tuple[str, float], ...]:
    """Shares by word, in their order; unknown words, odd numbers and sums beyond one are refused."""
    if not isinstance(given, Mapping):
        raise ParameterTypeError.of("shares", f"must be 'auto' or a mapping of {WORDS} to parts, got {shown(given)}")
    for word in given:
        if word not in WORDS:
            raise ParameterError.of("shares", f"has {word!r}, which is none of {WORDS}{did_you_mean(word, WORDS)}")
    found = tuple((word, finite_number(f"the share of {word}", given[word])) for word in WORDS if word in given)
    if any(share < 0 for _, share in found) or math.fsum(share for _, share in found) > 1 + 1e-9:
        raise ParameterError.of("shares", f"must be parts of one, got shares={shown(dict(found))}")
    if dict(found).get("means", 0.0) < 1e-4:
        raise ParameterError.of(
            "shares", f"must give 'means' a part of 0.0001 or more, got shares={shown(dict(found))}"
        )
    return found


def _two_classes(box: Box, label: str | None) -> bool:
    kind = None if label is None else box.columns[box.names.index(label)]
    return isinstance(kind, Categorical) and len(kind.categories) == 2 and bool(told_by(box, label))


def _with(shares: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    """Shares in the same proportions, beside others that are parts of the whole."""
    scale = (1 - math.fsum(more.values())) / math.fsum(shares.values())
    return {**{word: scale * share for word, share in shares.items()}, **more}


def _norm(privacy: Privacy) -> str:
    return "l1-linf" if privacy.rho is None and privacy.delta == 0 else "l2"


def _blocks(shares: Mapping[str, float], box: Box, label: str | None, privacy: Privacy, rows: int) -> TableBlocks:
    """The blocks of these shares; spreads go as far as their noise allows."""
    pure = _norm(privacy) == "l1-linf"
    found = budgets_of(shares, box, label, 2, pure)
    if not found.budget["spreads"]:
        return found
    for wanted, least in _ORDERS:
        more = budgets_of(shares, box, label, wanted, pure)
        if deviations(more, box, privacy).get("spreads", math.inf) / rows < least:
            return more
    return found


def deviations(basis: TableBlocks, box: Box, privacy: Privacy) -> dict[str, float]:
    """What a grant's noise makes of the sums of each word, in records."""
    law = calibrate(basis.certified(_norm(privacy), box, privacy), basis.size(box), privacy)[0]
    return word_deviations(basis, box, law)


def word_deviations(basis: TableBlocks, box: Box, law: NoiseLaw) -> dict[str, float]:
    """The deviation of the noise in the sums of each word, in records."""
    blocks, place, found = block_deviations(law) if law.kind == "blocks" else [], 0, {}
    for word, sizes in basis.sizes(box).items():
        if sizes:
            own = blocks[place][1] if blocks else noise_deviation(law)
            found[word], place = own / (basis.unit(word, box) * law.step), place + len(sizes)
    return found


def auto_blocks(
    box: Box, label: str | None, privacy: Privacy, rows: int, beside: Mapping[str, float] | None = None
) -> TableBlocks:
    """The public rule: a block is in where its noise leaves something of what it is typically about.

    ``beside`` are parts that others have.
    """
    many, beside = len(layout_of(box, label).many), beside or {}
    shares = _with(_PLAIN, beside)
    for more, word in ((_SPREAD, "spreads"), (_PAIRED, "pairs")):
        sizes = block_sizes(box, label, 2)[word]
        if not many or not sizes or sizes[0] > LARGEST_SIZE:
            continue
        more = _with(more, beside)
        noise = deviations(budgets_of(more, box, label, 2, _norm(privacy) == "l1-linf"), box, privacy)[word]
        if noise / rows < _LEAST[word]:
            shares = more
    return _blocks(shares, box, label, privacy, rows)
