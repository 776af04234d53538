"""What linear models from people's devices share: columns, scales, a response, and predictions in their units."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.unit import read_points
from sfumato.checks import finite_number, positive_number
from sfumato.core.box import Box, Categorical
from sfumato.errors import ParameterError
from sfumato.releases.base import Release
from sfumato.releases.collected.density import check_reports
from sfumato.releases.machine.response import Response
from sfumato.releases.summary.models import Model
from sfumato.upwards import Shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectedLinear(Shown, Release):
    """A linear model of one column from the others, by records ``z``: a constant, and the scaled columns.

    Parameters
    ----------
    answer
        The column that is predicted.
    scales, constant
        How records are scaled: public.
    reports
        How many reports it rests on: public.
    """

    domain: Box
    answer: str
    scales: tuple[tuple[float, float], ...]
    constant: float
    reports: int

    @property
    def box(self) -> Box:
        return self.domain

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that predict."""
        return tuple(name for name in self.box.names if name != self.answer)

    @property
    def features(self) -> Box:
        """The box of the columns that predict."""
        kinds = dict(zip(self.box.names, self.box.columns, strict=True))
        return Box({name: kinds[name] for name in self.columns})

    @cached_property
    def response(self) -> Response:
        """What is predicted."""
        kind = self.box.columns[self.box.names.index(self.answer)]
        if isinstance(kind, Categorical):
            return Response(self.answer, classes=kind.categories)
        return Response(self.answer, range=(kind.low, kind.high))

    @abstractmethod
    def fit(self) -> Model:
        """The linear model in the columns' units; of two categories, the second is predicted where it is positive."""

    def model_of(self, slopes: Floats, unit: float = 1.0) -> Model:
        """Slopes of ``z`` in the columns' units; a number in [-1, 1], times ``unit``, is what they predict."""
        units = np.array([each for _, each in self.scales])
        centres = np.array([centre for centre, _ in self.scales])
        factor, start = 1.0, 0.0
        if self.response.range is not None:
            low, high = self.response.range
            factor, start = (high - low) / 2 / unit, low / 2 + high / 2
        found = factor * slopes[1:] / units
        intercept = start + factor * slopes[0] * self.constant - float(found @ centres)
        return Model("linear", self.answer, self.columns, tuple(found.tolist()), intercept)

    def predict(self, points: ArrayLike, outside: str = "clip") -> NDArray[Any]:
        """The category, or the number, at ``(m, k)`` points of the columns that predict, in their units.

        Points are moved into the box, as devices move records; ``outside="refuse"`` refuses those outside.
        """
        score = self.fit().predict(read_points(self.features, points, outside))
        if self.response.classes is None:
            low, high = self.response.range or (-math.inf, math.inf)
            return np.clip(score, low, high)
        return np.array(self.response.classes, dtype=object)[(score > 0).astype(np.int64)]

    @staticmethod
    def checked(common: dict[str, Any], box: Box, fields: dict[str, Any]) -> dict[str, Any]:
        """What a file says of any linear model, refusing what is none."""
        if fields["response"] not in box.names or box.dimension < 2:
            raise ParameterError("the response is no column of the box")
        told = dict(zip(box.names, box.columns, strict=True))
        response = told.pop(fields["response"])
        if isinstance(response, Categorical) and len(response.categories) != 2:
            raise ParameterError("the response has more than two categories")
        if any(isinstance(kind, Categorical) for kind in told.values()):
            raise ParameterError("the columns that predict are numbers")
        if len(fields["scales"]) != box.dimension - 1 or any(len(pair) != 2 for pair in fields["scales"]):
            raise ParameterError("scales are (centre, unit) of every column")
        scales = tuple((finite_number("a centre", a), positive_number("a unit", b)) for a, b in fields["scales"])
        check_reports(fields["reports"], common)
        constant = positive_number("constant", fields["constant"])
        return {"domain": box, "answer": fields["response"], "scales": scales, "constant": constant,
                "reports": fields["reports"]}  # fmt: skip
