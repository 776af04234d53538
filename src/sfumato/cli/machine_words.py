"""Learners in words and in plain data."""

from __future__ import annotations

from typing import Any

import sfumato as sf
from sfumato.cli.publishing import Facts, Order
from sfumato.cli.words import noise_lines
from sfumato.releases.machine import MachineRelease
from sfumato.report.machines import certain_share, strength_of

_CONFIDENCE = 0.95
_MECHANISMS = {
    "output": "output: noise was added to the learner",
    "objective": "objective: noise was put into what is minimised, where the data's own curvature dampens it",
}


def machine_rows(release: MachineRelease, order: Order | None = None) -> Facts:
    """What there is to say of learners and of no other release.

    Parameters
    ----------
    order
        What was asked for, where that is known: it says why things are as they are.
    """
    told = dict(release.target)
    rule = "" if order is None or not isinstance(order.target.C, str) else " (by a public rule)"
    rows: Facts = [
        ("predicts", response_lines(release)),
        ("loss", [told.get("loss", release.handed.loss)]),
        ("kernel", [f"{told.get('kernel', 'unknown')}, {release.handed.words()}"]),
        (
            "C",
            [
                f"{strength_of(release)}{rule}: times the mean loss, beside half the squared norm of the learner",
                "scikit-learn's C multiplies the sum: this one, divided by the number of rows",
            ],
        ),
        ("mechanism", [_MECHANISMS[release.mechanism], *([] if order is None else [_reason(order, release)])]),
    ]
    return rows if release.classes is None else [*rows, ("certain", certain_lines(release))]


def response_lines(release: MachineRelease) -> list[str]:
    """What is predicted, and what the function means."""
    told = release.response
    if release.classes is None:
        assert told.range is not None
        return [f"{told.name}, a number from {told.range[0]:g} to {told.range[1]:g}"]
    named = ", ".join(map(str, release.classes))
    if len(release.classes) > 2:
        return [f"{told.name}: {named}", "the class whose function is largest"]
    return [f"{told.name}: {named}", f"{release.classes[1]} where the decision function is positive"]


def certain_lines(release: MachineRelease) -> list[str]:
    """On how much of the box no noise could have changed the label."""
    share = certain_share(release, _CONFIDENCE)
    if share is None:
        return ["unknown: its kernel is not in the file, or has no box to look at"]
    lines = [
        f"on {100 * share:.3g} % of the box the label is surely the one that no noise would have given "
        f"(confidence {_CONFIDENCE:g})"
    ]
    if release.mechanism == "objective":
        lines.append("limits are wide: without looking at the data again, only a bound on what this noise did is known")
    return lines


def learner_noise_lines(release: MachineRelease) -> list[str]:
    """The noise in a learner; of objective noise, both parts."""
    inside = release.handed.objective
    if inside is None:
        return noise_lines(release.law)
    kind = "Gaussian noise, standard deviation" if inside.law.kind == "gaussian" else "K-norm noise, scale"
    paid = f"epsilon {inside.epsilon:g}" + (f", delta {inside.delta:g}" if inside.delta else "")
    return [
        f"in the objective: {kind} {inside.law.deviation:.6g} ({paid})",
        f"the learner moved by at most {inside.radius(_CONFIDENCE):.4g} in L2 norm (confidence {_CONFIDENCE:g})",
        "at the end, for what the solver left open:",
        *noise_lines(release.law),
    ]


def _reason(order: Order, release: MachineRelease) -> str:
    """Why noise went where it went."""
    target, privacy = order.target, order.privacy
    if target.mechanism != "auto":
        return "as asked for"
    if release.mechanism == "objective":
        return "chosen because the loss, the grant and C allow it" + (
            "" if isinstance(target.C, str) else ", and its predicted error is the smaller one"
        )
    if not target.loss.smooth:
        return f"chosen because {target.loss!r} has a corner: noise in the objective needs a smooth loss"
    if privacy.rho is not None or isinstance(privacy.unit, sf.Person):
        return "chosen because noise in the objective needs --epsilon and single rows"
    return "chosen because noise in the objective would err more, or cannot be had for this epsilon and C"


def machine_data(release: MachineRelease) -> dict[str, Any]:
    """The same as plain data."""
    inside = release.handed.objective
    share = None if release.classes is None else certain_share(release, _CONFIDENCE)
    return {
        "response": release.response.to_json(),
        "loss": release.handed.loss,
        "features": release.handed.words(),
        "C": _number(strength_of(release)),
        "mechanism": release.mechanism,
        "objective": None if inside is None else inside.to_json(),
        "certain": None if share is None else {"share": share, "confidence": _CONFIDENCE},
    }


def _number(text: str) -> float | None:
    """What a file says of C, if it is a number."""
    try:
        return float(text)
    except ValueError:
        return None
