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

from sfumato.bases.statistics.centred import CentredSquares
from sfumato.bases.statistics.magnitudes import Magnitudes
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.quantiles import Grid, QuantileBasis, Quantiles
from sfumato.bases.statistics.sums import Given, Tally, Total
from sfumato.bases.statistics.tree import QuantileTree
from sfumato.bases.unit import in_words, is_whole
from sfumato.core.box import Categorical, Column, Date, Integer, Interval
from sfumato.core.neighbours import rows_per_unit
from sfumato.dates import iso
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.presence import Presence, absence, small_sums, squares_alone, sum_of
from sfumato.faces.promise import NOISES, short
from sfumato.faces.scales import Axis, axes_of
from sfumato.faces.views import check_axes, dated
from sfumato.faces.words import MISSING, exact, listed, number, plain, readable, with_minus
from sfumato.laws import noise_deviation
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
        value = release.estimate
        if isinstance(release.summary, Magnitudes):
            return cls(release, value, None, None, confidence)
        return cls(release, value, *release.limits(confidence), confidence)

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
        if not isinstance(self.release.summary, QuantileBasis) or self.low is None or self.high is None:
            return False
        return bool(((self.low <= box.low[0]) & (self.high >= box.high[0])).any())

    # --- what a painter asks ----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What it is."""
        return f"{self.quantity} of {plain(ValueFace(self.release).subject)}"

    @property
    def quantity(self) -> str:
        """What its numbers are."""
        return ValueFace(self.release).quantity

    @property
    def promise(self) -> str:
        """What is promised, in a line."""
        return short(self.release.guarantee)

    @property
    def measured(self) -> str:
        """What the numbers along an axis are numbers of: the column's own, or another quantity."""
        own = self.release.statistic in ("count", "mean", "median", "quantiles", "bounds")
        return plain(ValueFace(self.release).subject if own else self.quantity)

    @property
    def whole(self) -> bool:
        """Whether it counts, so that there is nothing between whole numbers."""
        return self.release.statistic == "count"

    @property
    def span(self) -> bool:
        """Whether it is a pair of private bounds."""
        return isinstance(self.release.summary, Magnitudes)

    @property
    def ranked(self) -> bool:
        """Whether it is quantiles, which have levels and no length."""
        return isinstance(self.release.summary, QuantileBasis)

    @property
    def dated(self) -> bool:
        """Whether its numbers are dates."""
        kinds = self.release.kinds
        return bool(kinds) and isinstance(kinds[0], Date)

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The names of its numbers, axis by axis."""
        return tuple(tuple(axis) for axis in self.release.labels)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The columns that its cells are cells of; none where it has no cells."""
        return axes_of(self.release.box) if self.counts else ()

    def edges(self, place: int) -> Floats | None:
        """The edges between the cells of a column of numbers; None for categories, and where there are no cells."""
        summary = self.release.summary
        return summary.sides(self.release.box, place) if isinstance(summary, Tally) else None

    def edge_texts(self, place: int) -> tuple[str, ...] | None:
        """The same in words; None where the cells have names of their own, as categories and whole numbers have."""
        edges, column, summary = self.edges(place), self.release.box.columns[place], self.release.summary
        named = isinstance(summary, Tally) and summary.edges is not None and summary.edges[place] is not None
        if edges is None or isinstance(column, Integer) or (named and is_whole(column)):
            return None
        return tuple(readable(dated(self.release.box.columns[place], float(edge)), 4) for edge in edges)

    @property
    def along_axis(self) -> bool:
        """Whether its bars stand on an axis of numbers."""
        return self.value.ndim == 1 and self.edges(0) is not None

    @property
    def plane(self) -> bool:
        """Whether both axes are numbers: the first then goes to the right and the second up, as in every plot."""
        return self.counts and all(isinstance(column, Interval) for column in self.release.box.columns)

    # --- what everybody asks ----------------------------------------------------------------------------------

    @property
    def heads(self) -> tuple[str, ...]:
        """What the names of the entries are names of, axis by axis."""
        summary = self.release.summary
        if isinstance(summary, Tally):
            return self.release.box.names if self.value.ndim else ()
        if self.value.ndim == 2:
            return ("column", "with column")
        kinds = {Quantiles: "level", QuantileTree: "level", Magnitudes: "bound", Given: "number"}
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
        value, kind = float(self.value[place]), self._kind(place)
        if isinstance(kind, Date) and self.low is not None and self.high is not None:
            value_text, low_text, high_text = (
                in_words(kind, float(p[place])) for p in (self.value, self.low, self.high)
            )
            return value_text, low_text, high_text
        if self.low is None or self.high is None:
            return repr(value).removesuffix(".0"), None, None
        low, high = float(self.low[place]), float(self.high[place])
        places = self._places(high - low)
        return digits(value, places), digits(low, places, -1), digits(high, places, 1)

    def _kind(self, place: tuple[int, ...]) -> Column | None:
        """The column in whose units one number is; None where it is in no column's."""
        kinds = self.release.kinds
        return kinds[place[0] if len(kinds) > 1 else 0] if kinds else None

    def told(self, numbers: Floats) -> Any:
        """Numbers as plain data, dates among them as text."""
        kinds = self.release.kinds
        if not any(isinstance(kind, Date) for kind in kinds):
            return numbers.tolist()
        texts = [self.told_one(place, float(numbers[place])) for place in np.ndindex(numbers.shape)]
        return texts if numbers.ndim else texts[0]

    def told_one(self, place: tuple[int, ...], number: float) -> Any:
        """One number as plain data."""
        kind = self._kind(place)
        return iso(number, bool(kind.zoned)) if isinstance(kind, Date) else number

    def reach_text(self, place: tuple[int, ...]) -> str:
        """How far one number's limits are from it, in digits, rounded up."""
        assert self.low is not None and self.high is not None and self.reach is not None
        return digits(float(self.reach[place]), self._places(float(self.high[place] - self.low[place])), 1)

    def _places(self, width: float) -> int:
        """Decimals worth writing: those of the data, or two digits of the width of the limits."""
        summary = self.release.summary
        if isinstance(summary, QuantileBasis):
            return max(0, summary.grid.digits + self._halves(summary))
        if self.release.statistic in ("count", "histogram"):
            return 0
        return max(0, 1 - math.floor(math.log10(width))) if math.isfinite(width) and width > 0 else _FINEST + 1

    def _halves(self, summary: QuantileBasis) -> int:
        """One decimal more where limits are the edges of cells, half a step from their middles."""
        halves = isinstance(summary, QuantileTree) and not isinstance(self.release.box.columns[0], Integer)
        return int(halves and summary.grid.factor != 2)


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
    def price_of_missing(self) -> str | None:
        """What counting values does to the limits of a mean, a variance or a covariance, where n is public."""
        release, summary = self.release, self.release.summary
        if not isinstance(summary, Moments | CentredSquares) or release.rows is None:
            return None
        if summary.weight:
            return (
                "wider than they need be where nothing is missing: missing='drop' counts the values, with noise, and "
                "costs the difference; missing='none' states that there are none"
            )
        return (
            "those of noisy sums alone: missing='none' states how many values there are; missing='drop' would count "
            "them, with noise, and cost the difference"
        )

    @property
    def selection(self) -> dict[str, Any] | None:
        """How quantiles were chosen; None for what is perturbed instead."""
        summary = self.release.summary
        if not isinstance(summary, Quantiles):
            return None
        alone = "permute-and-flip" if self.release.guarantee.rho is None else "exponential mechanism"
        return {
            "mechanism": "joint exponential mechanism" if summary.splits else alone,
            "candidates": summary.grid.count,
            **self._span(summary.grid),
            "choices": len(summary.groups) if summary.splits else len(summary.levels),
            "interval_share": summary.share,
        }

    def nothing_there(self) -> list[str]:
        release, summary, what = self.release, self.release.summary, f"with {listed(self.release.box.names)}"
        if isinstance(summary, Tally | Magnitudes):
            assert release.law is not None
            whole = sum_of(what, release.numbers, release.law, release.rows)
            return absence(whole, self._categories() if isinstance(summary, Tally) else [])
        if isinstance(summary, Total):
            return self._nothing_summed()
        if isinstance(summary, Moments | CentredSquares) and summary.weight:
            assert release.law is not None
            counted = summary.counted(release.numbers, noise_deviation(release.law))
            return absence(Presence(what, *counted, release.rows))
        if isinstance(summary, Moments | CentredSquares):
            return squares_alone(release, summary)
        if isinstance(summary, QuantileTree):
            assert release.law is not None
            return absence(sum_of(what, release.numbers[slice(*summary.layers[0])], release.law, release.rows))
        return []  # a chosen quantile or a function of the caller's comes with no number of records

    def _categories(self) -> list[Presence]:
        """How many records each declared category has, in a table of counts."""
        release, found = self.release, []
        assert release.law is not None and isinstance(release.summary, Tally)
        if release.summary.statistic == "count":
            return []
        counts = release.numbers.reshape(release.summary.shape)
        for axis, (name, column) in enumerate(zip(release.box.names, release.box.columns, strict=True)):
            if isinstance(column, Categorical):
                cells = np.moveaxis(counts, axis, 0).reshape(len(column.categories), -1)
                pairs = zip(column.categories, cells, strict=True)
                found += [sum_of(f"{name} {category}", own, release.law) for category, own in pairs]
        return found

    def _nothing_summed(self) -> list[str]:
        """Of sums of values that all have one sign: whether each is no more than noise. Each value counts up to one."""
        release = self.release
        assert release.law is not None and isinstance(release.summary, Total)
        signs = [column.low >= 0 or column.high <= 0 for column in release.box.intervals()]
        if release.summary.complete or not all(signs):
            return []
        largest = float(np.abs(release.numbers).max())
        return small_sums(release.box.names, Presence("", largest, noise_deviation(release.law), release.rows))

    def _span(self, grid: Grid) -> dict[str, Any]:
        """Which candidates there are."""
        lowest, highest = (self.seen.told_one((0,), float(grid.values()[end])) for end in (0, -1))
        return {"lowest": lowest, "highest": highest, "step": float(grid.step)}

    @property
    def tree(self) -> dict[str, Any] | None:
        """What was counted for quantiles and their limits; None for everything else."""
        summary = self.release.summary
        if not isinstance(summary, QuantileTree):
            return None
        return {
            "cells": summary.grid.count,
            **self._span(summary.grid),
            "layers": summary.height,
            "counts": self.release.numbers.size,
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
        if self.price_of_missing is not None:
            lines.append(self.price_of_missing)
        if self.seen.uninformed and self.selection is not None:
            lines.append("some are the bounds of the column: leave out --interval none for closer ones")
        elif self.seen.uninformed:
            lines.append("some are the bounds of the column: so few records, at this privacy, tell nothing closer")
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
        told, counted = self.selection, self.tree
        if counted is not None:
            return [*super().noise_lines(), _counted_words(counted)]
        if told is None:
            return super().noise_lines()
        several = "" if told["choices"] == 1 else f", {told['choices']} times from one budget"
        return [
            f"none: chosen by {told['mechanism']}{several}",
            f"from {told['candidates']:,} public values, {exact(told['lowest'])} to {exact(told['highest'])} "
            f"in steps of {told['step']:g}{_unit(told)}",
        ]

    def data(self) -> dict[str, Any]:
        """With every number."""
        release, seen, limits = self.release, self.seen, None
        if seen.low is not None and seen.high is not None:
            limits = {"low": seen.told(seen.low), "high": seen.told(seen.high), "confidence": self.confidence}
        return {
            "statistic": release.statistic,
            "value": seen.told(seen.value),
            "interval": limits,
            "labels": release.labels,
            "rows": release.rows,
            "missing": self.missing,
            "summary": release.summary.to_json(),
            "numbers": None if self.tree else release.numbers.tolist(),  # thousands, which are in the file
            "selection": self.selection,
            "tree": self.tree,
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
            "price_of_missing": self.price_of_missing,
            "rows": None if release.rows is None else f"{release.rows:,}",
            "selection": self._selection_words(),
            "tree": _counted_words(self.tree) if self.tree else None,
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
        check_axes(self.seen.value.ndim, self.release.box)
        return self.seen

    @property
    def picture_words(self) -> str:
        return f"{self.heading}, and its limits"

    def sketch(self, asked: Asked | None = None) -> Figures:
        return self.seen


def _line(entry: Entry) -> dict[str, Any]:
    cells = {"value": entry.value, "low": entry.low, "high": entry.high}
    signed = {name: None if text is None else with_minus(text) for name, text in cells.items()}
    return {"names": entry.names, **signed}


def _brief(told: float | str) -> str:
    return told if isinstance(told, str) else f"{told:.10g}"


def _unit(told: dict[str, Any]) -> str:
    return " days" if isinstance(told["lowest"], str) else ""


def _counted_words(told: dict[str, Any]) -> str:
    lowest, highest = _brief(told["lowest"]), _brief(told["highest"])
    return (
        f"on {told['counts']:,} counts: {told['cells']:,} cells around {lowest} to {highest} "
        f"in steps of {told['step']:g}{_unit(told)}, and sums of them in {told['layers']} layers"
    )
