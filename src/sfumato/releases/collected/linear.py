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
from sfumato.core.box import Box, Categorical, Date, Periodic
from sfumato.dates import as_moments
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
    circles
        Whether the cosine and the sine of a periodic column stand for it. The centre and the unit of such a column make
        angles of it.
    """

    domain: Box
    answer: str
    scales: tuple[tuple[float, float], ...]
    constant: float
    reports: int
    circles: bool = False

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

    @property
    def wrapped(self) -> tuple[bool, ...]:
        """Which of the columns that predict go round a circle."""
        return tuple(self.circles and isinstance(kind, Periodic) for kind in self.features.columns)

    @property
    def terms(self) -> tuple[str, ...]:
        """What is multiplied with slopes: the columns that predict, cosine and sine of a circle."""
        named = zip(self.columns, self.wrapped, strict=True)
        told = ((f"cos {name}", f"sin {name}") if wrapped else (name,) for name, wrapped in named)
        return tuple(term for terms in told for term in terms)

    @property
    def term_scales(self) -> tuple[tuple[float, float], ...]:
        """``(centre, unit)`` of each of them."""
        pairs = zip(self.scales, self.wrapped, strict=True)
        return tuple(pair for own, wrapped in pairs for pair in (((0.0, 1.0),) * 2 if wrapped else (own,)))

    @cached_property
    def response(self) -> Response:
        """What is predicted."""
        kind = self.box.columns[self.box.names.index(self.answer)]
        if isinstance(kind, Categorical):
            return Response(self.answer, classes=kind.categories)
        return Response(self.answer, range=(kind.low, kind.high))

    @abstractmethod
    def fit(self) -> Model:
        """The linear model of ``terms``, in the columns' units; of two categories, the second where it is positive.

        A periodic column, turned into an angle (0 at its lower end), has two terms: its cosine and its sine.
        """

    def model_of(self, slopes: Floats, unit: float = 1.0) -> Model:
        """Slopes of ``z`` in the columns' units; a number in [-1, 1], times ``unit``, is what they predict."""
        centres, units = np.array(self.term_scales).T
        factor, start = 1.0, 0.0
        if self.response.range is not None:
            low, high = self.response.range
            factor, start = (high - low) / 2 / unit, low / 2 + high / 2
        found = factor * slopes[1:] / units
        intercept = start + factor * slopes[0] * self.constant - float(found @ centres)
        return Model("linear", self.answer, self.terms, tuple(found.tolist()), intercept)

    def scores(self, points: ArrayLike, outside: str = "clip") -> Floats:
        """What the linear model says of ``(m, k)`` points of the columns that predict, in their units."""
        rows = read_points(self.features, points, outside)
        parts = []
        for row, (centre, unit), wrapped in zip(rows.T, self.scales, self.wrapped, strict=True):
            parts += [np.cos((row - centre) / unit), np.sin((row - centre) / unit)] if wrapped else [row]
        return self.fit().predict(np.stack(parts, axis=1))

    def predict(self, points: ArrayLike, outside: str = "clip") -> NDArray[Any]:
        """The category, the number or the date at ``(m, k)`` points of the columns that predict, in their units.

        Points are moved into the box, as devices move records; ``outside="refuse"`` refuses those outside.
        """
        score = self.scores(points, outside)
        if self.response.classes is None:
            low, high = self.response.range or (-math.inf, math.inf)
            dated = isinstance(self.box.columns[self.box.names.index(self.answer)], Date)
            return as_moments(np.clip(score, low, high)) if dated else np.clip(score, low, high)
        return np.array(self.response.classes, dtype=object)[(score > 0).astype(np.int64)]

    @staticmethod
    def checked(common: dict[str, Any], box: Box, fields: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """What a file says of any linear model, and the numbers of a record, refusing what is none."""
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
        circles, there = "circles" in fields, sum(isinstance(kind, Periodic) for kind in told.values())
        if circles and not (fields["circles"] is True and there):
            raise ParameterError("a circle needs a periodic column that predicts, and is told with true")
        known = {"domain": box, "answer": fields["response"], "scales": scales, "constant": constant,
                 "reports": fields["reports"], "circles": circles}  # fmt: skip
        return known, box.dimension + circles * there

    def shared_fields(self) -> dict[str, Any]:
        """What any linear model says in a file."""
        return {
            "response": self.answer,
            "scales": [list(pair) for pair in self.scales],
            "constant": self.constant,
            "reports": self.reports,
            **({"circles": True} if self.circles else {}),
        }
