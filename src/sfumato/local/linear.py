"""A linear model without a trusted collector: each person tells one public direction near the own record's moments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import did_you_mean, finite_number, positive_number, shown, true_or_false
from sfumato.core.box import Box, Categorical, Column, Date, Periodic
from sfumato.dates import days_from
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.local.channels import MOST_DIRECTIONS, State, UnitChannel
from sfumato.local.protocol import Protocol, Words
from sfumato.local.records import read_records, within

Floats = NDArray[np.float64]
Scales = tuple[tuple[float, float], ...]
Matrix = tuple[tuple[float, ...], ...]

_FAR = 1e6  # units of a column from its centre, and the most of constant and weight
_ROUNDING = 1e-9  # of a public matrix, by which it may fail to be symmetric or to have no negative eigenvalue


@dataclass(frozen=True)
class LinearProtocol(Protocol):
    """What kinds of linear models share: a response, and the other columns centred and scaled behind a constant."""

    response: str = ""
    scales: Any = None  # once checked, (centre, unit) of each column that predicts
    constant: float = 1.3
    circles: bool = True

    unwritten: ClassVar[dict[str, Any]] = {"circles": False}  # in the first files a circle is a straight line

    def check_columns(self) -> None:
        """Refuse a response that is none, and columns that no number stands for."""
        if self.response not in self.box.names:
            near = did_you_mean(str(self.response), self.box.names)
            raise ParameterError.of("response", f"must be a column of the box, got response={self.response!r}{near}")
        kind = self.box.columns[self.box.names.index(self.response)]
        if isinstance(kind, Categorical) and len(kind.categories) != 2:
            raise ParameterError.of(
                "response", f"must have two categories, or be a range; {self.response!r} has {len(kind.categories)}"
            )
        if true_or_false("circles", self.circles) and isinstance(kind, Periodic):
            raise ParameterError.of(
                "response",
                f"must have two categories, or be a range; {self.response!r} is a circle, on which no line can lead: "
                "predict its cosine or its sine, or declare a range",
            )
        if self.box.dimension < 2:
            raise ParameterError.of("box", f"needs a column beside the response {self.response!r}")
        for name in self.columns:
            if isinstance(self.box.columns[self.box.names.index(name)], Categorical):
                raise ParameterError.of(
                    "box", f"has categories in column {name!r}: declare numbers, such as 0 and 1 for each category"
                )

    def check_sizes(self, *names: str) -> None:
        """Refuse a constant, scales and other numbers that are none, or too large to be computed with."""
        for name in ("constant", *names):
            if not 1 / _FAR <= positive_number(name, getattr(self, name)) <= _FAR:
                raise ParameterError.of(name, f"must lie in [{1 / _FAR:g}, {_FAR:g}], got {getattr(self, name)!r}")
            object.__setattr__(self, name, float(getattr(self, name)))
        # One way only to say that there is none.
        object.__setattr__(self, "circles", self.circles and any(isinstance(kind, Periodic) for kind in self._kinds))
        object.__setattr__(self, "scales", self._checked_scales())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that predict."""
        return tuple(name for name in self.box.names if name != self.response)

    @property
    def _kinds(self) -> tuple[Column, ...]:
        """Of the columns that predict."""
        return tuple(self.box.columns[self.box.names.index(name)] for name in self.columns)

    @property
    def wrapped(self) -> tuple[bool, ...]:
        """Which of the columns that predict go round a circle: their cosine and sine stand for them."""
        return tuple(bool(self.circles) and isinstance(kind, Periodic) for kind in self._kinds)

    @property
    def record_size(self) -> int:
        """How many numbers a record is: the constant, and one or two for each column that predicts."""
        return 1 + len(self.columns) + sum(self.wrapped)

    def _checked_scales(self) -> Scales:
        """Of every column, by name or in their order (as a file has them)."""
        if isinstance(self.scales, Mapping):
            unknown = [name for name in self.scales if name not in self.columns]
            if unknown:
                near = did_you_mean(str(unknown[0]), self.columns)
                raise ParameterError.of("scales", f"are of columns that predict, got {unknown[0]!r}{near}")
        elif self.scales is not None and len(self.scales) != len(self.columns):
            raise ParameterError.of("scales", f"must be (centre, unit) of {len(self.columns)} columns, by name")
        return tuple(self._checked_pair(place) for place in range(len(self.columns)))

    def _checked_pair(self, place: int) -> tuple[float, float]:
        """``(centre, unit)`` of one column, its own where none is given."""
        name, kind = self.columns[place], self._kinds[place]
        pair = self.scales.get(name) if isinstance(self.scales, Mapping) else (self.scales or {place: None})[place]
        assert not isinstance(kind, Categorical)
        whole = kind.low, (kind.high - kind.low) / (2 * math.pi)  # of a circle: angles
        if pair is None:
            pair = whole if self.wrapped[place] else (kind.low / 2 + kind.high / 2, kind.high / 4 - kind.low / 4)
        if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise ParameterTypeError.of("scales", f"must be (centre, unit) of {name!r}, got {shown(pair)}")
        if self.wrapped[place] and tuple(pair) != whole:
            raise ParameterError.of("scales", f"are of columns on a line; {name!r} is a circle: leave its scale out")
        # A file's number is taken as it is: days from a date are rounded to the microsecond.
        dated = isinstance(kind, Date) and not isinstance(pair[0], Real)
        centre = days_from("a centre", pair[0]) if dated else float(finite_number("a centre", pair[0]))
        unit = float(positive_number("a unit", pair[1]))
        # Beyond, squares could overflow for some records and not for others, and a warning would be an output.
        if not max(abs(kind.low - centre), abs(kind.high - centre)) / unit <= _FAR:
            raise ParameterError.of("scales", f"put {name!r} more than {_FAR:g} units from its centre, got {pair!r}")
        return centre, unit

    @property
    def numeric(self) -> bool:
        """Whether the response is a number, and not one of two categories."""
        return not isinstance(self.box.columns[self.box.names.index(self.response)], Categorical)

    @property
    def _place(self) -> int:
        return self.box.names.index(self.response)

    def _units(self, columns: Floats) -> tuple[Floats, Floats]:
        """``(m, record_size)`` records of length one, and the lengths they had; ``constant`` keeps these from zero."""
        rows = [row for place, row in enumerate(columns) if place != self._place]
        scaled = [np.full(columns.shape[1], self.constant)]
        for row, (centre, unit), wrapped in zip(rows, self.scales, self.wrapped, strict=True):
            found = (row - centre) / unit
            scaled += [np.cos(found), np.sin(found)] if wrapped else [found]
        whole = np.stack(scaled, axis=1)
        lengths = np.linalg.norm(whole, axis=1)
        return whole / lengths[:, None], lengths


def _is_as_wide(records: Any, box: Box) -> bool:
    """Whether public records are rows that have a value for each column of the box: tables go by their names."""
    if isinstance(records, np.ndarray) and records.ndim == 2:
        return bool(records.shape[1] == box.dimension)
    return isinstance(records, list | tuple) and len(records) > 0 and np.shape(records[0]) == (box.dimension,)


@dataclass(frozen=True, init=False)
class LinearModel(LinearProtocol):
    """How a response goes with numeric columns: least squares from second moments that people told.

    On the device, columns are centred and scaled, a constant is put before them, and the record ``z`` is divided by its
    own length: ``u = z / |z|``. The *unit vector* ``(svec(u u'), weight y u) / sqrt(1 + weight**2)`` is told by one of
    256 public directions: one byte. ``svec`` lists a symmetric matrix so that lengths stay what they are.

    Parameters
    ----------
    response
        A column of the box: two categories (y is -1 or 1) or a range. A number is told as ``y constant / |z|``, in [-1,
        1], and one more coordinate makes the vector's length one.
    scales
        Public ``(centre, unit)`` of columns, by name; by default the middle and a quarter of the width. The centre of
        dates is a date, their unit a number of days.
    constant, weight
        What stands before the columns, and how much of a report is about the response.
    second_moments
        A public matrix, the mean of ``u u'`` over public records without a response (``public_moments``). Then only ``y
        u`` is told, which is much shorter: this is what makes many columns possible.
    circles
        Whether the cosine and the sine of a periodic column stand for it, and not a number on a line.

    Formal guarantee: as every protocol, docs/proofs/randomizers.md, Theorem 6.

    >>> from sfumato.core.box import Box, Categorical
    >>> box = Box({"age": (20, 60), "hours": (0, 80), "rich": Categorical(["no", "yes"])})
    >>> LinearModel(box, 1.0, "rich", seed=1).questions
    9
    """

    weight: float = 0.85
    second_moments: Any = None  # once checked, rows of numbers

    kind: ClassVar[str] = "linear-model"

    def __init__(
        self,
        box: Box,
        epsilon: float,
        response: str,
        *,
        scales: Mapping[str, tuple[float, float]] | Any = None,
        constant: float = 1.3,
        weight: float = 0.85,
        second_moments: Any = None,
        circles: bool = True,
        seed: int | None = None,
        users: int = 2**40,
        numbers: str = "given",
    ) -> None:
        given = {"box": box, "epsilon": epsilon, "response": response, "scales": scales, "constant": constant,
                 "weight": weight, "second_moments": second_moments, "circles": circles, "seed": seed,
                 "users": users, "numbers": numbers}  # fmt: skip
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def check(self) -> None:
        self.check_columns()
        self.check_sizes("weight")
        object.__setattr__(self, "second_moments", self._checked_moments())
        if self.questions > MOST_DIRECTIONS:
            raise ParameterError.of(
                "box",
                f"has {len(self.columns)} columns beside the response, which makes {self.questions:,} numbers; devices "
                f"tell at most {MOST_DIRECTIONS:,}: give second_moments= from public records, or leave out columns",
            )
        self.channel  # noqa: B018  (refuses an epsilon that the randomizer cannot serve)

    def _checked_moments(self) -> Matrix | None:
        if self.second_moments is None:
            return None
        size = self.record_size
        try:
            matrix = np.array(self.second_moments)
            # What is no number of a double is refused, and not cast with a warning.
            matrix = matrix.astype(np.float64, casting="unsafe" if matrix.dtype.kind == "O" else "same_kind")
        except (TypeError, ValueError, OverflowError):
            raise ParameterTypeError.of("second_moments", "must be a matrix of numbers") from None
        if matrix.shape != (size, size):
            raise ParameterError.of(
                "second_moments", f"must have shape ({size}, {size}), a constant and the columns, got {matrix.shape}"
            )
        if not np.isfinite(matrix).all():
            raise ParameterError.of("second_moments", "must be finite, as a mean of u u' is")
        largest = float(matrix.ravel()[np.abs(matrix).argmax()])
        if abs(largest) > 1 + _ROUNDING:
            raise ParameterError.of(
                "second_moments",
                f"must have entries in [-1, 1], as a mean of u u' has, got {largest!r}: take "
                "protocol.public_moments(records)",
            )
        if np.abs(matrix - matrix.T).max() > _ROUNDING:
            raise ParameterError.of("second_moments", "must be symmetric, as a mean of u u' is")
        if np.linalg.eigvalsh(matrix)[0] < -_ROUNDING * np.abs(matrix).max():
            raise ParameterError.of("second_moments", "must be positive semi-definite, as a mean of u u' is")
        return tuple(map(tuple, ((matrix + matrix.T) / 2).tolist()))

    @property
    def questions(self) -> int:
        """The length of the vector that is told."""
        size = self.record_size
        told = size + int(self.numeric)
        return told if self.second_moments is not None else size * (size + 1) // 2 + told

    @property
    def channel_name(self) -> str:
        return "privunit"

    def settings(self) -> dict[str, Any]:
        matrix = {} if self.second_moments is None else {"second_moments": [list(row) for row in self.second_moments]}
        return {
            "response": self.response,
            "scales": [list(pair) for pair in self.scales],
            "constant": self.constant,
            "weight": self.weight,
            **matrix,
            **({"circles": True} if self.circles else {}),
        }

    # --- on the device ----------------------------------------------------------------------------------------

    def answers(self, columns: Floats, users: Words) -> NDArray[Any]:
        units, lengths = self._units(columns)
        kind, values = self.box.columns[self.box.names.index(self.response)], columns[self._place]
        if isinstance(kind, Categorical):
            y = 2 * values - 1
        else:
            y = (2 * ((values - kind.low) / (kind.high - kind.low)) - 1) * self.constant / lengths
        parts = [y[:, None] * units]
        if self.numeric:
            parts.append(np.sqrt(np.clip(1 - y**2, 0.0, 1.0))[:, None])
        if self.second_moments is not None:
            return np.concatenate(parts, axis=1)
        first, second = self._pairs
        squares = units[:, first] * units[:, second] * np.where(first == second, 1.0, math.sqrt(2))
        told = np.concatenate([squares, *(self.weight * part for part in parts)], axis=1)
        return np.asarray(told / math.sqrt(1 + self.weight**2))

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries of a symmetric matrix, row by row from the diagonal on."""
        first, second = np.triu_indices(self.record_size)
        return first, second

    def public_moments(self, records: Any) -> Floats:
        """The mean of ``u u'`` over *public* records, for ``second_moments``, as devices would read them.

        Never give private records: what comes back is not protected in any way.

        Parameters
        ----------
        records
            A table with the columns that predict, or rows of them in the order of the box. A response may be among
            them, and is not looked at.
        """
        kinds = dict(zip(self.box.names, self.box.columns, strict=True))
        told = self.box if _is_as_wide(records, self.box) else Box({name: kinds[name] for name in self.columns})
        codes = read_records(told, records)
        if not len(codes):
            raise ParameterError.of("records", "must hold at least one public record, got none")
        if told is not self.box:
            codes = np.insert(codes, self._place, np.nan, axis=1)
        units, _ = self._units(within(self.box, codes))
        return np.asarray(units.T @ units / len(units))

    # --- at the collector -------------------------------------------------------------------------------------

    @property
    def _stretch(self) -> float:
        """What a mean answer is multiplied with, at most, to become a number of the release."""
        if self.second_moments is not None:
            return 1.0
        return math.sqrt(1 + self.weight**2) * max(1.0, 1 / self.weight)

    def spread(self, variance: float) -> float:
        return self._stretch**2 * variance

    def expected(self) -> tuple[float, float]:
        size = self.record_size
        matrix, cross = self.variances
        if self.second_moments is not None:
            return cross, super().expected()[1]
        return (size * matrix + cross) / (size + 1), super().expected()[1]

    @property
    def variances(self) -> tuple[float, float]:
        """Of a number of the second moments and of a cross moment, means over each, times the people."""
        channel, size = self.channel, self.record_size
        assert isinstance(channel, UnitChannel)
        if self.second_moments is not None:
            return 0.0, channel.mean_variance(self.questions, 1.0)
        whole, pairs = 1 + self.weight**2, size * (size + 1) // 2
        told = channel.mean_variance(pairs, 1 / whole)
        cross = channel.mean_variance(self.questions - pairs, self.weight**2 / whole)
        # Off its diagonal a matrix has each product of ``svec`` twice, with half the variance.
        return whole * told * (size + 1) / (2 * size), whole / self.weight**2 * cross

    def pull(self, reach: float) -> float:
        return self._stretch * super().pull(reach)

    def moments(self, answers: Floats) -> tuple[Floats, Floats]:
        """Second moments and cross moments from mean answers."""
        size = self.record_size
        if self.second_moments is not None:
            return np.array(self.second_moments), answers[:size]
        told = answers * math.sqrt(1 + self.weight**2)
        first, second = self._pairs
        matrix = np.zeros((size, size))
        matrix[first, second] = told[: len(first)] / np.where(first == second, 1.0, math.sqrt(2))
        matrix[second, first] = matrix[first, second]
        return matrix, told[len(first) : len(first) + size] / self.weight

    def release(self, state: State, reports: int) -> Any:
        from sfumato.releases.collected.moments import CollectedMoments

        return CollectedMoments.of(self, *self.moments(self.channel.estimate(state)[0]), reports)
