"""Everyday statistics: counts, sums, means, spreads, tables, quantiles, and those that a caller brings along."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.quantiles import Quantiles, check_level
from sfumato.bases.statistics.sums import UNIT, Given, Summary, Tally, Total
from sfumato.checks import finite_number, one_of, positive_integer, probability, shown
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import NORMS, Certificate
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy
from sfumato.core.whole import Sealed
from sfumato.engines.cells import Cells
from sfumato.engines.engine import Engine, Records, whole_of
from sfumato.engines.passes import Contributions, Counts
from sfumato.engines.tables import Columns
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.laws import noise_variance
from sfumato.releases.uncertainty import norm_mean, widths_of_each
from sfumato.releases.value import ValueRelease
from sfumato.targets.base import Ballot, Errors, Published, Target
from sfumato.targets.sampled import Sensitivity, bound_of, certify, check_sampled, check_sensitivity, how_known
from sfumato.values import doubles, silently

Floats = NDArray[np.float64]

NUMERIC = ("sum", "mean", "variance", "covariance", "median", "quantiles")
TABLES = ("count", "histogram", "proportions")
CHOSEN = ("median", "quantiles")
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
        For a histogram: equal cells along each numeric column (default 10), a number or one per column.
    probabilities
        For quantiles: the levels (default quartiles).
    interval_share
        For quantiles: which share of the grant pays for their intervals (default none, and the intervals tell little).
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
    probabilities: Sequence[float] | None = None
    interval_share: float = 0.0
    sensitivity: Sensitivity | None = None
    norm: str = "l1"
    length: int = 1
    range: tuple[float, float] | None = None
    fallback: float | None = None

    bases = (Summary,)

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
        given = {"bins": self.bins, "probabilities": self.probabilities, "interval_share": self.interval_share or None}
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
        if self.bins is not None and self.what != "histogram":
            raise ParameterError.of("bins", f"are for a histogram, got what={self.what!r}, bins={shown(self.bins)}")
        levels = self.what in CHOSEN
        if self.probabilities is not None and self.what != "quantiles":
            raise ParameterError.of("probabilities", f"are for quantiles, got what={self.what!r}")
        if self.interval_share:
            probability("interval_share", self.interval_share)
            if not levels:
                raise ParameterError.of("interval_share", f"is for quantiles, got what={self.what!r}")
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

    def domain(self, box: Box) -> Box:
        """The columns that it is about."""
        if self.names is None:
            return box
        kinds = dict(zip(box.names, box.columns, strict=True))
        unknown = [name for name in self.names if name not in kinds]
        if unknown:
            raise ParameterError(f"column must be among those of the box ({list(box.names)}), got {unknown[0]!r}")
        return Box({name: kinds[name] for name in self.names})

    def check_box(self, box: Box) -> None:
        domain = self.domain(box)
        if self.what in NUMERIC:
            domain.intervals()
        if self.what in ("variance", "covariance") and float(np.max(domain.high / 2 - domain.low / 2)) > 1e150:
            raise ParameterError(
                f"the square of a column's width is beyond 64-bit floats, got {domain!r}", parameter="column"
            )
        if self.what in CHOSEN and domain.dimension != 1:
            raise ParameterError(f"{self.what} is of one column, got {list(domain.names)}; name one: column=...")
        if self.what == "histogram" or self.what == "proportions":
            Cells(domain, self._shape(domain))  # refuses what does not fit

    def _shape(self, domain: Box) -> tuple[int, ...]:
        """Cells along each column: categories, or bins."""
        if self.what == "count":
            return (1,) * domain.dimension
        kinds = domain.columns
        if self.what == "proportions":
            numeric = [n for n, c in zip(domain.names, kinds, strict=True) if not isinstance(c, Categorical)]
            if numeric:
                raise ParameterError(f"proportions need sf.Categorical columns, {numeric[0]!r} is not; try a histogram")
        bins = iter(self._bins(sum(not isinstance(kind, Categorical) for kind in kinds)))
        return tuple(len(kind.categories) if isinstance(kind, Categorical) else next(bins) for kind in kinds)

    def _bins(self, count: int) -> tuple[int, ...]:
        if isinstance(self.bins, Sequence) and len(self.bins) == count:
            return tuple(positive_integer("bins", b) for b in self.bins)
        if isinstance(self.bins, Sequence):
            raise ParameterError.of(
                "bins", f"needs one number, or one per numeric column ({count}), got bins={shown(self.bins)}"
            )
        return (positive_integer("bins", 10 if self.bins is None else self.bins),) * count

    def gather(self, records: Records, box: Box, engine: Engine) -> Source:
        """Nothing is read yet: what to sum depends on the grant."""
        if callable(self.what):
            whole_of(records, "a statistic of yours")
        return Source(records, engine)

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> Statistic:
        """The same; quantiles as what they are, something to choose."""
        if self.what not in CHOSEN:
            return self
        return ChosenStatistic(**{one.name: getattr(self, one.name) for one in fields(self)})

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> Summary:
        """What is summed over records, which follows from the statistic and the grant."""
        domain, complete = self.domain(box), self.missing == "none"
        if callable(self.what):
            return Given(self.length, self.range)
        if self.what in TABLES:
            return Tally(self.what, self._shape(domain), complete)
        if self.what == "sum":
            return Total(complete)
        if self.what in CHOSEN:
            asked = (0.5,) if self.probabilities is None else tuple(self.probabilities)
            return Quantiles.plan(self.what, asked, domain, n, privacy, complete, self.interval_share)
        replaces = privacy.neighbours == "replace"
        if complete and replaces and privacy.unit == "row":
            return Moments(self.what, complete, 0)
        both = {norm: Moments.counting(self.what, domain, complete, norm, replaces) for norm in ("l1", "l2")}
        return both[norm_of(privacy, lambda norm: both[norm].apart(domain, privacy, norm))]

    def check_basis(self, basis: Basis, box: Box) -> None:
        if not isinstance(basis, Summary):
            raise ParameterTypeError(f"a statistic needs no basis, got basis={shown(basis)}")

    def size(self, basis: Basis, box: Box) -> int:
        return basis.size(self.domain(box))

    def certificate(self, basis: Summary, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """A built-in sum of bounded integers, or the caller's own bound: docs/proofs/statistics.md, sampler.md."""
        if not callable(self.what):
            return certify_summary(basis, self.domain(box), privacy)
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

    def coefficients(self, source: Source, basis: Summary, box: Box, certificate: Certificate) -> Private:
        domain = self.domain(box)
        if callable(self.what):
            return Private(self._own(whole_of(source.records, "a statistic of yours").native), certificate)
        if isinstance(basis, Tally):
            cells = Cells(domain, _cells_of(basis, domain))
            tally = source.engine.fold(source.records, Counts(cells)).counts((cells.size,))
            return Private(np.array([tally.sum()]) if basis.statistic == "count" else tally, certificate)
        assert isinstance(basis, Total | Moments)
        largest = max(UNIT, basis.weight if isinstance(basis, Moments) else 0)  # no single integer is larger
        return Private(source.engine.fold(source.records, Contributions(domain, basis, largest)).wide(), certificate)

    def _own(self, records: Any) -> Floats:
        """Run the caller's function; any failure, even an exit, yields the fallback, because an error is an output."""
        assert callable(self.what) and self.fallback is not None
        try:
            with silently():
                found = self.what(records)
                foreign = hasattr(type(found), "__array__") and not isinstance(found, np.ndarray)
                numbers = np.asarray(doubles(found) if foreign else found, dtype=np.float64).reshape(self.length)
        except KeyboardInterrupt:
            raise
        except BaseException:
            numbers = np.full(self.length, np.nan)
        finite = np.where(np.isfinite(numbers), numbers, self.fallback)
        return finite if self.range is None else np.clip(finite, *self.range)

    def rehearse(self, data: Any, box: Any = None, basis: Any = None) -> Floats:
        """Run your function on **made-up or public** data with errors showing."""
        if not callable(self.what):
            raise ParameterTypeError(
                f"{type(self).__name__} has a proved certificate, and nothing to rehearse or to sample"
            )
        return np.asarray(self.what(data), dtype=np.float64).reshape(self.length)

    def predict(self, basis: Summary, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        domain, rows = self.domain(box), n or _EXPECTED_ROWS
        width = widths_of_each(law, confidence)
        mean = min(1.0, norm_mean(law) / float(width.max()))
        typical = basis.typical(domain, rows)
        value, (low, high) = basis.estimate(domain, typical, rows), basis.limits(domain, typical, width, rows)
        wide = float(max(np.max(high - value), np.max(value - low)))
        return Errors(wide * mean, wide, 0.0, None)

    def finish(self, published: Published) -> ValueRelease:
        assert isinstance(published.basis, Summary)
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

    def ballots(self, source: Source, basis: Summary, box: Box, privacy: Privacy) -> list[Ballot]:
        """For each level, a private score of every candidate, and its part of the grant."""
        assert isinstance(basis, Quantiles)
        name = self.domain(box).names[0]
        cells = Cells(Box({name: basis.grid.edges()}), (basis.grid.count,))
        counts = source.engine.fold(source.records, Counts(cells)).counts(cells.shape)
        return [
            Ballot(basis.scores(counts, level), float(basis.sensitivity(level, privacy)), part)
            for level, part in zip(basis.levels, basis.parts, strict=True)
        ]

    def picked(self, basis: Summary, places: Sequence[int]) -> Floats:
        """The candidates at these places."""
        assert isinstance(basis, Quantiles)
        return basis.grid.values()[list(places)]

    def predict_ranks(self, basis: Summary, privacy: Privacy, n: int | None, confidence: float) -> Errors:
        """How far off the ranks may be, as a share of the records: how far the values are depends on the data."""
        assert isinstance(basis, Quantiles)
        asked = len(basis.asked)  # the levels beside them only make limits
        worst = [float(basis.rank_errors(privacy, c)[:asked].max()) / (n or _EXPECTED_ROWS) for c in (0.5, confidence)]
        return Errors(worst[0], worst[1], 0.0, None)


def norm_of(privacy: Privacy, apart: Callable[[str], int | float]) -> str:
    """The norm in which sums are certified: that of the noise that is smaller, where the grant leaves a choice."""
    if privacy.epsilon is None or not privacy.delta:
        return "l1" if privacy.rho is None else "l2"
    laplace = math.sqrt(noise_variance("laplace", 1)) * apart("l1") / privacy.epsilon
    return "l1" if laplace <= apart("l2") * noise_multiplier(privacy.epsilon, privacy.delta) else "l2"


def certify_summary(summary: Summary, domain: Box, privacy: Privacy) -> Certificate:
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


def _cells_of(basis: Tally, domain: Box) -> tuple[int, ...]:
    """A count needs every category as a cell of its own to see which records have none."""
    if basis.statistic != "count":
        return basis.shape
    return tuple(len(c.categories) if isinstance(c, Categorical) else 1 for c in domain.columns)
