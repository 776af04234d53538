"""Risk minimisation without a trusted collector: the mean loss as a function of one to three parameters.

Algorithms 2, 3 and 8 of the paper, mended (docs/proofs/risk.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.lattice.chebyshev import chebyshev_points
from sfumato.bases.smooth_losses import SMOOTH
from sfumato.checks import did_you_mean, finite_number, one_of, positive_integer, shown
from sfumato.codec import decode_box, encode_box
from sfumato.core.box import Box, Categorical, Interval
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.local.channels import State
from sfumato.local.protocol import Protocol, Words
from sfumato.values import confined

Floats = NDArray[np.float64]
Function = Callable[[Floats, Floats], float]

RANDOMIZERS = ("bit", "likelihood", "loglog", "laplace")
OWN, INTERCEPT = "own", "intercept"
_NOT_SMOOTH = ("hinge", "absolute")
_MOST_POINTS = 2**12  # of the lattice: with more, nobody is left for each
_MOST_ITERATIONS = 100
_STEEPEST = 1e6  # the most that a parameter can be, and a loss


@dataclass(frozen=True, init=False)
class RiskMinimization(Protocol):
    """The mean loss over the people, at any parameters: a surface whose lowest point is a model.

    Each person is asked for the own loss at one public point of a lattice of parameters, and tells one randomised bit.
    The server fits a polynomial to the lattice. Columns and a numeric response are brought to [-1, 1] by the box's
    bounds; a response of two categories is -1 or 1.

    Parameters
    ----------
    loss
        ``"logistic"``, ``"smoothed-hinge"`` (of the margin), ``"squared"``, ``"huber"`` (of the residual), or
        ``"own"``: a function of yours, attached by ``with_loss`` wherever records are encoded.
    parameters
        One to three ranges, as an ``sf.Box``. Of a named loss each is called like the column that it multiplies;
        ``"intercept"`` multiplies one.
    lattice, degree
        Points along each parameter (a number, or one for each), and the degree of the polynomial.
    total
        Whether ``degree`` is that along all parameters together (default), with less noise, or along each of them.
    response
        A column of the box: two categories, or a range. Losses of yours need none.
    randomizer
        ``"bit"`` (default); ``"likelihood"``, ``"loglog"`` and ``"laplace"`` are the paper's, mended.
    ridge
        The server adds ``ridge / 2 * |parameters|**2`` before it looks for the lowest point.
    range
        What the loss is clipped to. By default all that a named loss can be; of ``"own"`` it must be given.
    bernstein
        Instead of least squares: how often Bernstein's operator is iterated, on an even lattice of ``degree + 1``
        points, as in the paper.

    Formal guarantee: as every protocol, docs/proofs/randomizers.md, Theorems 3 to 5; whatever the loss is.

    >>> from sfumato.core.box import Box, Categorical
    >>> box = Box({"age": (20, 60), "ill": Categorical(["no", "yes"])})
    >>> weights = Box({"age": (-2, 2), "intercept": (-2, 2)})
    >>> RiskMinimization(box, 1.0, "logistic", weights, lattice=7, degree=4, response="ill", seed=1).questions
    49
    """

    loss: str = ""
    parameters: Any = None  # once checked, a box
    lattice: Any = 0
    degree: int = 0
    response: str | None = None
    randomizer: str = "bit"
    ridge: float = 0.0
    range: Any = None  # once checked, a pair
    bernstein: int | None = None
    total: bool | None = None  # once checked, not None; of one parameter False, where it makes no difference

    kind: ClassVar[str] = "risk"
    unwritten: ClassVar[dict[str, Any]] = {"response": None, "bernstein": None, "total": False}

    def __init__(
        self,
        box: Box,
        epsilon: float,
        loss: str,
        parameters: Box | None = None,
        *,
        lattice: int | tuple[int, ...],
        degree: int,
        response: str | None = None,
        randomizer: str = "bit",
        ridge: float = 0.0,
        range: tuple[float, float] | None = None,
        bernstein: int | None = None,
        total: bool | None = None,
        seed: int | None = None,
        users: int = 2**40,
        numbers: str = "given",
    ) -> None:
        given = {"box": box, "epsilon": epsilon, "loss": loss, "parameters": parameters, "lattice": lattice,
                 "degree": degree, "response": response, "randomizer": randomizer, "ridge": ridge, "range": range,
                 "bernstein": bernstein, "total": total, "seed": seed, "users": users, "numbers": numbers}  # fmt: skip
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    # --- what is refused --------------------------------------------------------------------------------------

    def check(self) -> None:
        if self.loss in _NOT_SMOOTH:
            raise ParameterError.of(
                "loss",
                f"{self.loss!r} is not smooth, and no polynomial comes near it: use sf.local.GeneralizedLinear, or one "
                f"of {', '.join(map(repr, SMOOTH))}",
            )
        one_of("loss", self.loss, (*SMOOTH, OWN))
        one_of("randomizer", self.randomizer, RANDOMIZERS)
        object.__setattr__(self, "parameters", self._checked_parameters())
        self._check_lattice()
        self._check_total()
        self._check_columns()
        object.__setattr__(self, "range", self._checked_range())
        ridge = finite_number("ridge", self.ridge)
        if not 0 <= ridge <= _STEEPEST:
            raise ParameterError.of("ridge", f"must lie in [0, {_STEEPEST:g}], got ridge={self.ridge!r}")
        object.__setattr__(self, "ridge", ridge)
        self.channel  # noqa: B018  (refuses an epsilon that the randomizer cannot serve)

    def _checked_parameters(self) -> Box:
        found = self.parameters
        if isinstance(found, Mapping) and set(found) == {"columns", "named"}:  # as a file has them
            found = decode_box({**found, "max_norm": None})
        if not isinstance(found, Box):
            raise ParameterTypeError.of(
                "parameters", f"must be an sf.Box of one to three ranges, such as sf.Box({{'age': (-2, 2)}}), got "
                f"{shown(found)}"
            )  # fmt: skip
        if found.dimension > 3:
            raise ParameterError.of(
                "parameters",
                f"must be one to three, got {found.dimension}: the lattice grows too fast; use sf.local.LinearModel",
            )
        for name, kind in zip(found.names, found.columns, strict=True):
            if type(kind) is not Interval or not max(abs(kind.low), abs(kind.high)) <= _STEEPEST:
                raise ParameterError.of(
                    "parameters", f"must be plain ranges within {_STEEPEST:g}, which {name!r} is not"
                )
        if found.max_norm is not None:
            raise ParameterError.of("parameters", "with max_norm have no meaning here: leave it out")
        return found

    def _check_lattice(self) -> None:
        many = isinstance(self.lattice, list | tuple)
        shape = tuple(positive_integer("lattice", n) for n in (self.lattice if many else [self.lattice]))
        shape = shape if many else shape * self.parameters.dimension
        if len(shape) != self.parameters.dimension or min(shape) < 2 or math.prod(shape) > _MOST_POINTS:
            raise ParameterError.of(
                "lattice",
                f"needs a number of 2 or more, or one for each parameter ({self.parameters.dimension}), and at most "
                f"{_MOST_POINTS:,} points in all, got lattice={self.lattice!r}",
            )
        object.__setattr__(self, "lattice", shape if many else shape[0])
        object.__setattr__(self, "degree", positive_integer("degree", self.degree))
        if self.bernstein is None and self.degree >= min(shape):
            raise ParameterError.of(
                "degree", f"must be below the points along each parameter ({min(shape)}), got degree={self.degree}"
            )
        if self.bernstein is not None:
            if positive_integer("bernstein", self.bernstein) > _MOST_ITERATIONS:
                raise ParameterError.of("bernstein", f"must be at most {_MOST_ITERATIONS}, got {self.bernstein!r}")
            if set(shape) != {self.degree + 1}:
                raise ParameterError.of(
                    "lattice", f"must be degree + 1 = {self.degree + 1} with bernstein=, got lattice={self.lattice!r}"
                )

    def _check_total(self) -> None:
        if self.total is not None and not isinstance(self.total, bool):
            raise ParameterTypeError.of("total", f"must be True or False, got total={shown(self.total)}")
        if self.total and self.bernstein is not None:
            raise ParameterError.of("total", "must be left out, or False, with bernstein=: its degree is along each")
        chosen = self.bernstein is None if self.total is None else self.total
        object.__setattr__(self, "total", chosen and self.parameters.dimension > 1)

    def _check_columns(self) -> None:
        """The response, and of a named loss which column each parameter multiplies."""
        if self.response is not None:
            if self.response not in self.box.names:
                near = did_you_mean(str(self.response), self.box.names)
                raise ParameterError.of(
                    "response", f"must be a column of the box, got response={self.response!r}{near}"
                )
            kind = self._kind(self.response)
            if isinstance(kind, Categorical) and len(kind.categories) != 2:
                raise ParameterError.of(
                    "response", f"must have two categories, or be a range; {self.response!r} has {len(kind.categories)}"
                )
        if self.loss == OWN:
            return
        if self.response is None:
            raise ParameterError.of("response", f"must be given: the {self.loss} loss is about a column of the box")
        for name in self.parameters.names:
            if name == INTERCEPT and name not in self.box.names:
                continue
            if name not in self.box.names or name == self.response:
                known = [other for other in (*self.box.names, INTERCEPT) if other != self.response]
                raise ParameterError.of(
                    "parameters",
                    f"must be called like the columns that they multiply, or {INTERCEPT!r}, got "
                    f"{name!r}{did_you_mean(name, known)}",
                )
            if isinstance(self._kind(name), Categorical):
                raise ParameterError.of(
                    "box", f"has categories in column {name!r}: declare numbers, such as 0 and 1 for each category"
                )

    def _checked_range(self) -> tuple[float, float]:
        if self.range is None:
            if self.loss == OWN:
                raise ParameterError.of("range", "must be given for a loss of yours: what it is clipped to")
            sizes = (max(abs(kind.low), abs(kind.high)) for kind in self.parameters.intervals())
            low, high = SMOOTH[self.loss].limits(sum(sizes))
            if not low < high:
                raise ParameterError.of(
                    "parameters", f"are so narrow that the {self.loss} loss is the same at all of them: widen them"
                )
            return low, high
        if isinstance(self.range, str) or np.ndim(self.range) != 1 or len(self.range) != 2:
            raise ParameterTypeError.of("range", f"must be a pair (low, high), got range={shown(self.range)}")
        low, high = (finite_number("range", end) for end in self.range)
        if not low < high or not math.isfinite(1 / (high - low)) or not high - low < math.inf:
            raise ParameterError.of("range", f"must have low < high, got range={self.range!r}")
        return low, high

    def _kind(self, name: str) -> Any:
        return self.box.columns[self.box.names.index(name)]

    # --- what is asked ----------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Lattice points along each parameter."""
        return self.lattice if isinstance(self.lattice, tuple) else (self.lattice,) * self.parameters.dimension

    @cached_property
    def points(self) -> Floats:
        """``(questions, p)``: the parameters at which people are asked for their loss, the last one fastest."""
        axes = [
            kind.low + (chebyshev_points(n) if self.bernstein is None else np.arange(n) / (n - 1)) * kind_width
            for n, kind, kind_width in zip(
                self.shape, self.parameters.intervals(), self.parameters.high - self.parameters.low, strict=True
            )
        ]
        return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)

    @property
    def questions(self) -> int:
        return math.prod(self.shape)

    @property
    def channel_name(self) -> str:
        return self.randomizer

    def settings(self) -> dict[str, Any]:
        box = encode_box(self.parameters)
        some = {"response": self.response, "bernstein": self.bernstein, "total": self.total or None}
        return {
            "loss": self.loss,
            "range": list(self.range),
            "parameters": {"columns": box["columns"], "named": box["named"]},
            "lattice": list(self.lattice) if isinstance(self.lattice, tuple) else self.lattice,
            "degree": self.degree,
            "randomizer": self.randomizer,
            "ridge": self.ridge,
            **{name: value for name, value in some.items() if value is not None},
        }

    # --- on the device ----------------------------------------------------------------------------------------

    def with_loss(self, function: Function) -> RiskMinimization:
        """The same protocol with a function of yours attached; a file only says that there is one.

        Parameters
        ----------
        function
            ``function(parameters, record)``: a number, for ``(p,)`` parameters and a record ``(d,)`` within the box,
            categories as their positions. Whatever it does (raise, print, return what is no number), the middle of
            ``range`` is told instead, and nothing shows.
        """
        if self.loss != OWN:
            raise ParameterError(f"the protocol's loss is {self.loss!r}: make it with loss='own' to attach yours")
        if not callable(function):
            raise ParameterTypeError.of("function", f"must be callable, got {shown(function)}")
        attached = replace(self)
        object.__setattr__(attached, "_function", function)
        return attached

    def _payload(self, codes: Floats, users: Words) -> NDArray[np.uint8]:
        if self.loss == OWN and not hasattr(self, "_function"):
            raise ParameterError("the protocol's loss is a function of its maker's: protocol.with_loss(function) first")
        return super()._payload(codes, users)

    def answers(self, columns: Floats, users: Words) -> NDArray[Any]:
        low, high = self.range
        losses = self._own(columns, users) if self.loss == OWN else self._named(columns, users)
        # Clipped first: what overflows for some records and not for others would warn, and that is an output.
        return np.asarray((np.clip(losses, low, high) - low) / (high - low))

    def _named(self, columns: Floats, users: Words) -> Floats:
        """``(m,)`` losses at the points asked for, or ``(m, questions)`` at all of them."""
        assert self.response is not None
        kinds = dict(zip(self.box.names, zip(self.box.columns, columns, strict=True), strict=True))
        factors = np.stack(
            [_scaled(*kinds[name]) if name in kinds else np.ones(columns.shape[1]) for name in self.parameters.names],
            axis=1,
        )
        y = _scaled(*kinds[self.response])
        if self.channel.whole:
            return SMOOTH[self.loss].at(factors @ self.points.T, y[:, None])
        return SMOOTH[self.loss].at((factors * self.points[self.asked(users)]).sum(axis=1), y)

    def _own(self, columns: Floats, users: Words) -> Floats:
        """The same by the attached function, one person at a time: nobody's record changes another's answer."""
        every = range(self.questions)
        asked = [every] * columns.shape[1] if self.channel.whole else self.asked(users)[:, None].tolist()
        found = np.array([[self._one(q, record) for q in own] for own, record in zip(asked, columns.T, strict=True)])
        found = found.reshape(columns.shape[1], -1)
        return found if self.channel.whole else found[:, 0]

    def _one(self, question: int, record: Floats) -> float:
        low, high = self.range
        point = self.points[question].copy()
        value = confined(math.nan, lambda: float(self._function(point, record.copy())))  # type: ignore[attr-defined]
        return value if math.isfinite(value) else low / 2 + high / 2

    # --- at the collector -------------------------------------------------------------------------------------

    @property
    def _width(self) -> float:
        return float(self.range[1] - self.range[0])

    def spread(self, variance: float) -> float:
        return self._width**2 * variance

    def pull(self, reach: float) -> float:
        return self._width * super().pull(reach)

    def release(self, state: State, reports: int) -> Any:
        from sfumato.releases.collected.risk import CollectedRisk

        means, variances = self.channel.estimate(state)
        return CollectedRisk.of(self, self.range[0] + self._width * means, float(variances.max()), reports)


def _scaled(kind: Any, values: Floats) -> Floats:
    """A column in [-1, 1]."""
    if isinstance(kind, Categorical):
        return np.asarray(2 * values / (len(kind.categories) - 1) - 1)
    return np.asarray(np.clip(2 * ((values - kind.low) / (kind.high - kind.low)) - 1, -1.0, 1.0))
