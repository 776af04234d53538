"""What a file must show of a published learner before its guarantee is believed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.bases.machine.descent import Descent, budget_of, certify_descent
from sfumato.bases.machine.landmarks import check_whitened
from sfumato.bases.machine.learner import ObjectiveNoise, certify_learner
from sfumato.checks import one_of, positive_number, whole_number
from sfumato.codec import decode_exponent, decode_fraction, exact_keys
from sfumato.core.objective import Objective, ObjectiveLaw, calibrate_objective
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError
from sfumato.releases.file.certified import as_stated, check_certificate, checked_noise

_MOST_STEPS = 2**16
_LEAST_BUDGET, _MOST_BUDGET = 2**20, 2**40  # descent.md in docs/proofs

if TYPE_CHECKING:
    from sfumato.releases.machine.machine import Handed


def objective_from_json(data: Any, common: dict[str, Any], handed: Handed) -> ObjectiveNoise:
    """Rebuild the noise inside an objective, refusing less of it, or less at the door, than the guarantee needs."""
    granted, features = handed.granted(common["guarantee"]), handed.features
    exact_keys(data, {"objective", "law", "epsilon", "delta"}, "the objective noise")
    exact_keys(data["law"], set(ObjectiveLaw.__dataclass_fields__), "the law of the objective noise")
    told = Objective(**data["objective"])
    if (told.size, told.blocks, told.norm) != (
        features.size,
        handed.response.outputs,
        features.norm,
    ):  # before sums over blocks
        raise ParameterError("the objective noise is that of another learner")
    law = ObjectiveLaw(
        one_of("kind", data["law"]["kind"], ("l2", "gaussian")),
        whole_number("size", data["law"]["size"], told.size * told.blocks, told.size * told.blocks),
        decode_exponent(data["law"]["exponent"]),
        decode_fraction("the scale of the objective noise", data["law"]["scale"]),
    )
    if granted.epsilon is None or granted.unit != "row":
        raise ParameterError("noise in the objective is for epsilon (not rho) and single rows")
    if not data["epsilon"] <= granted.epsilon or not data["delta"] <= granted.delta:
        raise ParameterError("the objective noise pays more than the guarantee promises")
    needed = calibrate_objective(told, Privacy(data["epsilon"], data["delta"], neighbours=granted.neighbours))
    if law.kind != needed.kind or law.deviation < needed.deviation * (1 - 1e-9):
        raise ParameterError("there is less noise in the objective than the guarantee needs")
    if law.exponent > needed.exponent:  # what rounding b leaves open, the noise at the door pays for
        raise ParameterError("the noise in the objective is on too coarse a grid")
    rest = (granted.epsilon - data["epsilon"], max(0.0, granted.delta - data["delta"]))
    if common["guarantee"].mu is not None or rest[0] <= 0:
        raise ParameterError("the guarantee leaves nothing for the noise at the door")
    checked_noise(common["law"], Privacy(*rest, neighbours=granted.neighbours))
    return ObjectiveNoise(told, law, data["epsilon"], data["delta"])


def descent_from_json(data: Any) -> Descent:
    """Rebuild the public numbers of gradient descent."""
    exact_keys(data, set(Descent.__dataclass_fields__), "the descent")
    steps = whole_number("steps", data["steps"], 1, _MOST_STEPS)
    budget = whole_number("budget", data["budget"], _LEAST_BUDGET, _MOST_BUDGET)
    return Descent(steps, budget, decode_exponent(data["exponent"]), positive_number("ball", data["ball"]))


def _check_descent(common: dict[str, Any], handed: Handed, descent: Descent, users_kernel: bool) -> None:
    """Refuse steps in which records weigh more, or are noised less, than the guarantee allows."""
    law, grant = common["law"], handed.granted(common["guarantee"])
    if handed.recipe is None or handed.lattice is not None or handed.objective is not None:
        raise ParameterError("gradient descent has a loss and a C, and neither a lattice nor noise in the objective")
    if law.kind != "gaussian" or (grant.rho is None and grant.delta == 0):
        raise ParameterError("gradient descent takes Gaussian noise, for delta > 0 or rho")
    learner = handed.recipe.learner("descent", handed.features.norm, handed.response.outputs, grant)
    if learner.loss.name != handed.loss:
        raise ParameterError(f"the loss is {learner.loss.name!r} in one place and {handed.loss!r} in another")
    if descent.budget != budget_of(learner.loss.lipschitz, learner.kappa, learner.outputs):
        raise ParameterError("the budget of a record's gradient is that of another loss or kernel")
    check_certificate(law.certificate, certify_descent(descent, users_kernel, grant))
    kept = checked_noise(law, descent.grant(grant))
    promised = common["guarantee"].mu
    if promised is not None and (kept.mu is None or promised < descent.ratio(kept.mu) * (1 - 1e-6)):
        raise ParameterError("the guarantee's mu promises more than the noise of all steps keeps")


def checked_learner(common: dict[str, Any], handed: Handed, users_kernel: bool) -> dict[str, Any]:
    """``common``, once the certificate is found to follow from the loss, C, the rows, the kernel, unit and relation.

    A file that does not tell them, or whose kernel only its author has, is read as resting on a stated sensitivity.
    """
    given, noise = common["law"].certificate, handed.objective
    if (handed.descent is not None) != (given.proof == "descent"):
        raise ParameterError("the certificate and the steps of a descent do not belong together")
    if handed.descent is not None:
        _check_descent(common, handed, handed.descent, users_kernel)
        return common
    if (noise is not None) != (given.proof == "objective"):
        raise ParameterError("the certificate and the noise inside the objective do not belong together")
    if noise is not None and handed.lattice is not None:
        raise ParameterError("objective noise is on a learner's coefficients, not on the values of a lattice")
    grant = handed.granted(common["guarantee"])
    if noise is None:  # of a grant that has paid for counts of classes, too, the rest
        checked_noise(common["law"], grant)
    if handed.recipe is None or (users_kernel and handed.lattice is not None):
        return _stated(common, noise)
    features = handed.features
    mechanism = "output" if noise is None else "objective"
    learner = handed.recipe.learner(mechanism, features.norm, handed.response.outputs, grant)
    if learner.loss.name != handed.loss:
        raise ParameterError(f"the loss is {learner.loss.name!r} in one place and {handed.loss!r} in another")
    if noise is not None:
        own = learner.noise(features.size)
        if noise.objective != own.objective:
            raise ParameterError("the objective noise was calibrated for another loss, or another C")
        if (noise.epsilon, noise.delta) != (own.epsilon, own.delta):  # rounding b is left open for this much noise
            raise ParameterError("the grant is shared out differently between the objective and the door")
    if handed.lattice is not None:  # elsewhere features are cut to kappa, whatever their whitening
        check_whitened(features)
    check_certificate(given, certify_learner(learner, features, handed.lattice, users_kernel, grant))
    return common


def _stated(common: dict[str, Any], noise: ObjectiveNoise | None) -> dict[str, Any]:
    stated = as_stated(common)
    if noise is None:
        return stated
    told, promised = noise.objective, stated["guarantee"]
    notes = [
        f"the loss's slope {told.lipschitz:g} and curvature {told.curvature:g} are stated by the caller, and so is the "
        f"strength {told.strength:g} of the quadratic term"
    ]
    if promised.neighbours != "replace" and noise.law.kind == "gaussian":
        notes.append("at most 64 times as many records as were expected, a number that the file does not tell")
    kept = (assumption for assumption in promised.assumptions if assumption not in notes)
    return {**stated, "guarantee": replace(promised, assumptions=(*kept, *notes))}
