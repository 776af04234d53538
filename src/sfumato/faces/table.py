"""The face of synthetic tables: which blocks were bought, what the columns look like, and what is not in the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.synthetic.blocks import layout_of, marks_of
from sfumato.bases.synthetic.model import ColumnLaw
from sfumato.core.box import Categorical, Interval
from sfumato.faces.base import Asked, Face, Facts
from sfumato.faces.bayes import Attribute, Evidence, Shares
from sfumato.faces.presence import Presence, absence, columns_alone, is_silent
from sfumato.faces.promise import short
from sfumato.faces.scales import axes_of
from sfumato.faces.views import MOST_GROUPS
from sfumato.faces.words import counted, plain, readable
from sfumato.laws import block_deviations
from sfumato.releases.synthetic.table import TableRelease
from sfumato.releases.uncertainty import tail_width

Floats = NDArray[np.float64]

_MOST_COLUMNS = 8  # that a picture shows, beside the shares
_MOST_CATEGORIES = 8
_MOST_LINES = 12  # columns that a terminal lists one by one
_MOST_PAIRS = 6  # of columns, likewise
_MOST_LISTED = 400  # pairs that programs are told
_POINTS = 120  # of a curve
_MEANING = {
    "means": "the count of each class, and a moment of every column in it",
    "norm": "the squared length of a record",
    "spreads": "the spread of every numeric column",
    "pairs": "the product of every pair of numeric columns",
    "rule": "a private classifier, and how its labels and columns go together",
}


@dataclass(frozen=True)
class Marginals(Evidence):
    """A table as it is drawn: the classes' shares, and each column's density in each class."""

    @property
    def title(self) -> str:
        """What it shows."""
        shown, every = len(self.attributes), len(self.axes) - (self.response != "all records")
        words = "how the rows of the table are spread"
        return words if shown == every else f"{words}: {shown} columns of {every}"


def reach(release: TableRelease, confidence: float) -> float:
    """How far noise moves the number of records of a class, with this confidence."""
    law, one = release.law, np.ones(1)
    if law.kind == "blocks":
        law = replace(law, kind="linf", size=block_deviations(law)[0][0])
    unit = release.basis.unit("means", release.box) * release.law.step
    return float(tail_width(law, one, one, 1 - confidence)[0] + law.step) / unit


def values_of(column: ColumnLaw, kind: Interval) -> tuple[Floats, Floats]:
    """Points of a numeric column in its units, and ``(K, points)`` densities; of whole numbers, shares at them."""
    half, middle = kind.high / 2 - kind.low / 2, kind.low / 2 + kind.high / 2
    width = (column.high - column.low) * half
    if not width.all():
        return middle + column.low * half, column.weights
    cells = np.linspace(0, len(width), _POINTS + 1).round().astype(int)  # several narrow cells of an edge as one
    starts, ends = cells[:-1], cells[1:]
    kept = ends > starts
    masses = np.add.reduceat(column.weights, starts[kept], axis=1)
    widths = np.add.reduceat(width, starts[kept])
    centres = (column.low[starts[kept]] + column.high[ends[kept] - 1]) / 2
    return middle + centres * half, masses / widths


class TableFace(Face):
    """What a synthetic table says of itself."""

    kind = "table"
    joined = "of"
    parts = "counts and moments"
    part = "number"
    quantity = "synthetic table"
    release: TableRelease

    @property
    def title(self) -> str:
        return f"a synthetic table of {self.named('many columns')}"

    @property
    def independent(self) -> str:
        """What is known of columns together, plainly."""
        if self.release.atoms is not None:
            known = "means, spreads and products of pairs" if "pairs" in self.release.bought else "means and spreads"
            count = np.count_nonzero(self.release.atoms.weights)
            return f"columns go together as {count:,} points do that a linear program chose by {known}, and no better"
        within = "" if self.release.label is None else f" within a class of {plain(self.release.label)}"
        if self.release.rule is not None:
            return f"{plain(self.release.label or '')} follows a linear rule of the columns; {self._strata}"
        if "pairs" in self.release.bought:
            return f"pairs of numeric columns go together as their noisy products say; others are independent{within}"
        return f"columns are independent{within}: how they go together was not bought (pairs)"

    @property
    def _strata(self) -> str:
        if "pairs" in self.release.bought:
            return "pairs of numeric columns go together as their noisy products say; others are independent in strata"
        return "else columns are independent in strata: how they go together was not bought (pairs)"

    @property
    def method_words(self) -> str:
        """What candidates a linear program had."""
        atoms = self.release.atoms
        assert atoms is not None
        where = "cells of a full grid" if atoms.reach else "points of an ellipsoid about the noisy mean"
        return f"lp: weights of {len(atoms.weights):,} {where}, nearest to the noisy moments in L1"

    @cached_property
    def classes(self) -> list[dict[str, Any]]:
        """Name, number of records and its limits of each class."""
        far, names = reach(self.release, self.confidence), self.release.classes
        counts = self.release.noisy.counts.tolist()
        shares = self.release.densities.shares.tolist()
        return [
            {"class": name, "share": share, "count": count, "low": max(0.0, count - far), "high": max(0.0, count + far)}
            for name, share, count in zip(names, shares, counts, strict=True)
        ]

    # --- terminal and programs --------------------------------------------------------------------------------

    def nothing_there(self) -> list[str]:
        noisy = self.release.noisy
        whole = Presence("of the table", float(noisy.counts.sum()), noisy.of_class * math.sqrt(len(noisy.counts)),
                         noisy.rows)  # fmt: skip
        parts = [Presence(str(one["class"]), one["count"], noisy.of_class) for one in self.classes]
        told = absence(whole, parts if self.release.label is not None else [])
        return told if whole.absent else [*told, *absence(None, self._categories()), *columns_alone(self._silent())]

    def _categories(self) -> list[Presence]:
        """How many records have a declared category, of columns of three or more: their marks add up to that."""
        release, noisy = self.release, self.release.noisy
        layout, found = layout_of(release.box, release.label), []
        place = len(layout.lines) + len(layout.few) + 2 * len(layout.circles)
        for i in layout.groups:
            kind = release.box.columns[i]
            assert isinstance(kind, Categorical)
            marks, count = marks_of(kind), len(kind.categories)
            if count > 2:  # each record has 1 once and -1 for all others
                number = float(noisy.sums[:, place : place + marks].sum()) / (2 - count)
                unsure = noisy.of_class * math.sqrt(marks * len(noisy.counts)) / (count - 2)
                found.append(Presence(release.box.names[i], number, unsure, noisy.rows))
            place += marks
        return found

    def _silent(self) -> list[str]:
        """Columns of numbers whose means and spreads are no more than noise; few whole numbers can have such."""
        release, noisy = self.release, self.release.noisy
        layout, sums = layout_of(release.box, release.label), noisy.sums.sum(axis=0) / noisy.total
        if noisy.spreads is None:
            return []
        unsure = max(noisy.of_class * math.sqrt(len(noisy.counts)), noisy.spreads[1]) / noisy.total
        spread = dict(zip(layout.many, noisy.spreads[0] / noisy.total, strict=True))
        means = dict(zip(layout.lines, sums.tolist(), strict=False))
        return [release.box.names[i] for i, own in spread.items() if is_silent(np.append(means[i], own), unsure)]

    def rows(self, asked: Asked | None = None) -> Facts:
        release = self.release
        return [
            ("rows", [f"{release.rows:,} in .data, which are the same for everybody (seed {release.seed})"]),
            ("blocks", self.block_lines()),
            ("classes", self._class_lines()),
            ("columns", self._column_lines()),
            ("together", [self.independent]),
            *self._pair_lines(),
            *self._rule_lines(),
            *([] if self.release.atoms is None else [("method", [self.method_words])]),
            (
                "missing",
                ["a missing value counted as the middle of its column; a record without a label is in no class"],
            ),
        ]

    def block_lines(self) -> list[str]:
        """What was bought, and for which part of the grant."""
        return [
            f"{word}: {100 * part:.3g} % of the grant, {_MEANING[word]}" for word, part in self.release.bought.items()
        ]

    def pairs(self) -> list[dict[str, Any]]:
        """Correlations of numeric columns: as classes alone make them, and with what was bought; the largest first."""
        release, law = self.release, self.release.densities
        many = layout_of(release.box, release.label).many
        if len(many) < 2:
            return []
        laws, shares = [law.columns[i] for i in many], law.shares
        means = np.stack([one.means for one in laws])
        squares = np.array([shares @ (one.weights @ ((one.low + one.high) / 2) ** 2) for one in laws])
        whole = means @ shares
        spread = np.sqrt(np.maximum(squares - whole**2, 1e-12))
        apart = (means * shares) @ means.T
        known = apart if law.products is None else law.products
        found = [(np.outer(whole, whole), one) for one in (apart, known)]
        alone, both = (np.clip((one - product) / np.outer(spread, spread), -1.0, 1.0) for product, one in found)
        first, second = np.triu_indices(len(many), 1)
        order = np.argsort(-np.maximum(np.abs(both), np.abs(alone))[first, second], kind="stable")
        names = [release.box.names[i] for i in many]
        return [
            {"columns": [names[i], names[j]], "independent": float(alone[i, j]), "correlation": float(both[i, j])}
            for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True)
        ]

    def _pair_lines(self) -> Facts:
        found, bought = self.pairs(), "pairs" in self.release.bought
        told = []
        for one in found[:_MOST_PAIRS]:
            names = " and ".join(plain(name) for name in one["columns"])
            alone = (
                f"{readable(one['independent'], 2)} as {'classes' if self.release.label else 'columns'} alone have it"
            )
            told.append(f"{names}: correlation {readable(one['correlation'], 2)} ({alone})" if bought else
                        f"{names}: correlation {alone}")  # fmt: skip
        more = len(found) - _MOST_PAIRS
        return (
            [("pairs", [*told, *([f"and {counted(more, 'pair')} more, less related"] if more > 0 else [])])]
            if told
            else []
        )

    def _rule_lines(self) -> Facts:
        """The classifier that was bought first, for programs that are not run."""
        rule = self.release.rule
        if rule is None:
            return []
        told = f"a logistic regression with {rule.learned.mechanism} noise, published first"
        return [("rule", [f"labels are drawn from {told} for {float(100 * rule.share):.3g} % of the grant"])]

    def _class_lines(self) -> list[str]:
        return [
            f"{plain(str(one['class']))}: {one['count']:,.0f} records ({one['low']:,.0f} to {one['high']:,.0f}, "
            f"{100 * self.confidence:.10g} % limits), {100 * one['share']:.3g} % of the rows"
            for one in self.classes
        ]

    def _column_lines(self) -> list[str]:
        found = [f"{plain(one['column'])}: {one['words']}" for one in self.marginals()]
        more = len(found) - _MOST_LINES
        return found if more <= 0 else [*found[:_MOST_LINES], f"and {counted(more, 'column')} more"]

    def marginals(self) -> list[dict[str, Any]]:
        """Mean and deviation of every numeric column over all rows, or the shares of categories."""
        box, law = self.release.box, self.release.densities
        found: list[dict[str, Any]] = []
        for i in sorted(law.columns):
            kind, column = box.columns[i], law.columns[i]
            weights = law.shares @ column.weights
            if isinstance(kind, Categorical):
                shares = {str(name): float(share) for name, share in zip(kind.categories, weights, strict=True)}
                few = ", ".join(f"{plain(name)} {100 * share:.3g} %" for name, share in list(shares.items())[:6])
                found.append({"column": box.names[i], "shares": shares, "words": few})
                continue
            middle = (column.low + column.high) / 2
            mean = float(weights @ middle)
            spread = math.sqrt(max(0.0, float(weights @ (middle - mean) ** 2)))
            half = kind.high / 2 - kind.low / 2
            mean, spread = kind.low / 2 + kind.high / 2 + mean * half, spread * half
            words = f"mean {readable(mean, 4)}, deviation {readable(spread, 3)}"
            found.append({"column": box.names[i], "mean": mean, "deviation": spread, "words": words})
        return found

    def data(self) -> dict[str, Any]:
        release = self.release
        return {
            "rows": release.rows,
            "seed": release.seed,
            "method": release.method,
            "blocks": release.bought,
            "label": release.label,
            "classes": [{**one, "confidence": self.confidence} for one in self.classes],
            "columns": self.marginals(),
            "together": self.independent,
            "pairs": self.pairs()[:_MOST_LISTED],
        }

    # --- page, card, code -------------------------------------------------------------------------------------

    def card(self) -> list[tuple[str, str]]:
        return [
            ("rows", f"{self.release.rows:,}"),
            ("blocks", ", ".join(self.release.bought)),
            ("classes", ", ".join(f"{plain(str(one['class']))}: {one['count']:,.0f}" for one in self.classes)),
            ("together", self.independent),
            ("noise", f"in {self.release.law.size:,} {self.parts}, limits of {100 * self.confidence:.10g} %"),
        ]

    def code(self, name: str) -> str:
        lines = [
            "# the rows: a pyarrow table that any tool can use",
            "release.data.to_pandas()",
            f"release.to_parquet({name + '.parquet'!r})",
            "",
            "# others of the same kind, as many as you like: they cost nothing",
            "release.sample(1000, seed=1)",
        ]
        return "\n".join([*self.first_lines(name), *lines])

    # --- pictures ---------------------------------------------------------------------------------------------

    def picture(self) -> Marginals:
        release, law = self.release, self.release.densities
        kept = np.sort(np.argsort(-law.shares, kind="stable")[:MOST_GROUPS])
        far = reach(release, self.confidence) / release.noisy.total
        shares = Shares(
            law.shares[kept], np.maximum(law.shares - far, 0.0)[kept], np.minimum(law.shares + far, 1.0)[kept]
        )
        parts = tuple(self._attribute(i, kept) for i in sorted(law.columns)[:_MOST_COLUMNS])
        names = tuple(plain(str(release.classes[k]), 30) for k in kept)
        caption = f"{short(release.guarantee)}\nwhiskers: {100 * self.confidence:.10g} % limits; {self.independent}"
        return Marginals(axes_of(release.box), plain(release.label or "all records", 30), names, shares, parts, caption)

    def _attribute(self, place: int, kept: NDArray[np.int64]) -> Attribute:
        kind, column = self.release.box.columns[place], self.release.densities.columns[place]
        if isinstance(kind, Categorical):
            order = np.argsort(-(self.release.densities.shares @ column.weights), kind="stable")
            few = np.sort(order[:_MOST_CATEGORIES])
            values: NDArray[Any] = np.array(kind.categories, dtype=object)[few]
            found, categories = column.weights[np.ix_(kept, few)], len(kind.categories)
            return Attribute(place, values, found, found, found, 0.0, categories)
        points, found = values_of(column, kind)
        return Attribute(place, points, found[kept], found[kept], found[kept], 0.0, None)

    @property
    def picture_words(self) -> str:
        return f"shares of classes, and how the columns of the table are spread: {plain(self.independent)}"
