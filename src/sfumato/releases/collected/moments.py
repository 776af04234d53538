"""Published second moments of scaled columns and a response, collected from people's devices: a linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import frozen
from sfumato.checks import finite_number, positive_number, probability, true_or_false
from sfumato.codec import exact_keys
from sfumato.core.box import Box, Categorical
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.collected.linear import CollectedLinear
from sfumato.releases.summary.models import Model

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectedMoments(CollectedLinear):
    """Moments of records of length one, ``u = z / |z|``, from which a linear model follows.

    Parameters
    ----------
    second_moments, cross_moments
        The mean of ``u u'`` and of ``y u`` (read-only): unbiased, and so not always those of any people. ``z`` is a
        constant and the scaled columns; y is -1 or 1, or a number times ``constant / |z|``.
    public
        Whether the second moments are those of public records, and hold no noise.
    deviations
        Of the noise in a number of the second moments and in one of the cross moments, root mean squares. None in the
        first files, which have one for both in the noise law, from above.
    """

    kind: ClassVar[str] = "collected-moments"

    second_moments: Floats
    cross_moments: Floats
    public: bool
    deviations: tuple[float, float] | None

    def __post_init__(self) -> None:
        size = len(self.terms) + 1
        for name, shape in (("second_moments", (size, size)), ("cross_moments", (size,))):
            object.__setattr__(self, name, frozen(getattr(self, name)).reshape(shape))

    @classmethod
    def of(cls, protocol: Any, second: Floats, cross: Floats, reports: int) -> Self:
        """The release that follows from a protocol's moments."""
        public = protocol.second_moments is not None
        about = (
            ("target", "linear model, collected from devices"),
            ("response", protocol.response),
            ("randomizer", "privunit"),
            ("reports", str(reports)),
            *((("second moments", "public"),) if public else ()),
        )
        law = LocalLaw("privunit", protocol.questions, math.sqrt(protocol.expected()[1] / reports))
        second_sd, cross_sd = (math.sqrt(one / reports) for one in protocol.variances)
        return cls(
            guarantee=protocol.guarantee, law=law, target=about, domain=protocol.box, answer=protocol.response,  # type: ignore[arg-type]
            second_moments=second, cross_moments=cross, scales=protocol.scales, constant=protocol.constant,
            public=public, deviations=(second_sd, cross_sd), reports=reports,
            circles=protocol.circles,
        )  # fmt: skip

    @property
    def _deviations(self) -> tuple[float, float]:
        return self.deviations or (0.0 if self.public else self.law.deviation, self.law.deviation)

    @property
    def noise_sd(self) -> float:
        """The standard deviation of a number of the moments that hold noise, root mean square."""
        (second, cross), size = self._deviations, len(self.cross_moments)
        return cross if self.public else math.sqrt((size * second**2 + cross**2) / (size + 1))

    @property
    def ridge(self) -> float:
        """How small an eigenvalue of the second moments must be to be noise: what ``fit`` uses if it is not told.

        Those of a matrix of noise have this root mean square. Public second moments have none: a direction whose
        eigenvalue is below the noise of the cross moments then has slopes that are noise.
        """
        second, cross = self._deviations
        return cross if self.public else second * math.sqrt(len(self.cross_moments))

    # --- the model --------------------------------------------------------------------------------------------

    def fit(self, ridge: float | None = None) -> Model:
        """The linear model in the columns' units; of two categories, the second is predicted where it is positive.

        Parameters
        ----------
        ridge
            Eigenvalues ``l`` of the second moments count as ``(l**2 + ridge**2) / l``; by default as the noise asks.
        """
        return self.model_of(self._slopes(ridge), self.constant)  # what was told is y in [-1, 1], times constant / |z|

    def _inverse(self, ridge: float | None) -> Floats:
        """The second moments inverted, as far as they are not noise."""
        small = self.ridge if ridge is None else positive_number("ridge", ridge)
        values, vectors = np.linalg.eigh(self.second_moments)
        return np.asarray((vectors * (values / (values**2 + small**2))) @ vectors.T)

    def _slopes(self, ridge: float | None = None) -> Floats:
        return np.asarray(self._inverse(ridge) @ self.cross_moments)

    def slopes(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Slopes of the scaled columns, and how far off noise in the cross moments puts each, with this confidence.

        Noise in the second moments, and what the ridge takes away, are not in it.
        """
        from statistics import NormalDist

        width = NormalDist().inv_cdf((1 + probability("confidence", confidence)) / 2) * self.law.deviation
        inverse = self._inverse(None)
        return self._slopes()[1:], np.asarray(width * np.linalg.norm(inverse, axis=1))[1:]

    def __repr__(self) -> str:
        return f"<CollectedMoments of {len(self.columns)} columns and {self.answer!r}: {self.guarantee}>"

    # --- as a file --------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Floats]:
        return {"second_moments": self.second_moments, "cross_moments": self.cross_moments}

    def fields(self) -> dict[str, Any]:
        return {
            **self.shared_fields(),
            "public": self.public,
            **({} if self.deviations is None else {"deviations": list(self.deviations)}),
        }

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        keys = {"response", "scales", "constant", "public", "reports", *({"circles", "deviations"} & {*fields})}
        exact_keys(fields, keys, "the content")
        exact_keys(arrays, {"second_moments", "cross_moments"}, "the file")
        told, size = cls.checked(common, box, fields)
        response = box.columns[box.names.index(told["answer"])]
        second, cross = arrays["second_moments"], arrays["cross_moments"]
        if second.shape != (size, size) or cross.shape != (size,) or not (second == second.T).all():
            raise ParameterError(f"moments of {size} numbers are a symmetric matrix and a vector, the file has others")
        public, numeric = true_or_false("public", fields["public"]), not isinstance(response, Categorical)
        if common["law"].size != size + int(numeric) + (0 if public else size * (size + 1) // 2):
            raise ParameterError("the noise law speaks of another number of moments")
        deviations = None
        if "deviations" in fields:
            own, rest = (finite_number("a deviation", value) for value in fields["deviations"])
            most = common["law"].deviation * (1 + 1e-9)
            if not (own == 0 if public else 0 < own <= most) or not 0 < rest <= most:
                raise ParameterError("deviations are positive, at most that of the noise law, and of public moments 0")
            deviations = own, rest
        return cls(**common, **told, second_moments=second, cross_moments=cross, public=public, deviations=deviations)
