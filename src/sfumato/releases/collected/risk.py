"""Published mean losses as a function of parameters, collected from people's devices; and where they are lowest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sfumato.bases.lattice.bernstein import Bernstein, basis_from_json
from sfumato.bases.lattice.chebyshev import LeastSquares, chebyshev_points
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.unit import from_unit
from sfumato.checks import finite_number, one_of, probability
from sfumato.codec import exact_keys
from sfumato.core.box import Box
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.collected.density import check_reports
from sfumato.releases.function import FunctionRelease
from sfumato.releases.grid import grid_points
from sfumato.releases.uncertainty import sup_noise

Floats = NDArray[np.float64]

NAMES = ("logistic", "squared", "huber", "smoothed-hinge", "own")
_POINTS = 2**17  # of a grid on which a surface is looked at as a whole
_FINEST = 64  # times the degree: how many points along an axis are worth it
_STARTS = 12


@dataclass(frozen=True)
class Minimum:
    """The lowest point of a surface that was found, and what is certain of it.

    Parameters
    ----------
    parameters
        Where it is.
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
    """

    kind: ClassVar[str] = "collected-risk"

    loss: str
    ridge: float
    reports: int

    @classmethod
    def of(cls, protocol: Any, values: Floats, variance: float, reports: int) -> Self:
        """The surface through a protocol's lattice; ``variance`` is that of a mean answer."""
        degree = tuple(size - 1 for size in protocol.shape)
        even = protocol.bernstein is not None
        basis = Bernstein(degree, protocol.bernstein) if even else LeastSquares(degree, protocol.degree)
        about = (
            ("target", "mean loss, collected from devices"),
            ("loss", protocol.loss if protocol.loss != "own" else "a function of the protocol's maker"),
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
            ridge=protocol.ridge, reports=reports,
        )  # fmt: skip

    @property
    def _degrees(self) -> tuple[int, ...]:
        """Of the polynomial along each parameter."""
        kept = self.basis.kept if isinstance(self.basis, LeastSquares) else math.inf
        return tuple(int(min(degree, kept)) for degree in self.basis.degrees(self.box))

    def minimise(self, ridge: float | None = None, confidence: float = 0.95) -> Minimum:
        """The lowest point: the best that projected search finds from several starts, certified against the band.

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
        values = self(points, "clip") + weight / 2 * (points**2).sum(axis=1)
        place, value = self._search(points[np.argsort(values, kind="stable")[:_STARTS]], weight)
        # A polynomial is nowhere further from the middle of its values on the grid than ``slack`` times those are.
        middle, half = (values.max() + values.min()) / 2, (values.max() - values.min()) / 2
        lowest = min(float(middle - slack * half), value)
        wrong = sup_noise(self.basis, self.box, self.law, confidence)[1]
        low, high = value - wrong, value + wrong
        return Minimum(tuple(place.tolist()), value, low, high, value - lowest + 2 * wrong, confidence)

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

    def _search(self, starts: Floats, ridge: float) -> tuple[Floats, float]:
        """The lowest of what a projected quasi-Newton search finds from each of some points, and from them."""
        slopes = [self.expansion.derivative(axis) for axis in range(self.box.dimension)]

        def surface(at: Floats) -> tuple[float, Floats]:
            point = at[None, :]
            slope = np.array([float(one(point, "clip")[0]) for one in slopes])
            return float(self(point, "clip")[0] + ridge / 2 * (at @ at)), slope + ridge * at

        bounds = list(zip(self.box.low, self.box.high, strict=True))
        found = list(starts)
        for start in starts:
            stop = minimize(surface, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x
            found.append(np.clip(stop, self.box.low, self.box.high))
        values = [surface(one)[0] for one in found]
        best = int(np.argmin(values))
        return found[best], values[best]

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
        }

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"basis", "derivatives", "loss", "ridge", "reports"}, "the content")
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
            ridge=ridge, reports=fields["reports"],
        )  # fmt: skip
