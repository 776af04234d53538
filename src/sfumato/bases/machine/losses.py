"""Losses of regularised learners, with the constants that privacy rests on.

A *margin* loss is a function of ``y f(x)`` with y = -1 or 1; a *residual* loss of ``f(x) - t`` with t in [-1, 1], the
response brought to that range by its declared bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from sfumato.checks import one_of, positive_number, shown
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.values import silently

Floats = NDArray[np.float64]
Curve = Callable[[Floats], ArrayLike]

# Where a user's loss is checked against what it declares: everywhere that margins usually are, and far beyond.
_SAMPLES = np.unique(np.round(np.concatenate([np.linspace(-6, 6, 2401), np.linspace(-60, 60, 1201)]), 6))


class Loss:
    """A convex function of a margin or a residual; ``lipschitz`` and ``curvature`` bound its derivatives everywhere.

    ``curvature`` is None for a loss that is not twice continuously differentiable, ``lipschitz`` for one whose slope
    has no bound.
    """

    name: str
    on: str = "margin"
    centre: float = 0.0  # derivatives are asked for at the margin minus this, which keeps digits near a corner
    lipschitz: float | None = 1.0
    curvature: float | None = None
    chances: bool = False  # whether its minimiser is the logit of a chance

    def slope(self, at: Floats) -> Floats:
        """The derivative."""
        raise ParameterTypeError(f"{self.name} has no slope")

    def bend(self, at: Floats) -> Floats:
        """The second derivative."""
        raise ParameterTypeError(f"{self.name} has no second derivative")

    def steepest(self, C: float, norm: float) -> float:  # noqa: N803 the field's name
        """The Lipschitz constant that output noise may rest on: a bound on the slope at every noiseless minimiser."""
        assert self.lipschitz is not None
        return self.lipschitz

    @property
    def smooth(self) -> bool:
        """Whether noise may be put into the objective: globally Lipschitz and twice continuously differentiable."""
        return self.lipschitz is not None and self.curvature is not None

    def to_json(self) -> dict[str, Any]:
        """Plain data from which a release file works out its constants again."""
        keys = _PARAMETERS.get(self.name, ()) if self.name in NAMED else _DECLARED
        return {"name": self.name, **{key: getattr(self, key) for key in keys}}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return self.name


class Hinge(Loss):
    """``max(0, 1 - m)``: the support vector machine's."""

    name, centre = "hinge", 1.0


class Logistic(Loss):
    """``log(1 + exp(-m))``."""

    name, curvature, chances = "logistic", 0.25, True

    def slope(self, at: Floats) -> Floats:
        return np.asarray(-expit(-at))

    def bend(self, at: Floats) -> Floats:
        chance = expit(-at)
        return np.asarray(chance * (1 - chance))


class Squared(Loss):
    """``(f - t)^2``. Its slope is bounded at minimisers only, where ``|f| <= kappa sqrt(C / 2)``."""

    name, on, lipschitz, curvature = "squared", "residual", None, 2.0

    def slope(self, at: Floats) -> Floats:
        return 2.0 * at

    def bend(self, at: Floats) -> Floats:
        return np.full_like(at, 2.0)

    def steepest(self, C: float, norm: float) -> float:  # noqa: N803
        return 2.0 * (1 + norm * math.sqrt(C / 2)) * (1 + 2.0**-48)


@dataclass(frozen=True, repr=False)
class SmoothedHuber(Loss):
    """``h^2 (sqrt(1 + (r / h)^2) - 1)``: half the square of small residuals, h times the size of large ones.

    ``threshold`` is h, in units of half the response's range.

    >>> SmoothedHuber(0.5).lipschitz
    0.5
    """

    threshold: float = 1.0
    name, on, curvature = "huber", "residual", 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", positive_number("threshold", self.threshold))
        object.__setattr__(self, "lipschitz", self.threshold)

    def __repr__(self) -> str:
        return f"huber (threshold {self.threshold:g})"

    def slope(self, at: Floats) -> Floats:
        return np.asarray(at / np.hypot(1.0, at / self.threshold))

    def bend(self, at: Floats) -> Floats:
        return np.asarray(np.hypot(1.0, at / self.threshold) ** -3.0)


@dataclass(frozen=True, repr=False)
class SmoothedHinge(Loss):
    """``h log(1 + exp((1 - m) / h))``: the hinge with its corner rounded over a width of h."""

    width: float = 0.5
    name, centre = "smoothed-hinge", 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive_number("width", self.width))
        object.__setattr__(self, "curvature", 0.25 / self.width)

    def __repr__(self) -> str:
        return f"smoothed-hinge (width {self.width:g})"

    def slope(self, at: Floats) -> Floats:
        return np.asarray(-expit(-at / self.width))

    def bend(self, at: Floats) -> Floats:
        chance = expit(-at / self.width)
        return np.asarray(chance * (1 - chance) / self.width)


@dataclass(frozen=True, repr=False, eq=False)
class UserLoss(Loss):
    """A loss of your own, which is public: its first two derivatives and what they are bounded by.

    Parameters
    ----------
    slope_of, bend_of
        The first and second derivative, vectorised. The second must be continuous.
    lipschitz, curvature
        Bounds on their sizes **everywhere**. They are checked on samples of the loss, and enforced on the first.
    on
        ``"margin"`` or ``"residual"``.
    convex
        Must be True: nothing here holds otherwise.
    """

    slope_of: Curve
    bend_of: Curve
    lipschitz: float
    curvature: float
    on: str = "margin"
    convex: bool = True
    name: str = "user"

    def __post_init__(self) -> None:
        if not callable(self.slope_of) or not callable(self.bend_of):
            raise ParameterTypeError("slope_of and bend_of must be callable: the loss's first two derivatives")
        if self.convex is not True:
            raise ParameterError(f"a loss must be convex, got convex={self.convex!r}")
        positive_number("lipschitz", self.lipschitz)
        positive_number("curvature", self.curvature)
        one_of("on", self.on, ("margin", "residual"))
        if self.name in NAMED:
            raise ParameterError(
                f"name={self.name!r} is that of a loss of sfumato; call yours something else", parameter="name"
            )
        self._check()

    def _check(self) -> None:
        """Refuse a loss that contradicts its declared constants anywhere on a public set of samples."""
        with np.errstate(all="ignore"):
            slope, bend = (np.asarray(f(_SAMPLES), dtype=np.float64) for f in (self.slope_of, self.bend_of))
        if slope.shape != _SAMPLES.shape or bend.shape != _SAMPLES.shape:
            raise ParameterError("slope_of and bend_of must return one number for each that they are given")
        finite = np.isfinite(slope) & np.isfinite(bend)
        self._refuse(~finite, "is finite")
        rises = np.diff(slope) / np.diff(_SAMPLES)
        wrong = [
            (np.abs(slope) > self.lipschitz * (1 + 1e-9), f"has slopes within lipschitz={self.lipschitz!r}"),
            (bend < -1e-9 * self.curvature, "is convex"),
            (bend > self.curvature * (1 + 1e-9), f"has second derivatives within curvature={self.curvature!r}"),
            (np.append(rises, 0.0) > self.curvature * (1 + 1e-6), f"bends within curvature={self.curvature!r}"),
            (np.append(rises, 0.0) < -1e-6 * self.curvature, "has a slope that never falls (it is not convex)"),
            (np.append(self._mismatch(slope, bend), 0.0) > 1e-2 * self.curvature, "has bend_of the slope of slope_of"),
        ]
        for where, claim in wrong:
            self._refuse(where, claim)

    @staticmethod
    def _refuse(where: NDArray[np.bool_], claim: str) -> None:
        if where.any():
            at = float(_SAMPLES[np.flatnonzero(where)[0]])
            raise ParameterError(f"the loss declares that it {claim}, which is false at {at:g}")

    @staticmethod
    def _mismatch(slope: Floats, bend: Floats) -> Floats:
        """How far slopes between close samples differ from the second derivative (by its own change, at most)."""
        close = np.diff(_SAMPLES) < 0.01
        between = (bend[1:] + bend[:-1]) / 2
        allowed = np.abs(np.diff(bend))
        return np.where(close, np.maximum(0, np.abs(np.diff(slope) / np.diff(_SAMPLES) - between) - allowed), 0.0)

    def slope(self, at: Floats) -> Floats:
        return np.clip(_guarded(self.slope_of, at), -self.lipschitz, self.lipschitz)

    def bend(self, at: Floats) -> Floats:
        return np.clip(_guarded(self.bend_of, at), 0.0, self.curvature)


def _guarded(curve: Curve, at: Floats) -> Floats:
    """A user's function at private numbers: nothing that it does may show, and one number takes nothing from others."""
    try:
        with silently():
            values = np.broadcast_to(np.asarray(curve(at), dtype=np.float64), at.shape)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an error would be an output
        if at.size == 1:
            return np.zeros_like(at)
        return np.concatenate([_guarded(curve, one) for one in at.reshape(-1, 1)]).reshape(at.shape)
    return np.nan_to_num(values, nan=0.0)


@dataclass(frozen=True, repr=False, eq=False)
class Declared(Loss):
    """What a file tells of a caller's own loss: the constants that were declared, and no code."""

    name: str
    lipschitz: float
    curvature: float

    def __post_init__(self) -> None:
        positive_number("lipschitz", self.lipschitz)
        positive_number("curvature", self.curvature)


_DECLARED = ("lipschitz", "curvature")
_PARAMETERS = {"huber": ("threshold",), "smoothed-hinge": ("width",)}
NAMED: dict[str, Callable[..., Loss]] = {
    "hinge": Hinge,
    "logistic": Logistic,
    "squared": Squared,
    "huber": SmoothedHuber,
    "smoothed-hinge": SmoothedHinge,
}


def loss_of(loss: Any) -> Loss:
    """A loss, from itself or from its name."""
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise ParameterTypeError.of(
            "loss", f"must be a name or a loss such as sf.SmoothedHuber(), got loss={shown(loss)}"
        )
    return NAMED[one_of("loss", loss, tuple(NAMED))]()


def loss_from_json(data: Mapping[str, Any]) -> Loss:
    """Rebuild a loss; one of a caller's own without its code."""
    rest = {key: value for key, value in data.items() if key != "name"}
    name = data["name"]
    if not isinstance(name, str) or set(rest) != set(_PARAMETERS.get(name, () if name in NAMED else _DECLARED)):
        raise ParameterError(f"the loss has unexpected or missing entries, got {sorted(map(str, data))}")
    return NAMED[name](**rest) if name in NAMED else Declared(name, **rest)
