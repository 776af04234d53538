"""The face of learners: what they predict, and where their label is certain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.bases.machine.coordinates import has_categories
from sfumato.bases.machine.kernels import Precomputed
from sfumato.core.neighbours import Person
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.presence import Presence, absence, nothing_learned, sum_of
from sfumato.faces.promise import noise_lines
from sfumato.faces.scales import Axis, axes_of
from sfumato.faces.slices import (
    Panel,
    Slices,
    Slopes,
    check_machine,
    curves_of,
    regions_of,
    sliced_words,
    slope_limits,
    slopes_of,
    steepest_of,
    surface_of,
    through_middle,
)
from sfumato.faces.words import brief, plain, readable
from sfumato.laws import noise_deviation
from sfumato.releases.machine.machine import MachineRelease

_SPREAD = 3 * math.sqrt(5)  # three deviations of a sum of squares of Laplace noise, the widest there is
_SURE = 0.99
_MECHANISMS = {
    "output": "output: noise was added to the learner",
    "objective": "objective: noise was put into what is minimised, where the data's own curvature dampens it",
    "descent": "descent: noise was added to the sum of the records' gradients in every step",
}


class MachineFace(Face):
    """What a learner says of itself."""

    kind = "machine"
    serves, use = ("predict",), "predict"
    joined = "from"
    release: MachineRelease

    @property
    def title(self) -> str:
        what = "a regression" if self.release.classes is None else "a classifier"
        return f"{what} of {self.response} from {self.named('many columns')}"

    @property
    def response(self) -> str:
        return self.release.response.name

    @property
    def strength(self) -> str:
        """C, as the release tells it."""
        return dict(self.release.target).get("C (times the mean loss)", "unknown")

    @property
    def certain(self) -> float | None:
        """The share of the box where the label is certain; None where there is no way to look at the box."""
        return self.release.certain_share(self.confidence) if self._seen_box else None

    @property
    def _seen_box(self) -> bool:
        """Whether there is a kernel, and a box to look at."""
        kernel = self.release.handed.features.kernel
        return kernel is not None and not isinstance(kernel, Precomputed)

    # --- terminal and programs --------------------------------------------------------------------------------

    def nothing_there(self) -> list[str]:
        return self._nobody_counted() or self._nothing_learned()

    def _nothing_learned(self) -> list[str]:
        """Whether the weights are those of noise alone; noise in steps has no law that would tell."""
        release, handed = self.release, self.release.handed
        if handed.recipe is None or handed.lattice is not None or handed.descent is not None:
            return []
        many, inside = release.weights.size, handed.inside
        noise = noise_deviation(release.law) * math.sqrt(many + _SPREAD * math.sqrt(many))
        if inside is not None:  # of each function; without records it moves them just so far
            noise += math.sqrt(release.response.outputs) * inside.radius(_SURE)
        kappa = handed.features.norm
        return nothing_learned(kappa * float(np.linalg.norm(release.weights)), kappa * noise, self.response)

    def _nobody_counted(self) -> list[str]:
        """Whether next to no record has one of the classes, where they were counted."""
        prior, recipe, classes = self.release.handed.prior, self.release.handed.recipe, self.release.classes
        if prior is None or prior.law is None or classes is None:
            return []  # shares that the caller knows, or none
        rows = None if recipe is None or self.release.guarantee.neighbours != "replace" else recipe.rows
        whole = sum_of(f"with {self.response}", np.array(prior.counts), prior.law, rows)
        pairs = zip(classes, prior.counts, strict=True)
        found = [Presence(f"{self.response} {one}", count, noise_deviation(prior.law)) for one, count in pairs]
        if not whole.tells:
            return []
        many = whole.number if rows is None else rows  # little of the grant pays for counts: theirs are noisy
        return absence(whole, [one for one in found if one.clear_of(many)])

    def rows(self, asked: Asked | None = None) -> Facts:
        release, told = self.release, dict(self.release.target)
        rule = "" if asked is None or not isinstance(asked.target.C, str) else " (by a public rule)"
        rows: Facts = [
            ("predicts", self._response_lines()),
            ("loss", [told.get("loss", release.handed.loss)]),
            ("kernel", [f"{told.get('kernel', 'unknown')}, {release.handed.words()}"]),
            (
                "C",
                [
                    f"{self.strength}{rule}: times the mean loss, beside half the squared norm of the learner",
                    "scikit-learn's C multiplies the sum: this one, divided by the number of rows",
                ],
            ),
            ("mechanism", [_MECHANISMS[release.mechanism], *([] if asked is None else [_reason(asked, release)])]),
        ]
        return rows if release.classes is None else [*rows, ("certain", self._certain_lines())]

    def _response_lines(self) -> list[str]:
        """What is predicted, and what the function means."""
        told, classes = self.release.response, self.release.classes
        if classes is None:
            assert told.range is not None
            return [f"{told.name}, a number from {told.range[0]:g} to {told.range[1]:g}"]
        shares, named = self.release.prior, ", ".join(map(str, classes))
        if shares is not None:
            named = ", ".join(f"{c} ({100 * s:.3g} %)" for c, s in zip(classes, shares, strict=True))
        if len(classes) > 2:
            return [f"{told.name}: {named}", "the class whose function is largest"]
        return [f"{told.name}: {named}", f"{classes[1]} where the decision function is positive"]

    def _certain_lines(self) -> list[str]:
        """On how much of the box no noise could have changed the label."""
        share = self.certain
        if share is None:
            return ["unknown: its kernel is not in the file, or has no box to look at"]
        lines = [
            f"on {100 * share:.3g} % of the box the label is surely the one that no noise would have given "
            f"(confidence {self.confidence:g})"
        ]
        if self.release.mechanism != "output":
            lines.append(
                "limits are wide: without looking at the data again, only a bound on what this noise did is known"
            )
        return lines

    def noise_lines(self) -> list[str]:
        """The noise in a learner; of objective noise, both parts."""
        inside, descent = self.release.handed.objective, self.release.handed.descent
        if descent is not None:
            steps = f"in each of {descent.steps} steps of gradient descent, in weights:"
            return [steps, *noise_lines(self.release.law)]
        if inside is None:
            return noise_lines(self.release.law)
        kind = "Gaussian noise, standard deviation" if inside.law.kind == "gaussian" else "K-norm noise, scale"
        paid = f"epsilon {inside.epsilon:g}" + (f", delta {inside.delta:g}" if inside.delta else "")
        moved = f"{inside.radius(self.confidence):.4g} in L2 norm (confidence {self.confidence:g})"
        return [
            f"in the objective: {kind} {inside.law.deviation:.6g} ({paid})",
            f"the learner moved by at most {moved}",
            "at the end, for what the solver left open:",
            *noise_lines(self.release.law),
        ]

    def data(self) -> dict[str, Any]:
        release, inside = self.release, self.release.handed.objective
        share = None if release.classes is None else self.certain
        return {
            "response": release.response.to_json(),
            "loss": release.handed.loss,
            "features": release.handed.words(),
            "C": _number(self.strength),
            "mechanism": release.mechanism,
            "prior": None if release.prior is None else list(release.prior),
            "objective": None if inside is None else inside.to_json(),
            "certain": None if share is None else {"share": share, "confidence": self.confidence},
            **self._descent(),
        }

    def _descent(self) -> dict[str, Any]:
        descent = self.release.handed.descent
        return {} if descent is None else {"descent": descent.to_json()}

    # --- page, card, code -------------------------------------------------------------------------------------

    def page(self) -> dict[str, Any]:
        release, told, classes = self.release, dict(self.release.target), self.release.classes
        share = None if classes is None else self.certain
        machine = {
            "classes": None if classes is None else [str(name) for name in classes],
            "range": self._range(),
            "loss": told.get("loss", release.handed.loss),
            "logistic": classes is not None and release.handed.loss == "logistic",
            "kernel": brief(told.get("kernel", "unknown")),
            "features": release.handed.words(),
            "C": self.strength,
            "share": None if share is None else readable(100 * share),
            "slopes": self._slopes(),
            "objective": self._objective(),
            "descent": self._descent().get("descent"),
        }
        target = [pair for pair in release.target if pair[0] != "features"]
        return {"machine": machine, "error": self._widths(), "basis": release.handed.words(), "target": target}

    def _range(self) -> str:
        """What the response can be."""
        told = self.release.response
        return f"{told.range[0]:g} to {told.range[1]:g}" if told.range else ", ".join(map(str, told.classes or ()))

    def _slopes(self) -> dict[str, Any] | None:
        """A linear learner's slopes, a row for each column."""
        release, slopes = self.release, slopes_of(self.release)
        if slopes is None:
            return None
        reach = slope_limits(release, self.confidence)
        names = [] if release.classes is None or len(release.classes) == 2 else [str(name) for name in release.classes]
        rows = [
            {"column": name, "cells": [readable(float(v)) for v in slopes[:, i]], "reach": readable(float(reach[i]))}
            for i, name in enumerate(release.terms)
        ]
        return {"classes": names, "rows": rows}

    def _objective(self) -> dict[str, Any] | None:
        inside = self.release.handed.objective
        if inside is None:
            return None
        return {
            "kind": inside.law.kind,
            "scale": readable(inside.law.deviation, 4),
            "size": f"{inside.law.size:,}",
            "epsilon": readable(inside.epsilon, 6),
            "delta": readable(inside.delta, 3) if inside.delta else None,
            "strength": readable(inside.objective.strength, 4),
            "radius": readable(inside.radius(self.confidence), 3),
            "lipschitz": readable(inside.objective.lipschitz, 4),
            "curvature": readable(inside.objective.curvature, 4),
            "norm": readable(inside.objective.norm, 4),
        }

    def _widths(self) -> dict[str, Any] | None:
        """How far noise can have moved the functions, on points all over the box."""
        if not self._seen_box:
            return None
        points = self.release.everywhere()
        low, high = self.release.band(points, self.confidence)
        reach, values = (high - low) / 2, self.release(points)
        return {
            "points": f"{len(values):,}",
            "smallest": readable(float(reach.min())),
            "typical": readable(float(np.median(reach))),
            "largest": readable(float(reach.max())),
            "low": readable(float(values.min())),
            "high": readable(float(values.max())),
        }

    def card(self) -> list[tuple[str, str]]:
        release, told = self.release, dict(self.release.target)
        return [
            ("predicts", f"{self.response}: {self._range()}"),
            ("loss and kernel", f"{told.get('loss', release.handed.loss)}, {told.get('kernel', 'unknown')}"),
            ("C", f"{self.strength} times the mean loss"),
            ("noise", f"in the {release.mechanism}" if release.handed.descent is None else "in each step of a descent"),
            ("features", f"{release.handed.words()}, {release.law.size:,} coefficients"),
        ]

    def code(self, name: str) -> str:
        """At the middle of the box."""
        lines, middle = self.first_lines(name), [self.middle]
        if self.release.classes is None:
            lines += ["# the prediction at a point, and between which limits it would lie without noise"]
            return "\n".join([*lines, f"release.predict({middle!r})", f"low, high = release.band({middle!r})"])
        lines += [
            "# the label at a point, and whether it is surely the one that no noise would have given",
            f"release.predict({middle!r})",
            f"release.certain({middle!r})",
        ]
        if self.release.handed.loss == "logistic":
            lines += ["", "# the chance of each class", f"release.probability({middle!r})"]
        return "\n".join(lines)

    # --- pictures ---------------------------------------------------------------------------------------------

    def picture(self) -> Slices:
        release, name, number = self.release, plain(self.response, 30), self.release.classes is None
        check_machine(release)
        at, through = through_middle(release.box)
        panels = tuple(self._panels(at))
        return Slices(
            panels=panels,
            axes=tuple(map(Axis, release.terms)) if isinstance(panels[0], Slopes) else axes_of(release.box),
            response=name,
            classes=tuple(plain(str(one), 30) for one in release.classes or ()),
            function=f"predicted {name}" if number else f"decision function for {name}",
            line="prediction" if number else "decision function",
            caption=self.caption,
            through=f"{through}: a learner does not tell what is typical",
        )

    def _panels(self, at: Any) -> Sequence[Panel]:
        """One column: the function. Two: the regions of the labels. More, or categories: slopes, or each column."""
        release, slopes = self.release, slopes_of(self.release)
        numbers = not has_categories(release.box)
        if release.box.dimension == 2 and numbers:
            made = surface_of if release.classes is None else regions_of
            return [made(release, self.confidence, self.layout)]
        if slopes is not None and (release.box.dimension > 2 or not numbers):
            return [steepest_of(release, slopes, self.confidence)]
        return curves_of(release, self.confidence, at)

    @property
    def picture_words(self) -> str:
        return sliced_words(self)


def _reason(asked: Asked, release: MachineRelease) -> str:
    """Why noise went where it went."""
    target, privacy = asked.target, asked.privacy
    if target.mechanism != "auto":
        return "as asked for"
    if release.mechanism == "objective":
        return "chosen because the loss, the grant and C allow it" + (
            "" if isinstance(target.C, str) else ", and its predicted error is the smaller one"
        )
    if release.mechanism == "descent":
        return "chosen because it is linear in many columns, and its predicted error is the smaller one"
    if not target.loss.smooth:
        return f"chosen because {target.loss!r} has a corner: noise in the objective needs a smooth loss"
    if privacy.rho is not None or isinstance(privacy.unit, Person):
        return "chosen because noise in the objective needs --epsilon and single rows"
    return "chosen because noise in the objective would err more, or cannot be had for this epsilon and C"


def _number(text: str) -> float | None:
    """What a file says of C, if it is a number."""
    try:
        return float(text)
    except ValueError:
        return None
