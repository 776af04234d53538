"""The public domain: named columns with bounds that were known before anyone looked at the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import category_list, finite_number, named_items, positive_number, shown, true_or_false
from sfumato.dates import date_bounds, is_date, iso
from sfumato.errors import ParameterError, ParameterTypeError

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Interval:
    """A real column between public bounds; values outside are clipped."""

    low: float
    high: float
    kind = "interval"

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", finite_number("low", self.low))
        object.__setattr__(self, "high", finite_number("high", self.high))
        if self.low >= self.high or not math.isfinite(self.high - self.low):
            raise ParameterError(
                "low must be below high, high - low finite, got low={!r}, high={!r}".format(*self.bounds)
            )

    @property
    def bounds(self) -> tuple[float, float] | tuple[str, str]:
        """The bounds as they are written down."""
        return self.low, self.high

    def __repr__(self) -> str:
        more = ", whole=True" if getattr(self, "whole", False) else ""
        return f"{type(self).__name__}({self.bounds[0]!r}, {self.bounds[1]!r}{more})"

    def clean(self, values: Floats) -> Floats:
        """Map every value into the bounds, one record at a time; missing values stay missing."""
        with np.errstate(all="ignore"):  # a signalling NaN warns, and a warning that depends on values is an output
            return np.clip(values, self.low, self.high)


@dataclass(frozen=True, repr=False)
class Integer(Interval):
    """A whole-number column between public bounds (inclusive)."""

    kind = "integer"

    def __post_init__(self) -> None:
        super().__post_init__()
        if math.ceil(self.low) > math.floor(self.high):
            raise ParameterError(f"there is no whole number between low={self.low!r} and high={self.high!r}")

    def clean(self, values: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.clip(np.rint(values), np.ceil(self.low), np.floor(self.high))


@dataclass(frozen=True, repr=False)
class Periodic(Interval):
    """A column on a circle: ``high`` is the same place as ``low`` (hours, angles); ``whole`` for whole numbers."""

    whole: bool = False
    kind = "periodic"

    def __post_init__(self) -> None:
        super().__post_init__()
        if true_or_false("whole", self.whole) and (self.low % 1 or self.high % 1):
            raise ParameterError(f"whole=True needs bounds that are whole numbers, got {self.bounds!r}")

    def clean(self, values: Floats) -> Floats:
        with np.errstate(all="ignore"):
            finite = np.where(np.isfinite(values), np.rint(values) if self.whole else values, np.nan)
            wrapped = self.low + np.mod(finite - self.low, self.high - self.low)
            return np.clip(wrapped, self.low, self.high)


@dataclass(frozen=True, repr=False)
class Date(Interval):
    """Dates and times between public bounds; inside they are days since 1970 (``dates.py``), in UTC if ``zoned``."""

    zoned: bool | None = None
    kind = "date"

    def __post_init__(self) -> None:
        for name, value in zip(("low", "high", "zoned"), date_bounds(self.low, self.high, self.zoned), strict=True):
            object.__setattr__(self, name, value)
        super().__post_init__()

    @property
    def bounds(self) -> tuple[str, str]:
        return iso(self.low, bool(self.zoned)), iso(self.high, bool(self.zoned))


@dataclass(frozen=True)
class Categorical:
    """A column with a declared list of categories; anything else counts as missing."""

    categories: tuple[str, ...] | tuple[int | float, ...]
    kind = "categorical"

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", category_list(self.categories))


Column = Interval | Categorical


def _as_column(name: str, spec: object) -> Column:
    """Read one column's bounds; they are never inferred from data."""
    if isinstance(spec, Interval | Categorical):
        return spec
    if isinstance(spec, tuple | list | np.ndarray) and len(spec) == 2:
        try:
            return (Date if any(map(is_date, spec)) else Interval)(spec[0], spec[1])
        except ParameterError as error:
            raise type(error)(f"column {name!r}: {error}") from None
    raise ParameterTypeError(
        f"column {shown(name)} needs public bounds (low, high), sf.Integer, sf.Periodic, sf.Date or "
        f"sf.Categorical, got {shown(spec)}; sfumato never infers bounds from private data"
    )


@dataclass(frozen=True, init=False)
class Box:
    """The public domain of a function: its columns, their bounds, their order.

    Parameters
    ----------
    columns
        A mapping from column name to ``(low, high)`` (numbers, dates or times), ``sf.Integer``, ``sf.Periodic``,
        ``sf.Date`` or ``sf.Categorical``; or a list of these, named ``x0, x1, ...``.
    max_norm
        For targets that need ``||x|| <= R``: records are also scaled back to this Euclidean norm, in the
        user's units. The box must then contain the origin.

    Formal guarantee: ``clean`` acts on each record alone, so neighbours stay neighbours.

    >>> Box({"age": (0, 110), "bmi": (10, 60)}).names
    ('age', 'bmi')
    """

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    named: bool
    max_norm: float | None

    def __init__(self, columns: Mapping[str, object] | Sequence[object], *, max_norm: float | None = None) -> None:
        items = named_items("columns", columns)
        object.__setattr__(self, "names", tuple(name for name, _ in items))
        object.__setattr__(self, "columns", tuple(_as_column(name, spec) for name, spec in items))
        object.__setattr__(self, "named", isinstance(columns, Mapping))
        object.__setattr__(self, "max_norm", None if max_norm is None else self._check_norm(max_norm))

    def _check_norm(self, max_norm: float) -> float:
        if any(not isinstance(c, Interval) or isinstance(c, Date) or c.low > 0 or c.high < 0 for c in self.columns):
            raise ParameterError(f"max_norm={max_norm!r} needs numeric columns whose bounds all contain 0")
        return positive_number("max_norm", max_norm)

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def intervals(self) -> tuple[Interval, ...]:
        """The columns, refusing a box that has categories where only numbers make sense."""
        for name, column in zip(self.names, self.columns, strict=True):
            if not isinstance(column, Interval):
                raise ParameterError(f"column {name!r} is categorical; this needs numeric columns", parameter="box")
        return tuple(c for c in self.columns if isinstance(c, Interval))

    @property
    def low(self) -> Floats:
        """Lower bounds of the numeric columns."""
        return np.array([c.low for c in self.intervals()])

    @property
    def high(self) -> Floats:
        """Upper bounds of the numeric columns."""
        return np.array([c.high for c in self.intervals()])

    def clean(self, records: Floats) -> Floats:
        """Bring each ``(n, l)`` record into the box by a rule that reads that record alone."""
        cleaned = np.stack([c.clean(records[:, i]) for i, c in enumerate(self.intervals())], axis=1)
        if self.max_norm is not None:
            radius = self.max_norm * (1 - 2.0**-50)  # covers the rounding of the next lines
            with np.errstate(all="ignore"):
                largest = np.abs(cleaned).max(axis=1, keepdims=True)  # scaling by it keeps squares in range
                norms = largest * np.sqrt(np.sum((cleaned / largest) ** 2, axis=1, keepdims=True))
                cleaned = np.where(norms > radius, cleaned / norms * radius, cleaned)
        return cleaned

    def __repr__(self) -> str:
        kinds = [
            list(c.categories) if isinstance(c, Categorical) else repr(c).removeprefix("Interval") for c in self.columns
        ]
        parts = [f"{name!r}: {kind}" for name, kind in zip(self.names, kinds, strict=True)]
        norm = "" if self.max_norm is None else f", max_norm={self.max_norm}"
        return f"Box({{{', '.join(parts)}}}{norm})"
