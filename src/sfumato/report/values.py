"""What a page says of a statistic: its numbers with their limits, and how they were perturbed or chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.bases.magnitudes import Magnitudes
from sfumato.core.neighbours import rows_per_unit
from sfumato.plotting.figures import Entry, Figures, selection_of
from sfumato.plotting.words import exact, subject
from sfumato.releases.value import ValueRelease
from sfumato.report.numbers import readable

_MOST_LINES = 200  # of the table of numbers
_FEW = 6  # numbers on a card


def value_facts(seen: Figures) -> dict[str, Any]:
    """Everything that the page says of a statistic and of no other release."""
    release, entries = seen.release, seen.entries(_MOST_LINES)
    return {
        "statistic": release.statistic,
        "own": release.statistic == "your own",
        "subject": subject(release),
        "single": _line(entries[0]) if seen.single else None,
        "heads": seen.heads,
        "lines": [_line(entry) for entry in entries],
        "more": f"{seen.count - _MOST_LINES:,}" if seen.count > _MOST_LINES else None,
        "limits": seen.low is not None,
        "uninformed": seen.uninformed,
        "typical": None if seen.reach is None else readable(float(np.median(seen.reach))),
        "missing": dict(release.target).get("missing values"),
        "rows": None if release.rows is None else f"{release.rows:,}",
        "selection": selection_words(release),
        "threshold": readable(release.summary.threshold) if isinstance(release.summary, Magnitudes) else None,
        "numbers": f"{release.numbers.size:,}",
    }


def _line(entry: Entry) -> dict[str, Any]:
    cells = {"value": entry.value, "low": entry.low, "high": entry.high}
    signed = {name: None if text is None else text.replace("-", "\N{MINUS SIGN}") for name, text in cells.items()}
    return {"names": entry.names, **signed}


def selection_words(release: ValueRelease) -> dict[str, Any] | None:
    """How quantiles were chosen, for reading."""
    told = selection_of(release)
    if told is None:
        return None
    rest = {name: exact(float(told[name])) for name in ("lowest", "highest", "step")}
    share = float(told["interval_share"])
    return {
        "mechanism": told["mechanism"],
        "candidates": f"{told['candidates']:,}",
        "choices": told["choices"],
        "share": f"{100 * share:.10g} %" if share else None,
        **rest,
    }


def rank_certificate(release: ValueRelease) -> dict[str, Any]:
    """The bound behind a choice: what one unit can do to a rank."""
    promise = release.guarantee
    return {
        "norm": "change of the rank of any candidate, in records",
        "bound": exact(float(rows_per_unit(promise.unit))),
        "relation": "replaced" if promise.neighbours == "replace" else "added or removed",
        "known": "enforced",
        "proof": "docs/proofs/statistics.md",
    }


def value_rows(release: ValueRelease, noise: str | None, confidence: float = 0.95) -> list[tuple[str, str]]:
    """What a card says of a statistic; ``noise`` is its law in words, or None for what was chosen."""
    seen, lines = Figures.of(release, confidence), []
    for entry in seen.entries(_FEW):
        limits = "" if entry.low is None else f" ({entry.low} to {entry.high})"
        lines.append(f"{', '.join(entry.names)}{': ' if entry.names else ''}{entry.value}{limits}")
    more = [] if seen.count <= _FEW else [f"and {seen.count - _FEW:,} more"]
    told = selection_words(release)
    if told is not None:
        noise = f"none: chosen by {told['mechanism']} from {told['candidates']} values"
    name = "value" if seen.low is None else f"value ({100 * confidence:.10g} % limits)"
    return [(name, "; ".join(lines + more)), ("noise", noise or "")]


def value_code(release: ValueRelease, name: str) -> str:
    """How to read a statistic."""
    lines = ["import sfumato as sf", "", f"release = sf.load({name + '.sfumato'!r})", "print(release.guarantee)", ""]
    shown = "a number" if np.ndim(release.value) == 0 else "an array; release.labels names its entries"
    lines += [f"release.value  # {shown}"]
    if isinstance(release.summary, Magnitudes):
        return "\n".join([*lines, "low, high = release.value  # for a box"])
    lines += ["", "# between which limits the same statistic of the records themselves lies"]
    return "\n".join([*lines, "low, high = release.interval(0.95)", "release.plot()"])
