"""Published mean losses as a function of parameters, collected from people's devices; and where they are lowest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sfumato.bases.lattice.bernstein import Bernstein, basis_from_json
from sfumato.bases.lattice.chebyshev import LeastSquares, TotalDegree, chebyshev_points
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.smooth_losses import SMOOTH
from sfumato.bases.unit import from_unit
from sfumato.checks import finite_number, one_of, probability, shown
from sfumato.codec import exact_keys
from sfumato.core.box import Box
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.collected.density import check_reports
from sfumato.releases.collected.possible import PossibleLoss
from sfumato.releases.function import FunctionRelease
from sfumato.releases.grid import grid_points
from sfumato.releases.uncertainty import sup_noise

Floats = NDArray[np.float64]

OWN = "own"
NAMES = (*SMOOTH, OWN)
_POINTS = 2**17  # of a grid on which a surface is looked at as a whole
_FINEST = 64  # times the degree: how many points along an axis are worth it
_STARTS = 12


@dataclass(frozen=True)
class Minimum:
    """Where a mean loss is lowest, as far as can be told, and what is certain of it.

    Parameters
    ----------
    parameters
        The point.
    value
        The released surface there, with the ridge.
    low, high
        Limits of the surface without its noise there, with the ridge.
    gap
        How far, at most, the surface without its noise is above its own lowest point there.
    confidence
        With which limits and gap hold, over the noise.
    """

    parameters: tuple[float, ...]
    value: float
    low: float
    high: float
    gap: float
    confidence: float


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectedRisk(FunctionRelease):
    """A mean loss that people's devices reported, a bit each: a polynomial of the parameters.

    Parameters
    ----------
    loss
        Its name; ``"own"`` of a function that only devices know.
    ridge
        What ``minimise`` adds, times half the square of the parameters' length.
    reports
        How many reports it rests on: public.
    range
        What the loss of each person was clipped to; None in older files, which do not tell.
    """

    kind: ClassVar[str] = "collected-risk"

    loss: str
    ridge: float
    reports: int
    range: tuple[float, float] | None = None

    @classmethod
    def of(cls, protocol: Any, values: Floats, variance: float, reports: int) -> Self:
        """The surface through a protocol's lattice; ``variance`` is that of a mean answer."""
        degree = tuple(size - 1 for size in protocol.shape)
        fit = TotalDegree if protocol.total else LeastSquares
        even = protocol.bernstein is not None
        basis = Bernstein(degree, protocol.bernstein) if even else fit(degree, protocol.degree)
        about = (
            ("target", "mean loss, collected from devices"),
            ("loss", protocol.loss if protocol.loss != OWN else "a function of the protocol's maker"),
            *((("response", protocol.response),) if protocol.response is not None else ()),
            ("range", " to ".join(f"{end:.6g}" for end in protocol.range)),
            ("lattice", " x ".join(map(str, protocol.shape))),
            ("randomizer", protocol.randomizer),
            ("ridge", f"{protocol.ridge:g}"),
            ("reports", str(reports)),
        )
        law = LocalLaw(protocol.randomizer, len(values), math.sqrt(protocol.spread(variance)))
        return cls(
            guarantee=protocol.guarantee, law=law, target=about,  # type: ignore[arg-type]
            expansion=Expansion(basis, protocol.parameters, values), loss=protocol.loss,
            ridge=protocol.ridge, reports=reports, range=protocol.range,
        )  # fmt: skip

    @property
    def _degrees(self) -> tuple[int, ...]:
        """Of the polynomial along each parameter."""
        kept = self.basis.kept if isinstance(self.basis, LeastSquares) else math.inf
        return tuple(int(min(degree, kept)) for degree in self.basis.degrees(self.box))

    def minimise(self, ridge: float | None = None, confidence: float = 0.95) -> Minimum:
        """The lowest point, found by projected search from several starts and certified against the band.

        Of a named loss it is sought on the nearest mean loss that people can have, which noise moves far less than the
        polynomial; of a loss of the protocol's maker's on the polynomial itself.

        Parameters
        ----------
        ridge
            What is added, times half the square of the parameters' length; by default the protocol's.

        Formal guarantee: with probability at least ``confidence`` over the noise, up to the normal approximation of
        sums of that many reports, limits and gap hold for the polynomial of the people's own mean loss on the lattice
        (docs/proofs/risk.md). How far that polynomial is from the mean loss is not in it.
        """
        if any(self.expansion.derivatives):
            raise ParameterError("minimise the surface itself, not its derivative")
        weight = self.ridge if ridge is None else finite_number("ridge", ridge)
        if weight < 0:
            raise ParameterError.of("ridge", f"must be zero or positive, got ridge={ridge!r}")
        probability("confidence", confidence)
        axes, slack = self._grid()
        points, _ = grid_points(self.box, axes)
        values = self(points, "clip") + _penalty(points, weight)
        place = self._lowest_possible(weight) if self.possible else self._lowest_released(points, values, weight)
        value = float((self(place[None, :], "clip") + _penalty(place[None, :], weight))[0])
        # A polynomial is nowhere further from the middle of its values on the grid than ``slack`` times those are.
        middle, half = (values.max() + values.min()) / 2, (values.max() - values.min()) / 2
        lowest = min(float(middle - slack * half), value)
        wrong = sup_noise(self.basis, self.box, self.law, confidence)[1]
        low, high = value - wrong, value + wrong
        return Minimum(tuple(place.tolist()), value, low, high, value - lowest + 2 * wrong, confidence)

    @cached_property
    def possible(self) -> PossibleLoss | None:
        """The nearest mean loss that people can have; None of a loss that only devices know."""
        if self.loss == OWN or self.range is None:
            return None
        return PossibleLoss.nearest(self.loss, self.range, self.basis.lattice(self.box), self.coefficients)

    def _grid(self) -> tuple[list[Floats], float]:
        """Chebyshev points along each parameter with both ends, and what lies between them (Ehlich and Zeller)."""
        most = int(_POINTS ** (1 / self.box.dimension))
        axes, slack = [], 1.0
        for axis, degree in enumerate(self._degrees):
            along = max(2, degree)  # a ridge is a square
            count = max(2 * along, min(_FINEST * along, most))
            unit = np.concatenate([[0.0], chebyshev_points(count), [1.0]])
            kind = self.box.intervals()[axis]
            axes.append(from_unit(Box([(kind.low, kind.high)]), unit[:, None])[:, 0])
            slack /= math.cos(along * math.pi / (2 * count))
        return axes, slack

    def _lowest_possible(self, ridge: float) -> Floats:
        """Of the nearest mean loss that people can have."""
        possible, points = self.possible, self.basis.lattice(self.box)
        assert possible is not None

        def surface(at: Floats) -> float:
            return float((possible(at[None, :]) + _penalty(at[None, :], ridge))[0])

        return self._search(points, possible(points) + _penalty(points, ridge), surface)

    def _lowest_released(self, points: Floats, values: Floats, ridge: float) -> Floats:
        """Of the polynomial."""
        slopes = [self.expansion.derivative(axis) for axis in range(self.box.dimension)]

        def surface(at: Floats) -> float:
            return float((self(at[None, :], "clip") + _penalty(at[None, :], ridge))[0])

        def slope(at: Floats) -> Floats:
            return np.array([float(one(at[None, :], "clip")[0]) for one in slopes]) + ridge * at

        return self._search(points, values, surface, slope)

    def _search(
        self,
        points: Floats,
        values: Floats,
        surface: Callable[[Floats], float],
        slope: Callable[[Floats], Floats] | None = None,
    ) -> Floats:
        """The lowest of what a projected quasi-Newton search finds from the lowest of some points, and of them."""
        starts = points[np.argsort(values, kind="stable")[:_STARTS]]
        bounds, found = list(zip(self.box.low, self.box.high, strict=True)), list(starts)
        for start in starts:
            stop = minimize(surface, start, jac=slope, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x
            found.append(np.clip(stop, self.box.low, self.box.high))
        return np.asarray(found[int(np.argmin([surface(one) for one in found]))])

    def _approximation_error(self) -> float:
        raise ParameterError(
            "include='total' is not for a surface that devices told: how far its polynomial is from the mean loss "
            "depends on the loss; include='noise' always works"
        )

    def __repr__(self) -> str:
        return f"<CollectedRisk on {self.box!r} from {self.reports} reports: {self.guarantee}>"

    # --- as a file --------------------------------------------------------------------------------------------

    def fields(self) -> dict[str, Any]:
        return {
            "basis": self.basis.to_json(),
            "derivatives": list(self.expansion.derivatives),
            "loss": self.loss,
            "ridge": self.ridge,
            "reports": self.reports,
            **({} if self.range is None else {"range": list(self.range)}),
        }

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(
            fields, {"basis", "derivatives", "loss", "ridge", "reports", *({"range"} & {*fields})}, "the content"
        )
        exact_keys(arrays, {"coefficients"}, "the file")
        check_reports(fields["reports"], common)
        basis, coefficients = basis_from_json(fields["basis"]), arrays["coefficients"]
        if not isinstance(basis, LeastSquares | Bernstein):
            raise ParameterError("a mean loss is a polynomial")
        if not coefficients.shape == (common["law"].size,) == (basis.size(box),):
            raise ParameterError("the noise law, the basis and the coefficients differ in size")
        orders = tuple(fields["derivatives"])
        if len(orders) != box.dimension or not all(type(d) is int and 0 <= d <= 100 for d in orders):
            raise ParameterError(f"derivatives must be one small whole number per column, got {orders!r}")
        ridge = finite_number("ridge", fields["ridge"])
        if box.dimension > 3 or ridge < 0:
            raise ParameterError("a mean loss has one to three parameters, and a ridge that is not negative")
        return cls(
            **common, expansion=Expansion(basis, box, coefficients, orders), loss=one_of("loss", fields["loss"], NAMES),
            ridge=ridge, reports=fields["reports"], range=_range_of(fields["range"]) if "range" in fields else None,
        )  # fmt: skip


def _penalty(points: Floats, ridge: float) -> Floats:
    return np.asarray(ridge / 2 * (points**2).sum(axis=1))


def _range_of(told: Any) -> tuple[float, float]:
    """What losses were clipped to, as a file has it."""
    if not isinstance(told, list) or len(told) != 2:
        raise ParameterError(f"a loss is clipped to a range of two numbers, got {shown(told)}")
    low, high = (finite_number("range", end) for end in told)
    if not 0 < high - low < math.inf or not math.isfinite(1 / (high - low)):
        raise ParameterError(f"a loss is clipped to a range with low < high, got {told!r}")
    return low, high
