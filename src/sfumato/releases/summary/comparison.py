"""A table beside a summary: means, spreads, correlations and shares, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.points import point_columns
from sfumato.bases.unit import column_numbers
from sfumato.checks import probability
from sfumato.core.box import Categorical, Interval, Periodic
from sfumato.errors import ParameterError
from sfumato.harmless import printable
from sfumato.releases.summary.answers import Answer

if TYPE_CHECKING:
    from sfumato.releases.summary.summary import SummaryRelease

Floats = NDArray[np.float64]


@runtime_checkable
class MadeUp(Protocol):
    """A published table: something that was bought, and has rows."""

    @property
    def bought(self) -> dict[str, float]: ...

    def sample(self, rows: int, seed: int | None = None) -> Any: ...


@dataclass(frozen=True)
class Compared:
    """One number of a table beside a summary's.

    Parameters
    ----------
    what
        ``"mean"``, ``"spread"`` (the standard deviation), ``"correlation"`` or ``"share"``.
    of
        The columns; of a share, the column and the category.
    summary, error
        What the summary says, and how far the records' own number can be from it.
    table
        What the table has.
    """

    what: str
    of: tuple[Any, ...]
    summary: float
    error: float
    table: float

    @property
    def apart(self) -> float:
        """How far the table is from the summary, in units of the summary's error: up to one says nothing against it."""
        gap = abs(self.table - self.summary)
        return gap / self.error if self.error > 0 else math.inf if gap > 0 else 0.0

    def __str__(self) -> str:
        of = " = ".join(map(str, self.of)) if self.what == "share" else " and ".join(map(str, self.of))
        numbers = f"{self.table:12.5g} {self.summary:12.5g} +- {self.error:<10.3g} {self.apart:8.3g}"
        return f"{printable(f'{self.what} of {of}'):40s} {numbers}"


@dataclass(frozen=True)
class Comparison:
    """All that a summary knows of a table's columns by themselves and in pairs, beside what the table has."""

    lines: tuple[Compared, ...]
    confidence: float

    @property
    def worst(self) -> Compared:
        """What is furthest apart, in units of the summary's error."""
        return max(self.lines, key=lambda line: line.apart)

    @property
    def within(self) -> float:
        """The part of the numbers that are within the summary's error."""
        return sum(line.apart <= 1 for line in self.lines) / len(self.lines)

    def __str__(self) -> str:
        head = f"{'':40s} {'table':>12s} {'summary':>12s} +- {'error':10s} {'apart':>8s}"
        told = f"{100 * self.within:.3g} % of {len(self.lines)} within {100 * self.confidence:g} % limits"
        return "\n".join([head, *map(str, self.lines), told])


def compared(summary: SummaryRelease, table: Any, confidence: float) -> Comparison:
    """Ask the summary all that it has moments for, and compute the same of the table."""
    probability("confidence", confidence)
    rows = table.data if isinstance(table, MadeUp) else table  # type: ignore[attr-defined]
    box = summary.box
    columns = dict(zip(box.names, point_columns(box.names, rows), strict=True))
    if not len(columns[box.names[0]]):
        raise ParameterError.of("table", "must have rows, got none")
    lines = (*_numbers(summary, columns, confidence), *_shares(summary, columns, confidence))
    if not lines:
        raise ParameterError("the summary has no means, spreads, correlations or shares to compare")
    return Comparison(lines, confidence)


def _numbers(summary: SummaryRelease, columns: dict[str, Any], confidence: float) -> Iterator[Compared]:
    """Means and spreads of numeric columns, and correlations of their pairs."""
    box, values = summary.box, {}
    for name, kind in zip(box.names, box.columns, strict=True):
        if isinstance(kind, Interval) and not isinstance(kind, Periodic):
            values[name] = kind.clean(column_numbers(kind, columns[name]))
    for name, own in values.items():
        known = own[np.isfinite(own)]
        mean = _asked(lambda name=name: summary.mean(name, confidence))  # type: ignore[misc]
        square = _asked(lambda name=name: summary.variance(name, confidence))  # type: ignore[misc]
        if mean is not None and len(known):
            yield Compared("mean", (name,), float(mean.value), float(mean.error), float(known.mean()))
        if square is not None and len(known):
            low, middle, high = np.sqrt(np.maximum(0.0, [*square.interval(), square.value]))[[0, 2, 1]].tolist()
            yield Compared("spread", (name,), middle, max(high - middle, middle - low), float(known.std()))
    for a, b in combinations(values, 2):
        both = _asked(lambda a=a, b=b: summary.correlation([a, b], confidence))  # type: ignore[misc]
        if both is not None:
            found = _correlation(values[a], values[b])
            yield Compared("correlation", (a, b), float(both.value[0, 1]), float(both.error[0, 1]), found)


def _asked(question: Callable[[], Answer]) -> Answer | None:
    """The answer, or None where the summary has no moments for it."""
    try:
        return question()
    except ParameterError:
        return None


def _correlation(a: Floats, b: Floats) -> float:
    known = np.isfinite(a) & np.isfinite(b)
    a, b = (one[known] - one[known].mean() if known.any() else one[known] for one in (a, b))
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale > 0 else 0.0


def _shares(summary: SummaryRelease, columns: dict[str, Any], confidence: float) -> Iterator[Compared]:
    """The share of every category."""
    for name, kind in zip(summary.box.names, summary.box.columns, strict=True):
        if isinstance(kind, Categorical):
            values = columns[name].tolist()
            for category in kind.categories:
                found = summary.share({name: category}, confidence=confidence)
                own = sum(value == category for value in values) / len(values)
                yield Compared("share", (name, category), float(found.value), float(found.error), own)
