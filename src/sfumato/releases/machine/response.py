"""What a learner predicts: one of several declared classes, or a number within a declared range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import finite_number, shown
from sfumato.core.box import Box, Categorical, Column, Interval
from sfumato.errors import ParameterError, ParameterTypeError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Response:
    """The response's column: its name, and either its classes or its range, which are public and never inferred.

    Two classes are told apart by the sign of one function, positive for the second; more have one function each.

    >>> Response("ill", classes=("no", "yes")).outputs
    1
    """

    name: str
    classes: tuple[Any, ...] | None = None
    range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ParameterTypeError.of("response", f"must be the name of a column, got response={shown(self.name)}")
        if (self.classes is None) == (self.range is None):
            raise ParameterError(
                "declare what the response can be: classes=[...] for a classifier or range=(low, high) for a "
                "regression; they are never taken from the data"
            )
        if self.classes is not None:
            listed = self.classes.tolist() if isinstance(self.classes, np.ndarray) else self.classes
            if isinstance(listed, str) or not isinstance(listed, Sequence):
                raise ParameterTypeError.of("classes", f"must be a list, got classes={shown(self.classes)}")
            plain = tuple(c.item() if isinstance(c, np.generic) else c for c in listed)
            object.__setattr__(self, "classes", Categorical(plain).categories)
            if not isinstance(plain[0], str):
                for label in plain:
                    finite_number("a class", label + 0)
        else:
            pair = self.range
            if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
                raise ParameterTypeError.of("range", f"must be a pair (low, high), got range={shown(pair)}")
            column = Interval(pair[0], pair[1])
            if not column.high / 2 - column.low / 2 >= 1e-300:
                raise ParameterError(f"range is too narrow for 64-bit numbers, got range={pair!r}")
            object.__setattr__(self, "range", (column.low, column.high))

    @property
    def column(self) -> Column:
        """The column as a box would have it."""
        return Categorical(self.classes) if self.classes is not None else Interval(*self._range)

    def after(self, box: Box) -> Box:
        """The columns of a box, and then this one: what is read of labelled records."""
        return Box({**dict(zip(box.names, box.columns, strict=True)), self.name: self.column})

    @property
    def _range(self) -> tuple[float, float]:
        assert self.range is not None
        return self.range

    @property
    def outputs(self) -> int:
        """How many functions it takes."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    def to_range(self, values: Floats) -> Floats:
        """From [-1, 1] to the declared range."""
        low, high = self._range
        return low / 2 + high / 2 + values * (high / 2 - low / 2)

    def from_range(self, values: Floats) -> Floats:
        """From the declared range to [-1, 1]; values outside are clipped, missing ones stay missing."""
        low, high = self._range
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        with np.errstate(all="ignore"):  # a signalling NaN warns, and a warning that depends on values is an output
            return np.clip((np.clip(values, low, high) - middle) / half, -1.0, 1.0)  # the middle may have been rounded

    def labels(self, values: Floats) -> NDArray[Any]:
        """``(m,)``: the class that the ``(m, outputs)`` functions speak for."""
        assert self.classes is not None
        best = (values[:, 0] > 0).astype(np.int64) if self.outputs == 1 else values.argmax(axis=1)
        return np.asarray(np.array(self.classes)[best])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "classes": None if self.classes is None else list(self.classes),
            "range": None if self.range is None else list(self.range),
        }


def response_from_json(data: Mapping[str, Any]) -> Response:
    """Rebuild a response."""
    if set(data) != {"name", "classes", "range"}:
        raise ParameterError("the response has unexpected or missing entries")
    classes, bounds = data["classes"], data["range"]
    if bounds is not None and not all(isinstance(v, int | float) and math.isfinite(v) for v in bounds):
        raise ParameterError("the response's range must be two finite numbers")
    return Response(
        data["name"], None if classes is None else tuple(classes), None if bounds is None else tuple(bounds)
    )
