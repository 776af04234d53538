"""What a page says of a learner: what it predicts, where its label is certain, how it does on public records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.bases.kernels import Precomputed
from sfumato.plotting.machines import slope_limits, slopes_of
from sfumato.plotting.words import brief
from sfumato.releases.machine import MachineRelease
from sfumato.report.numbers import readable


@dataclass(frozen=True)
class PublicTest:
    """How often a classifier was right on public records: ``counts[i][j]`` of class i were said to be class j."""

    name: str
    classes: tuple[Any, ...]
    counts: tuple[tuple[int, ...], ...]
    rows: int

    @property
    def used(self) -> int:
        """Records with a declared label and nothing missing."""
        return sum(map(sum, self.counts))

    @property
    def left_out(self) -> int:
        """The others."""
        return self.rows - self.used

    @property
    def accuracy(self) -> float | None:
        """The share of right labels; None where there is none to look at."""
        return sum(row[i] for i, row in enumerate(self.counts)) / self.used if self.used else None

    @property
    def majority(self) -> int:
        """The place of the most frequent label."""
        sizes = [sum(row) for row in self.counts]
        return sizes.index(max(sizes))

    @property
    def baseline(self) -> float:
        """The share of right labels of somebody who always says the most frequent one."""
        return sum(self.counts[self.majority]) / self.used


def strength_of(release: MachineRelease) -> str:
    """C, as the release tells it."""
    return dict(release.target).get("C (times the mean loss)", "unknown")


def certain_share(release: MachineRelease, confidence: float) -> float | None:
    """The share of the box where the label is certain; None where there is no way to look at the box."""
    kernel = release.handed.features.kernel
    if kernel is None or isinstance(kernel, Precomputed):
        return None
    return release.certain_share(confidence)


def response_words(release: MachineRelease) -> str:
    """What the response can be."""
    told = release.response
    return f"{told.range[0]:g} to {told.range[1]:g}" if told.range else ", ".join(map(str, told.classes or ()))


def machine_facts(release: MachineRelease, confidence: float) -> dict[str, Any]:
    """Everything that the page says of a learner and of no other release."""
    told, classes = dict(release.target), release.classes
    share = None if classes is None else certain_share(release, confidence)
    return {
        "response": release.response.name,
        "classes": None if classes is None else [str(name) for name in classes],
        "range": response_words(release),
        "loss": told.get("loss", release.handed.loss),
        "logistic": classes is not None and release.handed.loss == "logistic",
        "kernel": brief(told.get("kernel", "unknown")),
        "features": release.handed.words(),
        "C": strength_of(release),
        "share": None if share is None else readable(100 * share),
        "slopes": _slopes(release, confidence),
        "objective": _objective(release, confidence),
        "width": _widths(release, confidence),
    }


def _slopes(release: MachineRelease, confidence: float) -> dict[str, Any] | None:
    """A linear learner's slopes, a row for each column."""
    slopes = slopes_of(release)
    if slopes is None:
        return None
    reach = slope_limits(release, confidence)
    names = [] if release.classes is None or len(release.classes) == 2 else [str(name) for name in release.classes]
    rows = [
        {"column": name, "cells": [readable(float(v)) for v in slopes[:, i]], "reach": readable(float(reach[i]))}
        for i, name in enumerate(release.box.names)
    ]
    return {"classes": names, "rows": rows}


def _objective(release: MachineRelease, confidence: float) -> dict[str, Any] | None:
    inside = release.handed.objective
    if inside is None:
        return None
    return {
        "kind": inside.law.kind,
        "scale": readable(inside.law.deviation, 4),
        "size": f"{inside.law.size:,}",
        "epsilon": readable(inside.epsilon, 6),
        "delta": readable(inside.delta, 3) if inside.delta else None,
        "strength": readable(inside.objective.strength, 4),
        "radius": readable(inside.radius(confidence), 3),
        "lipschitz": readable(inside.objective.lipschitz, 4),
        "curvature": readable(inside.objective.curvature, 4),
        "norm": readable(inside.objective.norm, 4),
    }


def _widths(release: MachineRelease, confidence: float) -> dict[str, Any] | None:
    """How far noise can have moved the functions, on points all over the box."""
    if release.handed.features.kernel is None or isinstance(release.handed.features.kernel, Precomputed):
        return None
    points = release.handed.spread()
    low, high = release.band(points, confidence)
    reach, values = (high - low) / 2, release(points)
    return {
        "points": f"{len(points):,}",
        "smallest": readable(float(reach.min())),
        "typical": readable(float(np.median(reach))),
        "largest": readable(float(reach.max())),
        "low": readable(float(values.min())),
        "high": readable(float(values.max())),
    }


def tested_facts(tested: PublicTest) -> dict[str, Any]:
    """What the page says of a public test."""
    names = [str(name) for name in tested.classes]
    rows = [
        {"label": name, "cells": [f"{count:,}" for count in row]}
        for name, row in zip(names, tested.counts, strict=True)
    ]
    known = tested.accuracy is not None
    return {
        "name": tested.name,
        "accuracy": None if tested.accuracy is None else readable(100 * tested.accuracy),
        "baseline": readable(100 * tested.baseline) if known else None,
        "majority": names[tested.majority],
        "used": f"{tested.used:,}",
        "left_out": f"{tested.left_out:,}" if tested.left_out else None,
        "classes": names,
        "rows": rows,
    }


def machine_rows(release: MachineRelease) -> list[tuple[str, str]]:
    """What a card says of a learner."""
    told = dict(release.target)
    return [
        ("predicts", f"{release.response.name}: {response_words(release)}"),
        ("loss and kernel", f"{told.get('loss', release.handed.loss)}, {told.get('kernel', 'unknown')}"),
        ("C", f"{strength_of(release)} times the mean loss"),
        ("noise", f"in the {release.mechanism}"),
        ("features", f"{release.handed.words()}, {release.law.size:,} coefficients"),
    ]


def machine_code(release: MachineRelease, name: str) -> str:
    """How to use a learner, at the middle of its box."""
    box = release.box
    middle = [[float(f"{m:.4g}") for m in box.low / 2 + box.high / 2]]
    lines = ["import sfumato as sf", "", f"release = sf.load({name + '.sfumato'!r})", "print(release.guarantee)", ""]
    if release.classes is None:
        lines += ["# the prediction at a point, and between which limits it would lie without noise"]
        lines += [f"release.predict({middle!r})", f"low, high = release.band({middle!r})"]
        return "\n".join(lines)
    lines += [
        "# the label at a point, and whether it is surely the one that no noise would have given",
        f"release.predict({middle!r})",
        f"release.certain({middle!r})",
    ]
    if release.handed.loss == "logistic":
        lines += ["", "# the chance of each class", f"release.probability({middle!r})"]
    return "\n".join(lines)
