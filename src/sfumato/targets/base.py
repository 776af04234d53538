"""What every target offers to the pipeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.checks import shown
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.engines.engine import Engine, Records
from sfumato.engines.table import Columns
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.base import Receipt, Release
from sfumato.targets.density.tuned import Tuned


@dataclass(frozen=True)
class Published:
    """What the pipeline hands to a target once the noise is drawn: public numbers and public facts, nothing else."""

    values: NDArray[np.float64]
    basis: Basis
    box: Box
    rows: int | None
    law: Any  # a noise law; None for what was chosen instead
    guarantee: Guarantee
    receipt: Receipt | None
    privacy: Privacy
    chosen_by: str  # who chose the basis: "auto", "caller" or "data" (paid for)


@dataclass(frozen=True)
class Ballot:
    """One choice to be made: a private score for each public candidate, how far neighbours move it, and its pay.

    With ``wanted`` it is a choice of several at once: scores are ranks then, and these numbers are to lie between them.
    """

    scores: NDArray[np.int64]
    sensitivity: float
    part: Fraction
    wanted: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return "<private scores>"


class Target(ABC):
    """A function of private data that is to be published.

    A target is immutable configuration: the data come as an argument, touch ``gather`` and ``coefficients`` only, and
    leave inside a ``Private`` vector whose certificate the target has proved.
    """

    work: ClassVar[str] = "adding up"  # what computing its coefficients is, in a word or two
    largest: float | None = None  # a public bound on the size of every value, where there is one
    columns: Columns = None
    bases: tuple[type[Basis], ...] = ()  # the kinds of basis that it can be written in
    yours: str | None = None  # what it calls a function of the caller's, whose failures nobody may see on real records

    def check_box(self, box: Box) -> None:
        """Refuse a box that this target cannot live on, before any data are read."""
        box.intervals()

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> Target:
        """The same target with every public parameter that was left open filled in by a public rule."""
        return self

    @abstractmethod
    def gather(self, records: Records, box: Box, engine: Engine) -> Any:
        """What ``coefficients`` will need of the data, folded in one pass where a basis need not be chosen first."""

    def check_basis(self, basis: Basis, box: Box) -> None:
        """Refuse a basis that this target cannot be written in."""
        if not isinstance(basis, self.bases):
            names = " or ".join(f"sf.{kind.__name__}" for kind in self.bases)
            raise ParameterTypeError(f"basis must be {names} for this target, got basis={shown(basis)}")

    def check_drawable(self, box: Box, basis: Any) -> None:  # noqa: B027 - most can be drawn
        """Refuse, by public parameters and before anything is paid, what no picture of the release could show."""

    def check_law(self, law: NoiseLaw) -> None:
        """Refuse a noise law that cannot serve this target, before anything is paid."""
        if law.kind == "blocks":
            raise ParameterError("noise='blocks' is for synthetic tables alone; use noise='auto'", parameter="noise")
        if self.largest is not None and self.largest > 2.0**60 * law.step:
            raise ParameterError(
                f"values up to {self.largest!r} with sensitivity {law.certificate.bound!r} at this privacy are beyond "
                "64-bit integers: choose a less extreme sensitivity or epsilon"
            )

    def size(self, basis: Basis, box: Box) -> int:
        """The number of coefficients."""
        return basis.size(box)

    @abstractmethod
    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> Basis:
        """A basis picked from public quantities only."""

    @abstractmethod
    def certificate(self, basis: Any, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """How far neighbours can move the coefficients: at most 20 lines, with a page in ``docs/proofs/``."""

    @abstractmethod
    def coefficients(self, gathered: Any, basis: Any, box: Box, certificate: Certificate) -> Private:
        """The private coefficients, sealed. Nothing here may raise because of the records' values."""

    @abstractmethod
    def predict(self, basis: Any, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        """What error to expect, from public quantities only."""

    def preferred_noise(self, certificate: Certificate, privacy: Privacy) -> str:
        """The noise to take where the caller leaves the choice."""
        return "auto"

    def noise_words(self, basis: Any, box: Box, law: NoiseLaw) -> str:
        """Where noise goes, and how much."""
        return f"{law.kind}, scale {law.deviation:.4g}"

    @abstractmethod
    def finish(self, published: Any) -> Release:
        """The release of what was published."""

    @abstractmethod
    def describe(self) -> tuple[tuple[str, str], ...]:
        """What is published, in plain words and public parameters, for the release."""


@dataclass(frozen=True)
class Errors:
    """Predicted largest errors: the noise's mean and a quantile, a bound on the rest, and what nobody can beat.

    ``approximation`` and ``lower_bound`` are None where they are unknown. ``ranks``: whether they are ranks, as a share
    of the records.
    """

    mean_noise: float
    noise: float
    approximation: float | None
    lower_bound: float | None
    ranks: bool = False


# --- what some targets have more ----------------------------------------------------------------------------------


@runtime_checkable
class Choosing(Protocol):
    """A target that selects public candidates by private scores instead of perturbing coefficients."""

    def ballots(self, gathered: Any, basis: Any, box: Box, privacy: Privacy) -> list[Ballot]:
        """The choices to be made; their parts of the grant add up to one."""
        ...

    def method(self, basis: Any, privacy: Privacy) -> str:
        """How choices are made, as a ledger calls it."""
        ...

    def picked(self, basis: Any, places: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """The public values of the candidates that were chosen, one or more on each ballot."""
        ...

    def predict_ranks(self, basis: Any, privacy: Privacy, n: int | None, confidence: float) -> Errors:
        """What error to expect of a choice, in ranks."""
        ...


@runtime_checkable
class Tunable(Protocol):
    """A target that can leave public parameters to be selected by the data, each for a part of the grant."""

    def questions(self, basis: Any) -> list[Tuned]:
        """What was left to be selected by the data, each to be paid for."""
        ...

    def check_answers(self, box: Box, basis: Any) -> None:
        """Refuse candidates that could not be released, before anything is paid for choosing one of them."""
        ...

    def scores(
        self, question: Tuned, gathered: Any, box: Box, n: int, privacy: Privacy, basis: Any
    ) -> tuple[list[float], float]:
        """A private score for each candidate, and how far one record can move any of them."""
        ...

    def answered(self, question: Tuned, picked: Any, basis: Any) -> tuple[Target, Any]:
        """The target and the basis once a question is answered."""
        ...


@dataclass(frozen=True)
class Step:
    """What is published first, for a part of the grant, so that the rest is the better for it.

    ``box`` are its own columns, None for those of the release. ``typical`` numbers are what a plan counts with,
    ``extreme`` ones what is hardest to release after; None where the noise of the rest does not depend on them.
    """

    target: Target
    share: Fraction
    box: Box | None = None
    typical: NDArray[np.float64] | None = None
    extreme: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Measured:
    """What a step has published, and the law of its noise."""

    step: Step
    numbers: NDArray[np.float64]
    law: NoiseLaw


@runtime_checkable
class Stepwise(Protocol):
    """A target that may want something small published before itself."""

    def before(self, box: Box, n: int | None, privacy: Privacy, free: bool) -> Step | None:
        """What should be known first, by public quantities; None for nothing.

        ``free`` says that the caller has named neither a basis nor a noise.
        """
        ...

    def after(
        self, measured: Measured, basis: Any, box: Box, n: int | None, granted: Privacy, rest: Privacy
    ) -> tuple[Target, Any]:
        """The target and its basis, given what was published first, all that was granted and what is left of it."""
        ...


@runtime_checkable
class Undecided(Protocol):
    """A stepwise target whose mechanism may still change with what comes first."""

    def others(self) -> list[Target]:
        """What it may become: an account must be able to pay for each."""
        ...


@runtime_checkable
class Rehearsable(Protocol):
    """A target that can be run without noise on **made-up or public** data, with errors showing."""

    def rehearse(self, data: Any, box: Any, basis: Any) -> NDArray[np.float64]:
        """What would be released without noise."""
        ...


def clipped(values: NDArray[np.float64], range: tuple[float, float] | None) -> NDArray[np.float64]:
    """What is finite of a rehearsal brought into the declared range, as a release does."""
    return values if range is None else np.where(np.isfinite(values), np.clip(values, *range), values)


@runtime_checkable
class Additive(Rehearsable, Protocol):
    """One that is a sum over records: what each of some made-up records adds to what ``rehearse`` returns."""

    def influence(self, box: Any, basis: Any, n: int) -> Callable[[Any], NDArray[np.float64]]:
        """A function of records, one row for each."""
        ...


@runtime_checkable
class InsideNoise(Protocol):
    """A target that draws noise while its coefficients are computed, and pays for it out of the grant."""

    @property
    def inside(self) -> str:
        """What draws noise before the door, as a ledger calls it."""
        ...

    def door(self, privacy: Privacy) -> Privacy:
        """The part of the grant that the noise at the door may use."""
        ...

    def together(self, mu: float | None) -> float | None:
        """The ratio of sensitivity to noise of all of it, from that at the door; None unless all of it is Gaussian."""
        ...


def door_of(target: Target, privacy: Privacy) -> Privacy:
    """The part of the grant that the noise at the door may use: all of it, but for noise inside."""
    return target.door(privacy) if isinstance(target, InsideNoise) else privacy
