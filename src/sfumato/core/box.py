"""The public domain: named columns with bounds that were known before anyone looked at the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import finite_number, positive_number, shown
from sfumato.errors import ParameterError, ParameterTypeError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A real column between public bounds; values outside are clipped."""

    low: float
    high: float
    kind = "interval"

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", finite_number("low", self.low))
        object.__setattr__(self, "high", finite_number("high", self.high))
        if self.low >= self.high:
            raise ParameterError(f"low must be below high, got low={self.low!r}, high={self.high!r}")
        if not np.isfinite(self.high - self.low):
            raise ParameterError(f"high - low must be finite, got low={self.low!r}, high={self.high!r}")

    def clean(self, values: Floats) -> Floats:
        """Map every value into the bounds, one record at a time; missing values stay missing."""
        with np.errstate(all="ignore"):  # a signalling NaN warns, and a warning that depends on values is an output
            return np.clip(values, self.low, self.high)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Periodic(Interval):
    """A column on a circle: ``high`` is the same place as ``low`` (hours, angles, days of a year)."""

    kind = "periodic"

    def clean(self, values: Floats) -> Floats:
        with np.errstate(all="ignore"):
            finite = np.where(np.isfinite(values), values, np.nan)
            wrapped = self.low + np.mod(finite - self.low, self.high - self.low)
            return np.clip(wrapped, self.low, self.high)


@dataclass(frozen=True)
class Categorical:
    """A column with a declared list of categories; anything else counts as missing."""

    categories: tuple[str, ...] | tuple[int | float, ...]
    kind = "categorical"

    def __post_init__(self) -> None:
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise ParameterTypeError(f"categories must be a list, got categories={shown(self.categories)}")
        object.__setattr__(self, "categories", tuple(self.categories))
        text = [isinstance(c, str) for c in self.categories]
        if not all(text) and (any(text) or not all(isinstance(c, int | float) for c in self.categories)):
            raise ParameterTypeError(
                f"categories must be all text or all numbers, got categories={shown(self.categories)}"
            )
        if len(self.categories) < 2 or len(set(self.categories)) < len(self.categories):
            raise ParameterError(f"categories must be two or more different values, got {self.categories!r}")
        if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for c in self.categories for letter in str(c)):
            raise ParameterError(
                f"categories must be text that can be stored, without NUL or lone surrogates, got {self.categories!r}"
            )


Column = Interval | Categorical


def _as_column(name: str, spec: object) -> Column:
    """Read one column's bounds; they are never inferred from data."""
    if isinstance(spec, Interval | Categorical):
        return spec
    if isinstance(spec, tuple | list | np.ndarray) and len(spec) == 2:
        try:
            return Interval(spec[0], spec[1])
        except ParameterError as error:
            raise type(error)(f"column {name!r}: {error}") from None
    raise ParameterTypeError(
        f"column {shown(name)} needs public bounds (low, high), sf.Integer, sf.Periodic or sf.Categorical, "
        f"got {shown(spec)}; sfumato never infers bounds from private data"
    )


@dataclass(frozen=True, init=False)
class Box:
    """The public domain of a function: its columns, their bounds, their order.

    Parameters
    ----------
    columns
        A mapping from column name to ``(low, high)``, ``sf.Integer``, ``sf.Periodic`` or
        ``sf.Categorical``; or a list of these, named ``x0, x1, ...``.
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
        named = isinstance(columns, Mapping)
        if isinstance(columns, Mapping):
            items = list(columns.items())
        elif isinstance(columns, Sequence | np.ndarray) and not isinstance(columns, str):
            items = [(f"x{i}", spec) for i, spec in enumerate(columns)]
        else:
            raise ParameterTypeError(f"columns must be a mapping or a list of bounds, got {shown(columns)}")
        if not items or not all(isinstance(name, str) and name for name, _ in items):
            raise ParameterError(f"a box needs at least one column, each with a name, got {columns!r}")
        object.__setattr__(self, "names", tuple(name for name, _ in items))
        object.__setattr__(self, "columns", tuple(_as_column(name, spec) for name, spec in items))
        object.__setattr__(self, "named", named)
        object.__setattr__(self, "max_norm", None if max_norm is None else self._check_norm(max_norm))

    def _check_norm(self, max_norm: float) -> float:
        radius = positive_number("max_norm", max_norm)
        if any(not isinstance(c, Interval) or c.low > 0 or c.high < 0 for c in self.columns):
            raise ParameterError(f"max_norm={max_norm!r} needs numeric columns whose bounds all contain 0")
        return radius

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
        parts = [c.clean(records[:, i]) for i, c in enumerate(self.intervals())]
        cleaned = np.stack(parts, axis=1)
        if self.max_norm is not None:
            radius = self.max_norm * (1 - 2.0**-50)  # covers the rounding of the next lines
            with np.errstate(all="ignore"):
                largest = np.abs(cleaned).max(axis=1, keepdims=True)  # scaling by it keeps squares in range
                norms = largest * np.sqrt(np.sum((cleaned / largest) ** 2, axis=1, keepdims=True))
                cleaned = np.where(norms > radius, cleaned / norms * radius, cleaned)
        return cleaned

    def __repr__(self) -> str:
        parts = [
            f"{name!r}: {list(c.categories) if isinstance(c, Categorical) else (c.low, c.high)}"
            for name, c in zip(self.names, self.columns, strict=True)
        ]
        norm = "" if self.max_norm is None else f", max_norm={self.max_norm}"
        return f"Box({{{', '.join(parts)}}}{norm})"
