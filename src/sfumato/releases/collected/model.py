"""A published linear model that walked once over reports of people's devices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import frozen
from sfumato.checks import one_of, whole_number
from sfumato.codec import exact_keys
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import copies_law
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.collected.linear import CollectedLinear
from sfumato.releases.summary.models import Model

Floats = NDArray[np.float64]

LOSSES = ("hinge", "logistic", "absolute")
GAUSSIAN = "gaussian-copies"
_MOST_DEGREE = 6
_NEARLY = 1e-6  # by which deviations may differ that different machines worked out


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectedModel(CollectedLinear):
    """A linear model of length one at most, by stochastic gradients of copies that people's devices sent.

    Parameters
    ----------
    weights
        Of the constant and the scaled columns (read-only).
    cross_moments
        The mean of what copies are of, unbiased (read-only): ``y z / |z|``, or ``(z, y) / |(z, y)|`` for a number.
    loss
        Its name.
    """

    kind: ClassVar[str] = "collected-model"

    weights: Floats
    cross_moments: Floats
    loss: str

    def __post_init__(self) -> None:
        for name in ("weights", "cross_moments"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @classmethod
    def of(cls, protocol: Any, weights: Floats, cross: Floats, variance: float, reports: int) -> Self:
        """The release of a protocol's walk; ``variance`` is that of a cross moment."""
        about = (
            ("target", "linear model by gradients, collected from devices"),
            ("response", protocol.response),
            ("loss", protocol.loss),
            ("degree", str(protocol.degree)),
            ("steps", str(protocol.steps)),
            ("algorithm", str(protocol.algorithm)),
            ("randomizer", protocol.channel_name),
            ("gradient of one person", f"deviation {protocol.gradient_deviation:.3g} of each number"),
            ("reports", str(reports)),
        )
        law = LocalLaw(protocol.channel_name, len(cross), math.sqrt(variance))
        return cls(
            guarantee=protocol.guarantee, law=law, target=about, domain=protocol.box, answer=protocol.response,  # type: ignore[arg-type]
            scales=protocol.scales, constant=protocol.constant, reports=reports, circles=protocol.circles,
            weights=weights, cross_moments=cross, loss=protocol.loss,
        )  # fmt: skip

    def fit(self) -> Model:
        """The linear model in the columns' units; of two categories, the second is predicted where it is positive."""
        return self.model_of(self.weights)

    def __repr__(self) -> str:
        return f"<CollectedModel of {len(self.columns)} columns and {self.answer!r}: {self.guarantee}>"

    # --- as a file --------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Floats]:
        return {"weights": self.weights, "cross_moments": self.cross_moments}

    def fields(self) -> dict[str, Any]:
        return {
            **self.shared_fields(),
            "loss": self.loss,
        }

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        keys = {"response", "scales", "constant", "loss", "reports", *({"circles"} & {*fields})}
        exact_keys(fields, keys, "the content")
        exact_keys(arrays, {"weights", "cross_moments"}, "the file")
        told, size = cls.checked(common, box, fields)
        numeric = not isinstance(box.columns[box.names.index(told["answer"])], Categorical)
        weights, cross = arrays["weights"], arrays["cross_moments"]
        if weights.shape != (size,) or not cross.shape == (size + int(numeric),) == (common["law"].size,):
            raise ParameterError(f"a model of {size} numbers has as many weights, the file has others")
        if common["law"].randomizer == GAUSSIAN:
            _check_copies(common, fields["reports"])
        return cls(**common, **told, weights=weights, cross_moments=cross, loss=one_of("loss", fields["loss"], LOSSES))


def _check_copies(common: dict[str, Any], reports: int) -> None:
    """Refuse a promise that is not that of the Gaussian noise of this deviation in each number of each copy."""
    law, promised = common["law"], common["guarantee"]
    copies = whole_number("degree", int(dict(common["target"])["degree"]), 1, _MOST_DEGREE) + 1
    noise = copies_law(copies, law.size, promised.epsilon, promised.delta).deviation
    # A number of a person's vector is at most one, and who is asked varies as well.
    expected = math.sqrt((noise**2 + 1) / reports)
    if not abs(law.deviation / expected - 1) <= _NEARLY:
        raise ParameterError(
            f"noise of deviation {law.deviation:.6g} in means of {reports} reports is not that of this promise, "
            f"{expected:.6g}"
        )
