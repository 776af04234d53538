"""The face of linear models that walked once over people's reports."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.faces.base import Asked, Facts
from sfumato.faces.collected import MOST_BARS, MOST_SLOPES, CollectedFace, CollectedMomentsFace, Panel, Slopes
from sfumato.faces.words import above, number_words, plain, readable
from sfumato.releases.collected.model import CollectedModel

Floats = NDArray[np.float64]


class CollectedModelFace(CollectedMomentsFace):
    """What such a model says of itself: its slopes, of which nobody knows how far off they are."""

    release: CollectedModel  # type: ignore[assignment]

    @property
    def content(self) -> str:
        return f"slopes of {self._predicting}, by one pass of gradients of the {self.release.loss} loss"

    def rows(self, asked: Asked | None = None) -> Facts:
        within = f"{number_words(self._reach)} (confidence {self.confidence:g})"
        each = f"each mean of what people sent copies of is told within {within}"
        unknown = "how far off slopes are is not known; sf.local.LinearModel says it, and needs fewer people"
        slopes = self.release.weights[1:].tolist()
        told = [
            f"{name}: {number_words(value)} a unit of {unit:g}"
            for name, value, (_, unit) in zip(self.release.terms, slopes, self.release.term_scales, strict=True)
        ]
        more = [] if len(told) <= MOST_SLOPES else [f"and {len(told) - MOST_SLOPES} more columns"]
        return [*CollectedFace.rows(self, asked), ("error", [each, unknown]), ("slopes", told[:MOST_SLOPES] + more)]

    def data(self) -> dict[str, Any]:
        model = self.release.fit()
        return {
            **CollectedFace.data(self),
            "response": self.release.answer,
            "columns": list(self.release.terms),
            "loss": self.release.loss,
            "weights": self.release.weights.tolist(),
            "coefficients": list(model.coefficients),
            "intercept": model.intercept,
        }

    def error(self) -> dict[str, Any]:
        return {"name": "Means that were told within", "typical": readable(self._reach), "each": above(self._reach, 3)}

    @property
    def _reach(self) -> float:
        """How far off each mean of what people sent copies of can be."""
        return NormalDist().inv_cdf((1 + self.confidence) / 2) * self.deviation

    def panels(self) -> list[Panel]:
        values = self.release.weights[1:]
        shown = np.argsort(-np.abs(values), kind="stable")[:MOST_BARS]
        names = tuple(plain(self.release.terms[place], 24) for place in shown)
        most = "" if len(values) <= MOST_BARS else f", the {MOST_BARS} largest of {len(values)}"
        title = f"slope of {plain(self.release.answer, 24)} for a unit of each column{most}"
        return [Slopes(title, names, values[shown])]

    @property
    def picture_words(self) -> str:
        return f"how {self.release.answer} goes with each column, from people's reports"
