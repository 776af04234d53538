"""Everyday statistics: counts, sums, means, spreads, tables, quantiles, and those that a caller brings along."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.bases.statistics.centred import CentredSquares, share_of_means
from sfumato.bases.statistics.edges import BINS, edges_within, given_edges, whole_edges
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.quantiles import Grid, Quantiles, check_level
from sfumato.bases.statistics.sums import UNIT, Given, StatisticBasis, Tally, Total
from sfumato.bases.statistics.tree import QuantileTree
from sfumato.bases.unit import is_whole
from sfumato.checks import as_written, did_you_mean, finite_number, one_of, positive_integer, positive_number, shown
from sfumato.core.box import Box, Categorical, Date, Interval, Periodic
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import NORMS, Certificate
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy
from sfumato.core.whole import Sealed
from sfumato.engines.cells import Cells
from sfumato.engines.engine import Engine, Records, whole_of
from sfumato.engines.passes import Contributions, Counts
from sfumato.engines.table import Columns
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.faces.views import check_axes
from sfumato.laws import INDEPENDENT, noise_variance
from sfumato.releases.uncertainty import norm_mean, widths_of_each
from sfumato.releases.value import ValueRelease
from sfumato.targets.base import Ballot, Errors, Measured, Published, Step, Target, clipped
from sfumato.targets.sampled import Sensitivity, bound_of, certify, check_sampled, check_sensitivity, how_known
from sfumato.values import doubles, silently, unraised

Floats = NDArray[np.float64]

NUMERIC = ("sum", "mean", "variance", "covariance", "median", "quantiles")
TABLES = ("count", "histogram", "proportions")
QUANTILES = ("median", "quantiles")
_EACH_ALONE, _EACH_BESIDE = 200, 20  # whole numbers up to which each has a cell, of one column and of several
_EXPECTED_ROWS = 10_000  # where the number of rows is private, for predictions only


class Source(Sealed):
    """The records and what folds over them, until it is known what to sum."""

    __slots__ = ("engine", "records")

    def __init__(self, records: Records, engine: Engine) -> None:
        self.records, self.engine = records, engine

    def __repr__(self) -> str:
        return "<private records>"

    @property
    def rows(self) -> int:
        """The number of records."""
        return self.records.rows


@dataclass(frozen=True)
class Statistic(Target):
    """Publish one number about the records, or a few.

    Parameters
    ----------
    what
        ``"count"``, ``"sum"``, ``"mean"``, ``"variance"``, ``"covariance"``, ``"proportions"``, ``"histogram"``,
        ``"median"`` or ``"quantiles"``; or a function of yours, ``what(data)``, which sees the whole table and returns
        ``length`` numbers.
    column
        Which columns of the box it is about, one name or several; by default all. For a function of yours: the data
        columns that it needs, as for ``sf.BlackBox``.
    missing
        ``"drop"``: records with a missing value count for nothing. ``"none"``: you state publicly that nothing is
        missing, which makes means and proportions a little better; should something be, the box's middle stands in.
    bins
        For a histogram: equal cells along each numeric column, a number or one per column. By default 10, and one for
        each whole number of an ``sf.Integer`` column of up to 200 (20 where there are more columns).
    edges
        For a histogram: where its cells meet, instead: ``{"age": [18, 65]}``, or the numbers alone for one numeric
        column. A cell has its lower edge; the column's bounds need not be among them.
    probabilities
        For quantiles: the levels (default quartiles).
    interval
        For quantiles: ``"counts"`` reads them and their limits from noisy counts; ``"none"`` chooses values that are a
        few ranks nearer, all levels jointly, and their limits tell little.
    step
        For quantiles: from one value that they can have to the next; by default 1 for an ``sf.Integer`` column, else a
        decimal step that public quantities choose.
    sensitivity, norm, length, range, fallback
        For a function of yours: how far one row can move its numbers, in ``norm`` (``"l1"``, ``"l2"`` or ``"linf"``),
        or what ``sf.sample_sensitivity`` made; how many numbers; optional public bounds of them, and the number that
        stands in wherever the function fails.

    Formal guarantee: whatever the records hold, neighbours are no further apart than ``certificate`` says
    (docs/proofs/statistics.md); for a function of yours, if the sensitivity holds.

    >>> Statistic("mean", "age").describe()
    (('target', 'mean of age'), ('missing values', 'drop'))
    """

    what: str | Callable[[Any], Any]
    column: Any = None
    missing: str = "drop"
    bins: int | Sequence[int] | None = None
    edges: Mapping[str, Sequence[float]] | Sequence[float] | None = None
    probabilities: Sequence[float] | None = None
    interval: str = "counts"
    sensitivity: Sensitivity | None = None
    norm: str = "l1"
    length: int = 1
    range: tuple[float, float] | None = None
    fallback: float | None = None
    step: float | None = None

    bases = (StatisticBasis,)

    def __post_init__(self) -> None:
        if callable(self.what):
            self._check_own()
        else:
            one_of("what", self.what, (*TABLES, *NUMERIC))
            self._check_built_in()
        one_of("missing", self.missing, ("drop", "none"))

    def _check_own(self) -> None:
        if self.sensitivity is None:
            raise ParameterTypeError.of(
                "sensitivity", "is missing: state how far one row can move the numbers, or use sf.sample_sensitivity"
            )
        interval = None if self.interval == "counts" else self.interval
        given = {"bins": self.bins, "edges": self.edges, "probabilities": self.probabilities, "interval": interval,
                 "step": self.step}  # fmt: skip
        for name, value in given.items():
            if value is not None:
                raise ParameterError.of(name, f"is for built-in statistics, got {name}={value!r}")
        object.__setattr__(self, "sensitivity", check_sensitivity(self.sensitivity))
        one_of("norm", self.norm, NORMS[:3])
        positive_integer("length", self.length)
        low, high = (-math.inf, math.inf) if self.range is None else _pair(self.range)
        object.__setattr__(self, "range", None if self.range is None else (low, high))
        middle = 0.0 if self.range is None else low / 2 + high / 2
        fallback = middle if self.fallback is None else finite_number("fallback", self.fallback)
        if not low <= fallback <= high:
            raise ParameterError.of(
                "fallback", f"must lie in range={self.range!r}, got fallback={shown(self.fallback)}"
            )
        object.__setattr__(self, "fallback", fallback)

    def _check_built_in(self) -> None:
        for name in ("sensitivity", "range", "fallback"):
            got = getattr(self, name)
            if got is not None:
                raise ParameterError.of(
                    name, f"is for a function of yours; that of a {self.what} is known, got {shown(got)}"
                )
        if self.column is not None and not _are_names(self.column):
            raise ParameterTypeError(
                f"column must be a name or several different names, got column={shown(self.column)}"
            )
        for name, value in {"bins": self.bins, "edges": self.edges}.items():
            if value is not None and self.what != "histogram":
                raise ParameterError.of(name, f"are for a histogram, got what={self.what!r}, {name}={shown(value)}")
        if self.probabilities is not None and self.what != "quantiles":
            raise ParameterError.of("probabilities", f"are for quantiles, got what={self.what!r}")
        if one_of("interval", self.interval, ("counts", "none")) == "none" and self.what not in QUANTILES:
            raise ParameterError.of("interval", f"is for quantiles, got what={self.what!r}, interval='none'")
        if self.step is not None:
            if self.what not in QUANTILES:
                raise ParameterError.of("step", f"is for quantiles, got what={self.what!r}, step={shown(self.step)}")
            object.__setattr__(self, "step", positive_number("step", self.step))
        if self.what == "quantiles":
            asked = (0.25, 0.5, 0.75) if self.probabilities is None else self.probabilities
            if not isinstance(asked, Sequence | np.ndarray) or not len(asked):
                raise ParameterTypeError.of("probabilities", f"must be a list of one level or more, got {shown(asked)}")
            object.__setattr__(self, "probabilities", tuple(check_level(level) for level in asked))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The columns of the box that a built-in statistic is about; None for all."""
        if self.column is None or callable(self.what):
            return None
        return (self.column,) if isinstance(self.column, str) else tuple(self.column)

    @property
    def columns(self) -> Columns:  # type: ignore[override]
        """The data columns that must be there."""
        if not callable(self.what):
            return self.names
        return [self.column] if isinstance(self.column, str) else self.column

    @property
    def largest(self) -> float | None:  # type: ignore[override]
        """The largest size that a number can have, if a range was declared."""
        return None if self.range is None else max(abs(self.range[0]), abs(self.range[1]))

    @property
    def yours(self) -> str | None:  # type: ignore[override]
        """What it calls a function of the caller's, if it has one."""
        return getattr(self.what, "__name__", "what") if callable(self.what) else None

    def domain(self, box: Box) -> Box:
        """The columns that it is about."""
        if self.names is None:
            return box
        kinds = dict(zip(box.names, box.columns, strict=True))
        unknown = [name for name in self.names if name not in kinds]
        if unknown:
            near = did_you_mean(unknown[0], box.names)
            raise ParameterError(f"column must be among those of the box ({list(box.names)}), got {unknown[0]!r}{near}")
        return Box({name: kinds[name] for name in self.names})

    def check_box(self, box: Box) -> None:
        domain = self.domain(box)
        if self.what in NUMERIC:
            domain.intervals()
            self._check_lines(domain)
        if self.what == "sum" and any(isinstance(kind, Date) for kind in domain.columns):
            raise ParameterError("dates have no sum; ask for their mean", parameter="column")
        if self.what in ("variance", "covariance") and float(np.max(domain.high / 2 - domain.low / 2)) > 1e150:
            raise ParameterError(
                f"the square of a column's width is beyond 64-bit floats, got {domain!r}", parameter="column"
            )
        if self.what in QUANTILES and domain.dimension != 1:
            raise ParameterError(f"{self.what} is of one column, got {list(domain.names)}; name one: column=...")
        if self.what == "histogram" or self.what == "proportions":
            self._cells(self._tally(domain), domain)  # refuses what does not fit

    def _check_lines(self, domain: Box) -> None:
        """Refuse columns that go round a circle, where sums and means of numbers say nothing."""
        for name, kind in zip(domain.names, domain.columns, strict=True):
            if isinstance(kind, Periodic) and self.what not in QUANTILES:  # which say so themselves
                instead = "name other columns, or publish sf.KDE(), whose release has mean() round the circle"
                raise ParameterError(
                    f"column {name!r} goes round a circle, where a {self.what} of numbers says nothing: {instead}",
                    parameter="column",
                )

    def _tally(self, domain: Box) -> Tally:
        """The cells of a table: categories, bins, or between edges."""
        assert isinstance(self.what, str)
        complete = self.missing == "none"
        if self.what == "count":
            return Tally(self.what, (1,) * domain.dimension, complete)
        kinds = domain.columns
        numeric = [n for n, c in zip(domain.names, kinds, strict=True) if not isinstance(c, Categorical)]
        if self.what == "proportions" and numeric:
            raise ParameterError(f"proportions need sf.Categorical columns, {numeric[0]!r} is not; try a histogram")
        bins, given = dict(zip(numeric, self._bins(len(numeric)), strict=True)), given_edges(self.edges, numeric)
        shape, edges = [], []
        for name, kind in zip(domain.names, kinds, strict=True):
            count, sides = len(kind.categories) if isinstance(kind, Categorical) else bins[name], None
            if isinstance(kind, Interval) and name in given:
                if self.bins is not None:
                    raise ParameterError.of("edges", f"and bins cannot both say what the cells of {name!r} are")
                sides = edges_within(kind, name, given[name])
            elif isinstance(kind, Interval) and is_whole(kind):
                sides = whole_edges(kind, count, _EACH_ALONE if domain.dimension == 1 else _EACH_BESIDE)
            shape.append(count or BINS if sides is None else len(sides) - 1)
            edges.append(sides)
        return Tally(self.what, tuple(shape), complete, None if edges == [None] * len(edges) else tuple(edges))

    def _bins(self, count: int) -> tuple[int | None, ...]:
        """Cells along each numeric column; None where nothing is said."""
        if isinstance(self.bins, Sequence) and len(self.bins) == count:
            return tuple(positive_integer("bins", b) for b in self.bins)
        if isinstance(self.bins, Sequence):
            raise ParameterError.of(
                "bins", f"needs one number, or one per numeric column ({count}), got bins={shown(self.bins)}"
            )
        return (None if self.bins is None else positive_integer("bins", self.bins),) * count

    def _cells(self, basis: Tally, domain: Box) -> Cells:
        """Where records are counted; a count needs every category as a cell of its own to see which have none."""
        if basis.statistic != "count":
            return Cells(domain, basis.shape, basis.edges)
        return Cells(domain, tuple(len(c.categories) if isinstance(c, Categorical) else 1 for c in domain.columns))

    def gather(self, records: Records, box: Box, engine: Engine) -> Source:
        """Nothing is read yet: what to sum depends on the grant."""
        if callable(self.what):
            whole_of(records, "a statistic of yours")
        return Source(records, engine)

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> Statistic:
        """The same; quantiles without limits as what they are, something to choose."""
        if self.what not in QUANTILES or self.interval != "none":
            return self
        return ChosenStatistic(**{one.name: getattr(self, one.name) for one in fields(self)})

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> StatisticBasis:
        """What is summed over records, which follows from the statistic and the grant."""
        domain, complete = self.domain(box), self.missing == "none"
        if callable(self.what):
            return Given(self.length, self.range)
        if self.what in TABLES:
            return self._tally(domain)
        if self.what == "sum":
            return Total(complete)
        if self.what in QUANTILES:
            asked = (0.5,) if self.probabilities is None else tuple(self.probabilities)
            if self.interval == "none":
                return Quantiles.plan(self.what, asked, domain, complete, privacy, self.step, n)
            rows = _EXPECTED_ROWS if n is None else n
            noise = noise_units(privacy)
            return QuantileTree.plan(self.what, asked, domain, rows, privacy, complete, noise, self.step)
        replaces = privacy.neighbours == "replace"
        if complete and replaces and privacy.unit == "row":
            return Moments(self.what, complete, 0)
        both = {norm: Moments.counting(self.what, domain, complete, norm, replaces) for norm in ("l1", "l2")}
        return both[norm_of(privacy, lambda norm: both[norm].apart(domain, privacy, norm))]

    def before(self, box: Box, n: int | None, privacy: Privacy, free: bool) -> Step | None:
        """A variance of enough records is better about a noisy mean than about the middle of the box."""
        columns = self.domain(box).dimension
        share = share_of_means(columns, n, privacy) if self.what == "variance" and n and free else None
        if share is None:
            return None
        mean = Statistic("mean", self.column, self.missing)
        counted = [] if self.missing == "none" else [float(n or 0)]  # a weight of one: close enough to plan with
        numbers = [np.array([at * (n or 0)] * columns + counted) for at in (0.5, 1.0)]
        return Step(mean, as_written(share), None, *numbers)

    def after(
        self, measured: Measured, basis: Any, box: Box, n: int | None, granted: Privacy, rest: Privacy
    ) -> tuple[Statistic, CentredSquares]:
        domain, pure = self.domain(box), granted if granted.rho is not None else replace(granted, delta=0.0)
        step, found = measured.step, measured.numbers
        means, share = step.target.choose_basis(box, n, pure), float(step.share)
        assert isinstance(means, Moments) and n is not None
        both = {norm: CentredSquares.counting(domain, found, means, share, n, pure, norm) for norm in ("l1", "l2")}
        return self, both[norm_of(rest, lambda norm: both[norm].apart(domain, rest, norm))]

    def check_drawable(self, box: Box, basis: Any) -> None:
        if self.what in ("histogram", "proportions"):
            check_axes(self.domain(box).dimension, self.domain(box))

    def check_basis(self, basis: Basis, box: Box) -> None:
        if not isinstance(basis, StatisticBasis):
            raise ParameterTypeError(f"a statistic needs no basis, got basis={shown(basis)}")

    def check_law(self, law: NoiseLaw) -> None:
        super().check_law(law)
        if self.what in QUANTILES and law.kind not in INDEPENDENT:
            raise ParameterError.of("noise", f"must be 'auto' or one of {INDEPENDENT} for quantiles, got {law.kind!r}")

    def size(self, basis: Basis, box: Box) -> int:
        return basis.size(self.domain(box))

    def certificate(self, basis: StatisticBasis, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """A built-in sum of bounded integers, or the caller's own bound: docs/proofs/statistics.md, sampler.md."""
        if not callable(self.what):
            return certify_statistic(basis, self.domain(box), privacy)
        assert self.sensitivity is not None
        check_sampled(self.sensitivity, n, self.length, None)
        note = "it holds for the function as run, with failures and non-finite numbers replaced by the fallback"
        known = certify(self.sensitivity, self.norm, "statistics", note, privacy)
        widest = Given(self.length, self.range).widest(known.norm)
        if known.bound <= widest:
            return known
        return Certificate(known.norm, widest, privacy.neighbours, "enforced", "statistics")

    def preferred_noise(self, certificate: Certificate, privacy: Privacy) -> str:
        """For a few numbers Laplace noise is often smaller than Gaussian noise, even where a delta is granted."""
        if certificate.norm != "l1" or privacy.epsilon is None:
            return "auto"
        own = callable(self.what)
        return "auto" if own and norm_of(privacy, lambda _: certificate.bound) == "l2" else "laplace"

    def coefficients(self, source: Source, basis: StatisticBasis, box: Box, certificate: Certificate) -> Private:
        domain = self.domain(box)
        if callable(self.what):
            return Private(self._own(whole_of(source.records, "a statistic of yours").native), certificate)
        if isinstance(basis, QuantileTree):
            return Private(basis.sums(self._grid_counts(source, basis.grid, box), source.rows), certificate)
        if isinstance(basis, Tally):
            cells = self._cells(basis, domain)
            tally = source.engine.fold(source.records, Counts(cells)).counts((cells.size,))
            return Private(np.array([tally.sum()]) if basis.statistic == "count" else tally, certificate)
        if isinstance(basis, CentredSquares):
            rule = Contributions(domain, basis, basis.largest())
            return Private(source.engine.fold(source.records, rule).wide(), certificate)
        assert isinstance(basis, Total | Moments)
        largest = max(UNIT, basis.weight if isinstance(basis, Moments) else 0)  # no single integer is larger
        return Private(source.engine.fold(source.records, Contributions(domain, basis, largest)).wide(), certificate)

    def _grid_counts(self, source: Source, grid: Grid, box: Box) -> NDArray[np.int64]:
        """How many records are nearest to each candidate."""
        domain = self.domain(box)
        cells = Cells(Box({domain.names[0]: grid.edges(domain.intervals()[0])}), (grid.count,))
        return source.engine.fold(source.records, Counts(cells)).counts(cells.shape)

    def _own(self, records: Any) -> Floats:
        """Run the caller's function; any failure, even an exit, yields the fallback, because an error is an output."""
        assert callable(self.what) and self.fallback is not None
        numbers = np.full(self.length, np.nan)
        with unraised(), silently():
            numbers = self._numbers(records)
        finite = np.where(np.isfinite(numbers), numbers, self.fallback)
        return finite if self.range is None else np.clip(finite, *self.range)

    def _numbers(self, records: Any) -> Floats:
        assert callable(self.what)
        found = self.what(records)
        foreign = hasattr(type(found), "__array__") and not isinstance(found, np.ndarray)
        return np.asarray(doubles(found) if foreign else found, dtype=np.float64).reshape(self.length)

    def rehearse(self, data: Any, box: Any = None, basis: Any = None) -> Floats:
        """Run your function on **made-up or public** data with errors showing."""
        if not callable(self.what):
            raise ParameterTypeError(
                f"{type(self).__name__} has a proved certificate, and nothing to rehearse or to sample"
            )
        return clipped(self._numbers(data), self.range)

    def predict(self, basis: StatisticBasis, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        domain, rows = self.domain(box), n or _EXPECTED_ROWS
        if isinstance(basis, QuantileTree):
            return _rank_errors(lambda c: basis.rank_widths(law, c, n), rows, confidence)
        width = widths_of_each(law, confidence)
        if isinstance(basis, CentredSquares):
            width = basis.planned_widths(width, domain, law.certificate.norm)
        mean = min(1.0, norm_mean(law) / float(width.max()))
        typical = basis.typical(domain, rows)
        value, (low, high) = basis.estimate(domain, typical, rows), basis.limits(domain, typical, width, rows)
        wide = float(max(np.max(high - value), np.max(value - low)))
        return Errors(wide * mean, wide, 0.0, None)

    def finish(self, published: Published) -> ValueRelease:
        assert isinstance(published.basis, StatisticBasis)
        return ValueRelease(
            guarantee=published.guarantee,
            law=published.law,
            target=self.describe(),
            receipt=published.receipt,
            domain=self.domain(published.box),
            summary=published.basis,
            numbers=published.values,
            rows=published.rows,
        )

    def describe(self) -> tuple[tuple[str, str], ...]:
        if callable(self.what):
            assert self.sensitivity is not None
            return (
                ("target", f"statistic of the caller's ({getattr(self.what, '__name__', 'unnamed')})"),
                (f"{how_known(self.sensitivity)} sensitivity", repr(bound_of(self.sensitivity))),
                ("range", "not declared" if self.range is None else repr(self.range)),
                ("fallback", repr(self.fallback)),
            )
        of = "" if self.names is None else f" of {', '.join(self.names)}"
        return (("target", f"{self.what}{of}"), ("missing values", self.missing))


class ChosenStatistic(Statistic):
    """Quantiles: private scores of public candidates, of which one is chosen for each level."""

    def ballots(self, source: Source, basis: StatisticBasis, box: Box, privacy: Privacy) -> list[Ballot]:
        """For each level, a private score of every candidate, and its part of the grant."""
        assert isinstance(basis, Quantiles)
        counts = self._grid_counts(source, basis.grid, box)
        if basis.splits:
            part = Fraction(1, len(basis.groups))
            ranks = [
                (*basis.ranks(counts, levels), basis.joint_sensitivity(levels, privacy)) for levels in basis.groups
            ]
            return [Ballot(found, apart, part, tuple(wanted)) for found, wanted, apart in ranks]
        return [
            Ballot(basis.scores(counts, level), float(basis.sensitivity(level, privacy)), part)
            for level, part in zip(basis.levels, basis.parts, strict=True)
        ]

    def method(self, basis: StatisticBasis, privacy: Privacy) -> str:
        """Several values at once are chosen by the exponential mechanism, single ones by the better of two."""
        assert isinstance(basis, Quantiles)
        return "exponential" if basis.splits or privacy.epsilon is None else "permute-and-flip"

    def picked(self, basis: StatisticBasis, places: Sequence[Sequence[int]]) -> Floats:
        """The candidates at these places."""
        assert isinstance(basis, Quantiles)
        return basis.chosen(places) if basis.splits else basis.grid.values()[[place for (place,) in places]]

    def predict_ranks(self, basis: StatisticBasis, privacy: Privacy, n: int | None, confidence: float) -> Errors:
        """How far off the ranks may be, as a share of the records: how far the values are depends on the data."""
        assert isinstance(basis, Quantiles)
        return _rank_errors(lambda c: basis.rank_errors(privacy, c), n or _EXPECTED_ROWS, confidence)


def _rank_errors(off: Callable[[float], Floats], rows: int, confidence: float) -> Errors:
    """Errors in ranks, as a share of the records: how far the values are off depends on the data."""
    half, most = (float(off(c).max()) / rows for c in (0.5, confidence))
    return Errors(half, most, 0.0, None, ranks=True)


def noise_units(privacy: Privacy) -> tuple[float, float]:
    """The deviation of Laplace and of Gaussian noise for neighbours that are one apart; infinite where not granted."""
    if privacy.epsilon is None:
        assert privacy.rho is not None
        return math.inf, 1 / math.sqrt(2 * privacy.rho)
    laplace = math.sqrt(noise_variance("laplace", 1)) / privacy.epsilon
    return laplace, noise_multiplier(privacy.epsilon, privacy.delta) if privacy.delta else math.inf


def norm_of(privacy: Privacy, apart: Callable[[str], int | float]) -> str:
    """The norm in which sums are certified: that of the noise that is smaller, where the grant leaves a choice."""
    laplace, gaussian = noise_units(privacy)
    return "l1" if laplace * apart("l1") <= gaussian * apart("l2") else "l2"


def certify_statistic(summary: StatisticBasis, domain: Box, privacy: Privacy) -> Certificate:
    """The enforced certificate of a sum of bounded integer vectors: docs/proofs/statistics.md."""
    return summary.certified(domain, privacy, norm_of(privacy, lambda norm: summary.apart(domain, privacy, norm)))


def _are_names(names: Any) -> bool:
    names = (names,) if isinstance(names, str) else names
    return isinstance(names, Sequence) and {*map(type, names)} == {str} and len({*names}) == len(names)


def _pair(limits: Any) -> tuple[float, float]:
    if not isinstance(limits, Sequence | np.ndarray) or len(limits) != 2:
        raise ParameterTypeError.of("range", f"must be a pair (low, high), got range={shown(limits)}")
    low, high = finite_number("range[0]", limits[0]), finite_number("range[1]", limits[1])
    if low >= high:
        raise ParameterError.of("range", f"must have low < high, got range={limits!r}")
    return low, high
