"""The face of a statistic: its numbers with their limits, and how they were perturbed or chosen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.statistics.magnitudes import Magnitudes
from sfumato.bases.statistics.quantiles import Quantiles
from sfumato.bases.statistics.sums import Given, Tally
from sfumato.core.neighbours import rows_per_unit
from sfumato.errors import ParameterError
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.promise import NOISES
from sfumato.faces.words import MISSING, exact, listed, number, readable
from sfumato.releases.value import ValueRelease

Floats = NDArray[np.float64]

_FINEST = 9  # decimals that anybody reads


@dataclass(frozen=True)
class Entry:
    """One number of a statistic: its names (none for a single number), and digits that are not finer than its limits.

    ``low`` and ``high`` are rounded outwards, and None where there are no limits. ``share`` is its part of the largest.
    """

    names: tuple[str, ...]
    value: str
    low: str | None
    high: str | None
    share: float


@dataclass(frozen=True)
class Figures:
    """A statistic with its limits: arrays of one shape; private bounds have no limits."""

    release: ValueRelease
    value: Floats
    low: Floats | None
    high: Floats | None
    confidence: float

    @classmethod
    def of(cls, release: ValueRelease, confidence: float) -> Figures:
        """Read a release."""
        value = np.asarray(release.value, dtype=np.float64)
        if isinstance(release.summary, Magnitudes):
            return cls(release, value, None, None, confidence)
        low, high = (np.asarray(end, dtype=np.float64) for end in release.interval(confidence))
        return cls(release, value, low, high, confidence)

    @property
    def single(self) -> bool:
        """Whether it is one number."""
        return self.value.size == 1

    @property
    def counts(self) -> bool:
        """Whether its numbers count records, or are shares of them."""
        return isinstance(self.release.summary, Tally)

    @property
    def symmetric(self) -> bool:
        """Whether it is a matrix of which one half says it all."""
        return self.release.statistic == "covariance"

    @property
    def reach(self) -> Floats | None:
        """How far each number's limits are from it, at most."""
        if self.low is None or self.high is None:
            return None
        return np.asarray(np.maximum(self.high - self.value, self.value - self.low))

    @property
    def uninformed(self) -> bool:
        """Whether some limits are the box's own, and so tell nothing."""
        box = self.release.box
        if not isinstance(self.release.summary, Quantiles) or self.low is None or self.high is None:
            return False
        return bool(((self.low <= box.low[0]) & (self.high >= box.high[0])).any())

    @property
    def heads(self) -> tuple[str, ...]:
        """What the names of the entries are names of, axis by axis."""
        summary = self.release.summary
        if isinstance(summary, Tally):
            return self.release.box.names if self.value.ndim else ()
        if self.value.ndim == 2:
            return ("column", "with column")
        kinds = {Quantiles: "level", Magnitudes: "bound", Given: "number"}
        return () if not self.value.ndim else (kinds.get(type(summary), "column"),)

    @property
    def count(self) -> int:
        """How many entries there are to tell."""
        rows = len(self.value) if self.symmetric else 0
        return rows * (rows + 1) // 2 if self.symmetric else self.value.size

    def entries(self, most: int | None = None) -> list[Entry]:
        """All numbers in their order, or the first ones; of a symmetric matrix, each once."""
        return list(itertools.islice(self._entries(), most))

    def _entries(self) -> Iterator[Entry]:
        labels = self.release.labels
        largest = float(np.abs(self.value).max()) or 1.0
        for place in itertools.product(*(range(len(axis)) for axis in labels)):
            if self.symmetric and place[0] > place[1]:
                continue
            names = tuple(axis[i] for axis, i in zip(labels, place, strict=True))
            yield Entry(names, *self.texts(place), abs(float(self.value[place])) / largest)

    def texts(self, place: tuple[int, ...]) -> tuple[str, str | None, str | None]:
        """One number and its limits, in digits."""
        value = float(self.value[place])
        if self.low is None or self.high is None:
            return repr(value).removesuffix(".0"), None, None
        low, high = float(self.low[place]), float(self.high[place])
        places = self._places(high - low)
        return digits(value, places), digits(low, places, -1), digits(high, places, 1)

    def reach_text(self, place: tuple[int, ...]) -> str:
        """How far one number's limits are from it, in digits, rounded up."""
        assert self.low is not None and self.high is not None and self.reach is not None
        return digits(float(self.reach[place]), self._places(float(self.high[place] - self.low[place])), 1)

    def _places(self, width: float) -> int:
        """Decimals worth writing: those of the data, or two digits of the width of the limits."""
        summary = self.release.summary
        if isinstance(summary, Quantiles):
            return max(0, summary.grid.digits)
        if self.release.statistic in ("count", "histogram"):
            return 0
        return max(0, 1 - math.floor(math.log10(width))) if math.isfinite(width) and width > 0 else _FINEST + 1


def digits(value: float, places: int, side: int = 0) -> str:
    """A number with so many decimals: the nearest, or rounded down (side -1) or up (side 1).

    >>> digits(1234.5678, 1), digits(0.5678, 2, -1), digits(-0.001, 2)
    ('1,234.6', '0.56', '0.00')
    """
    if places > _FINEST or not abs(value) < 1e15:
        return f"{value:.6g}"
    if side:
        moved = math.floor(value * 10**places) if side < 0 else math.ceil(value * 10**places)
        value = moved / 10**places
    text = f"{value:,.{places}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


_STATISTICS = {"count": "number", "bounds": "private bounds", "your own": "caller's own statistic"}
_MOST_PAGE_LINES = 200  # of the table of numbers
_FEW = 6  # numbers on a card


class ValueFace(Face):
    """What a statistic says of itself."""

    kind = "value"
    use = "inspect"
    thing = "statistic"
    parts, part = "numbers", "number"
    release: ValueRelease

    @cached_property
    def seen(self) -> Figures:
        """Its numbers with their limits."""
        return Figures.of(self.release, self.confidence)

    @property
    def quantity(self) -> str:
        return _STATISTICS.get(self.release.statistic, self.release.statistic)

    @property
    def subject(self) -> str:
        """What it is about."""
        release = self.release
        if release.statistic != "count":
            return listed(release.box.names)
        return "records" if getattr(release.summary, "complete", False) else f"records with {listed(release.box.names)}"

    @property
    def columns(self) -> str:
        return self.subject

    @property
    def heading(self) -> str:
        return f"{self.quantity} of {self.subject}"

    @property
    def title(self) -> str:
        return f"the {self.heading}"

    @property
    def missing(self) -> str | None:
        """What becomes of missing values, as the release tells it."""
        return dict(self.release.target).get("missing values")

    @property
    def selection(self) -> dict[str, Any] | None:
        """How quantiles were chosen; None for what is perturbed instead."""
        summary = self.release.summary
        if not isinstance(summary, Quantiles):
            return None
        values, pure = summary.grid.values(), self.release.guarantee.rho is None
        return {
            "mechanism": "permute-and-flip" if pure else "exponential mechanism",
            "candidates": summary.grid.count,
            "lowest": float(values[0]),
            "highest": float(values[-1]),
            "step": 10.0**-summary.grid.digits,
            "choices": len(summary.levels),
            "interval_share": summary.share,
        }

    # --- terminal and programs --------------------------------------------------------------------------------

    def rows(self, asked: Asked | None = None) -> Facts:
        release, missing = self.release, MISSING.get(self.missing or "")
        told: Facts = [
            ("limits", self._limit_lines()),
            ("records", ["private" if release.rows is None else f"{release.rows:,} (public)"]),
            *([] if missing is None else [("missing", [missing])]),
        ]
        if asked is None:
            return told
        return [*told, ("assumed", self._assumed_lines() or ["nothing"]), ("noise", self.noise_lines())]

    def _limit_lines(self) -> list[str]:
        if self.seen.low is None:
            return ["none: the bounds are cautious by themselves; values that few records have may lie outside"]
        every = "" if self.seen.single else ", for all values at once"
        clipped = "" if self.release.statistic == "your own" else ", brought into the box"
        lines = [f"of what the records themselves give{clipped}{every}; not of a population"]
        if self.seen.uninformed:
            lines.append("some are the bounds of the column: --interval-share 0.3 --missing none pays for closer ones")
        return lines

    def _assumed_lines(self) -> list[str]:
        """What the numbers and their promise rest on that no code can check."""
        public = ["bounds and categories are public knowledge, not from the data"]
        bounds = [] if self.release.statistic == "bounds" else public
        missing = [MISSING["none"]] if self.missing == "none" else []
        return [*self.release.guarantee.assumptions, *bounds, *missing]

    def details(self) -> Facts:
        return [("noise", self.noise_lines()), self.target_row()]

    def noise_lines(self) -> list[str]:
        """The noise, or how a quantile was chosen in its place."""
        told = self.selection
        if told is None:
            return super().noise_lines()
        several = "" if told["choices"] == 1 else f", {told['choices']} times from one budget"
        return [
            f"none: chosen by {told['mechanism']}{several}",
            f"from {told['candidates']:,} public values, {told['lowest']:.10g} to {told['highest']:.10g} in steps of "
            f"{told['step']:g}",
        ]

    def data(self) -> dict[str, Any]:
        """With every number."""
        release, seen, limits = self.release, self.seen, None
        if seen.low is not None and seen.high is not None:
            limits = {"low": seen.low.tolist(), "high": seen.high.tolist(), "confidence": self.confidence}
        return {
            "statistic": release.statistic,
            "value": seen.value.tolist(),
            "interval": limits,
            "labels": release.labels,
            "rows": release.rows,
            "missing": self.missing,
            "summary": release.summary.to_json(),
            "numbers": release.numbers.tolist(),
            "selection": self.selection,
            "assumed": self._assumed_lines(),
        }

    # --- page, card, code -------------------------------------------------------------------------------------

    def page(self) -> dict[str, Any]:
        release, seen, more = self.release, self.seen, self.seen.count - _MOST_PAGE_LINES
        lines = [_line(entry) for entry in seen.entries(_MOST_PAGE_LINES)]
        value = {
            "statistic": release.statistic,
            "own": release.statistic == "your own",
            "subject": self.subject,
            "single": lines[0] if seen.single else None,
            "heads": seen.heads,
            "lines": lines,
            "more": f"{more:,}" if more > 0 else None,
            "limits": seen.low is not None,
            "uninformed": seen.uninformed,
            "typical": None if seen.reach is None else readable(float(np.median(seen.reach))),
            "missing": self.missing,
            "rows": None if release.rows is None else f"{release.rows:,}",
            "selection": self._selection_words(),
            "threshold": readable(release.summary.threshold) if isinstance(release.summary, Magnitudes) else None,
            "numbers": f"{release.numbers.size:,}",
        }
        return {"value": value, "basis": repr(release.summary)}

    def _selection_words(self) -> dict[str, Any] | None:
        """How quantiles were chosen, for reading."""
        told = self.selection
        if told is None:
            return None
        share = told["interval_share"]
        return {
            "mechanism": told["mechanism"],
            "candidates": f"{told['candidates']:,}",
            "choices": told["choices"],
            "share": f"{100 * share:.10g} %" if share else None,
            **{name: exact(told[name]) for name in ("lowest", "highest", "step")},
        }

    def bound(self) -> dict[str, Any]:
        """The bound behind the noise; behind a choice, what one unit can do to a rank."""
        promise = self.release.guarantee
        return super().bound() or {
            "norm": "change of the rank of any candidate, in records",
            "bound": exact(float(rows_per_unit(promise.unit))),
            "relation": "replaced" if promise.neighbours == "replace" else "added or removed",
            "known": "enforced",
            "proof": "docs/proofs/statistics.md",
        }

    def card_rows(self) -> list[tuple[str, str]]:
        first, second = super().card_rows()[:2]
        return [*self.card(), first, second]

    def card(self) -> list[tuple[str, str]]:
        seen, told, law, lines = self.seen, self._selection_words(), self.release.law, []
        for entry in seen.entries(_FEW):
            limits = "" if entry.low is None else f" ({entry.low} to {entry.high})"
            lines.append(f"{', '.join(entry.names)}{': ' if entry.names else ''}{entry.value}{limits}")
        more = [] if seen.count <= _FEW else [f"and {seen.count - _FEW:,} more"]
        noise = "" if law is None else f"{NOISES[law.kind]}, scale {number(law.deviation)}"
        if told is not None:
            noise = f"none: chosen by {told['mechanism']} from {told['candidates']} values"
        name = "value" if seen.low is None else f"value ({100 * self.confidence:.10g} % limits)"
        return [(name, "; ".join(lines + more)), ("noise", noise)]

    def code(self, name: str) -> str:
        shown = "a number" if np.ndim(self.release.value) == 0 else "an array; release.labels names its entries"
        lines = [*self.first_lines(name), f"release.value  # {shown}"]
        if isinstance(self.release.summary, Magnitudes):
            return "\n".join([*lines, "low, high = release.value  # for a box"])
        lines += ["", "# between which limits the same statistic of the records themselves lies"]
        return "\n".join([*lines, "low, high = release.interval(0.95)", "release.plot()"])

    # --- pictures ---------------------------------------------------------------------------------------------

    def picture(self) -> Figures:
        if self.seen.value.ndim > 2:
            raise ParameterError(
                f"a picture shows a statistic along one or two columns, this one is along {self.seen.value.ndim}: "
                f"{self.release.box.names}; draw parts of release.value yourself"
            )
        return self.seen

    @property
    def picture_words(self) -> str:
        return f"{self.heading}, and its limits"

    def sketch(self, asked: Asked | None = None) -> Figures:
        return self.seen


def _line(entry: Entry) -> dict[str, Any]:
    cells = {"value": entry.value, "low": entry.low, "high": entry.high}
    signed = {name: None if text is None else text.replace("-", "\N{MINUS SIGN}") for name, text in cells.items()}
    return {"names": entry.names, **signed}
