"""What each kind of release says of new records: columns to add to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.cli.records import AT_ONCE, Piece
from sfumato.core.box import Box
from sfumato.errors import ParameterError
from sfumato.faces import face_of
from sfumato.releases.machine.response import Response

_WORK = 10_000_000  # weights that a band looks at, at a time


class Predictor(ABC):
    """A release that predicts.

    Parameters
    ----------
    release
        Of one of the kinds that ``predictor_of`` knows.
    probability, certain
        Whether chances and certainties are asked for too.
    """

    at_once = AT_ONCE  # records
    shared = False  # whether its limits hold at all records at once, so that pieces share what may go wrong

    def __init__(self, release: Any, probability: bool, certain: bool) -> None:
        self.release, self.probability, self.certain = release, probability, certain
        self.check()

    @property
    def box(self) -> Box:
        """The columns that it reads."""
        return self.release.box  # type: ignore[no-any-return]

    @property
    def response(self) -> Response:
        """What is predicted."""
        return self.release.response  # type: ignore[no-any-return]

    def check(self) -> None:  # noqa: B027 - most can do whatever is asked
        """Refuse what it cannot do, naming the option."""

    def piece(self, columns: Sequence[Any]) -> Piece:
        """Records brought into its box."""
        return Piece.of(self.box, columns)

    @abstractmethod
    def names(self) -> list[str]:
        """The columns that are added to the records."""

    @abstractmethod
    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns; the label or the number comes first."""


def _certainties(found: Any) -> list[str]:
    return ["true" if sure else "false" for sure in found]


class MachinePredictor(Predictor):
    """A kernel machine: labels with the function behind them, or numbers."""

    def check(self) -> None:
        """Refuse what it cannot do, naming the option."""
        release, box = self.release, self.box
        release.decision(box.clean((box.low / 2 + box.high / 2)[None, :]))  # refuses one whose kernel is not there
        if self.certain and release.classes is None:
            raise ParameterError("--certain is about labels, this is a regression; leave it out")
        if self.probability and (release.classes is None or release.handed.loss != "logistic"):
            what = "a regression" if release.classes is None else f"one with loss {release.handed.loss!r}"
            raise ParameterError(f"--probability needs a classifier with a logistic loss, this is {what}")

    def names(self) -> list[str]:
        """The columns that are added to the records."""
        found, classes = ["prediction"], self.response.classes
        if classes is not None and len(classes) == 2:
            found.append("decision")
        if self.probability and classes is not None:
            found += [f"probability_{name}" for name in classes]
        return [*found, "certain"] if self.certain else found

    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns."""
        found = [self.release.predict(points).tolist()]
        if "decision" in self.names():
            found.append(self.release.decision(points).tolist())
        if self.probability:
            found += self.release.probability(points).T.tolist()
        return [*found, _certainties(self.release.certain(points, confidence))] if self.certain else found


class CurvePredictor(Predictor):
    """A curve: the mean response, and the limits of the kernel regression of the records."""

    shared = True

    def check(self) -> None:
        """Refuse what it cannot do, naming the option."""
        for option, asked in (("--probability", self.probability), ("--certain", self.certain)):
            if asked:
                raise ParameterError(f"{option} is about labels, this is a curve with limits of its own; leave it out")
        self.at_once = max(1, min(AT_ONCE, _WORK // self.release.high.law.size))

    def names(self) -> list[str]:
        """The columns that are added to the records."""
        return ["prediction", "low", "high"]

    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns."""
        low, high = self.release.band(points, confidence)
        return [self.release(points).tolist(), low.tolist(), high.tolist()]


class BayesPredictor(Predictor):
    """A naive Bayes classifier: labels and probabilities, also of records that are not complete."""

    def piece(self, columns: Sequence[Any]) -> Piece:
        """Records brought into its box; what is missing says nothing."""
        return Piece.mixed(self.box, columns)

    def names(self) -> list[str]:
        """The columns that are added to the records."""
        chances = [f"probability_{name}" for name in self.release.classes]
        return ["prediction", *chances, *(["certain"] if self.certain else [])]

    def values(self, points: Any, confidence: float) -> list[list[Any]]:
        """Those columns."""
        chances = self.release.predict_proba(points)
        labels = [self.release.classes[place] for place in chances.argmax(axis=1)]
        found = [labels, *chances.T.tolist()]
        return [*found, _certainties(self.release.certain(points, confidence))] if self.certain else found


_PREDICTORS: dict[str, type[Predictor]] = {
    "machine": MachinePredictor,
    "curve": CurvePredictor,
    "naive-bayes": BayesPredictor,
}


def predictor_of(release: Any, model: Path, probability: bool = False, certain: bool = False) -> Predictor:
    """What predicts with a release, or a refusal."""
    if release.kind in _PREDICTORS:
        return _PREDICTORS[release.kind](release, probability, certain)
    hint = "; use 'sfumato evaluate'" if face_of(release).use == "evaluate" else ""
    raise ParameterError(f"{model}: a release of kind {release.kind!r}, this needs a learner or a curve{hint}")
