"""How a classifier does on public records, which cost nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.faces.words import readable


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
