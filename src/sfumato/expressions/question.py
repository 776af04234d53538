"""Answering a question that was written as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.moments.quadrature import LARGEST_TENSOR
from sfumato.core.box import Interval, Periodic
from sfumato.expressions.grammar import Parser
from sfumato.expressions.points import Sight, Written, look
from sfumato.expressions.tokens import complaint
from sfumato.expressions.tree import Between, Node, product
from sfumato.releases.summary.answers import Answer
from sfumato.releases.summary.questions import circular

if TYPE_CHECKING:
    from sfumato.releases.summary.summary import SummaryRelease

Floats = NDArray[np.float64]

_CELLS = 8  # along each column, to see whether a function moves at all


def ask(summary: SummaryRelease, text: str, confidence: float = 0.95, damping: str = "none") -> Answer:
    """What a summary says about a question in words (the grammar is in the docstring of this package).

    Parameters
    ----------
    confidence, damping
        As for ``SummaryRelease.answer``.

    >>> import numpy as np, sfumato as sf
    >>> rows = np.linspace(20.0, 60.0, 10_000)
    >>> summary = sf.summarize(rows, sf.Box([(0, 110)]), sf.Privacy(epsilon=1.0), degree=8)
    >>> abs(ask(summary, "mean(2*x0 + 1)").value - 81) < 1
    True
    """
    return read(text, summary).answer(confidence, damping)


def read(text: str, summary: SummaryRelease) -> Question:
    """Read a question about the columns of a summary; nothing is answered yet."""
    statistic, parts = Parser(text, summary.box, summary.indices.shape).question()
    names = {node.column for part in parts for node in part.walk()}
    columns = tuple(name for name in summary.box.names if name in names)
    if not columns:
        there = ", ".join(summary.box.names[:8])
        raise complaint(
            text, 0, len(text), f"the question names no column, so there is nothing to ask; there are {there}"
        )
    return Question(summary, text, statistic, parts, columns)


@dataclass(frozen=True, eq=False)
class Question:
    """A question that was read: a statistic of one or two functions of the columns that they name."""

    summary: SummaryRelease
    text: str
    statistic: str
    parts: tuple[Node, ...]
    columns: tuple[str, ...]

    @cached_property
    def seen(self) -> tuple[Sight, ...]:
        """The functions at a few public points, refusing those that are not finite there."""
        return tuple(look(self._written(part)) for part in self.parts)

    @property
    def softness(self) -> dict[str, float]:
        """The deviations of softened edges, by what they are edges of."""
        found = {}
        for node in (node for part in self.parts for node in part.walk()):
            if isinstance(node.does, Between) and node.does.edges:
                inside = node.parts[0]
                found[inside.column or self.text[inside.start : inside.end].strip()] = node.does.softness
        return found

    @property
    def reach(self) -> float:
        """About how far an answer could be off if nothing were known but the box: beyond, an error says nothing."""
        half = [(one.high - one.low) / 2 for one in self.seen]
        if self.statistic == "correlation":
            return 1.0
        return {"variance": half[0] ** 2, "covariance": half[0] * half[-1]}.get(self.statistic, half[0])

    def answer(self, confidence: float = 0.95, damping: str = "none") -> Answer:
        """The answer; from the exact moments where there are some, else from the functions' own coefficients."""
        for part in self.parts:
            kind = None if part.column is None else self.summary.box.columns[self.summary.box.names.index(part.column)]
            if isinstance(kind, Periodic):
                raise complaint(self.text, part.start, part.end, str(circular(self.summary.box, str(part.column))))
        constant = [
            part
            for part, one in zip(self.parts, self.seen, strict=True)
            if one.low == one.high and self._constant(part)
        ]
        if constant and self.statistic == "correlation":
            raise complaint(self.text, constant[0].start, constant[0].end, "a constant has no correlation")
        if self.statistic in ("mean", "share"):
            return self._mean(confidence, damping)
        plain = [part.column for part in self.parts if self._exact(part, damping)]
        if len(plain) == len(self.parts):
            return self._of_columns([name for name in plain if name is not None], confidence)
        if self.statistic == "correlation":
            return self._correlation(confidence, damping)
        left, right = (self.parts * 2)[:2]
        same = self.statistic != "covariance"
        found = self._covariances([left] if same else [left, right], [(0, 0) if same else (0, 1)], confidence, damping)
        one = found.each(lambda part: part[0])
        if same:
            one = one.within(0.0, math.inf)
        return root(one) if self.statistic == "sd" else one

    def _constant(self, part: Node) -> bool:
        """Whether it is the same everywhere, also between points."""
        if len(self.columns) > LARGEST_TENSOR:
            return True  # as far as points show
        low, high = self._written(part).limits([_CELLS] * len(self.columns))
        return bool(high.max() - low.min() <= 1e-8 * max(abs(low.min()), abs(high.max())))

    # --- means ------------------------------------------------------------------------------------------------

    def _mean(self, confidence: float, damping: str) -> Answer:
        (part,) = self.parts
        summary, conditions = self.summary, part.conditions
        names = [condition.column for condition in conditions]
        if damping == "none" and conditions and len({*names}) == len(names):
            wanted = {condition.column: condition.wanted for condition in conditions}
            softness = {c.column: c.softness for c in conditions if c.softness is not None}
            return summary.share(wanted, softness, confidence)
        if part.column is not None and self._exact(part, damping):
            return summary.mean(part.column, confidence)
        found = summary.answer(self._written(part), columns=self.columns, confidence=confidence, damping=damping)
        return replace(found.within(0.0, 1.0) if part.soft else found, softness=self.softness)

    # --- spreads ----------------------------------------------------------------------------------------------

    def _exact(self, part: Node, damping: str) -> bool:
        """Whether the summary's own methods, which are exact for numeric columns, can be used."""
        if part.column is None or damping != "none":
            return False
        return isinstance(self.summary.box.columns[self.summary.box.names.index(part.column)], Interval)

    def _of_columns(self, names: Sequence[str], confidence: float) -> Answer:
        summary = self.summary
        if self.statistic in ("variance", "sd"):
            found = summary.variance(names[0], confidence)
            return root(found) if self.statistic == "sd" else found
        if names[0] == names[1]:
            if self.statistic == "covariance":
                return summary.variance(names[0], confidence)
            return Answer(1.0, 0.0, 0.0, 0.0, confidence)
        ask_for = summary.covariance if self.statistic == "covariance" else summary.correlation
        return ask_for(names, confidence).each(lambda part: part[0, 1])

    def _covariances(
        self, parts: Sequence[Node], pairs: Sequence[tuple[int, int]], confidence: float, damping: str
    ) -> Answer:
        """``E[ab] - E[a] E[b]`` about the middles of their ranges, with limits for all three together."""
        third = 1 - (1 - confidence) / 3
        centred = [_shifted(part, one.middle) for part, one in zip(parts, self.seen, strict=True)]
        products = [_times(centred[a], centred[b]) for a, b in pairs]
        every = [self._written(part) for part in (*centred, *products)]
        found = self.summary.answer_many(every, columns=self.columns, confidence=third, damping=damping)
        value, error, missed = (np.asarray(v) for v in (found.value, found.error, found.approximation))
        left, right, both = [a for a, _ in pairs], [b for _, b in pairs], np.arange(len(pairs)) + len(parts)

        def widened(off: Floats) -> Floats:
            cross = np.abs(value[left]) * off[right] + np.abs(value[right]) * off[left]
            return np.asarray(off[both] + cross + off[left] * off[right])

        slopes = [
            self._written(_slope(p, (centred[a], float(value[a])), (centred[b], float(value[b]))))
            for p, (a, b) in zip(products, pairs, strict=True)
        ]
        noise = self.summary.answer_many(slopes, columns=self.columns, confidence=confidence, damping=damping).noise_sd
        spread = value[both] - value[left] * value[right]
        return Answer(spread, widened(error), noise, widened(missed), confidence, found.known)

    def _correlation(self, confidence: float, damping: str) -> Answer:
        """A covariance by two deviations, with limits that follow from those of all three."""
        third = 1 - (1 - confidence) / 3
        found = self._covariances(self.parts, [(0, 1), (0, 0), (1, 1)], third, damping)
        noise = float(found.noise_sd[0])
        value, error = correlated(found.value, found.error)
        scale = math.sqrt(max(0.0, found.value[1])) * math.sqrt(max(0.0, found.value[2]))
        if scale <= 0:  # noise has made a variance negative: nothing is known
            return Answer(value, error, math.inf, 0.0, confidence, found.known)
        missed = min(error, correlated(found.value, found.approximation)[1])
        return Answer(value, error, noise / scale, missed, confidence, found.known)

    def _written(self, node: Node) -> Written:
        return Written(node, self.columns, self.text, self.summary.box)


def _shifted(node: Node, by: float) -> Node:
    return Node(node.start, node.end, np.subtract, (node, _number(node, by)))


def _number(at: Node, value: float) -> Node:
    return Node(at.start, at.end, value)


def _times(one: Node, other: Node) -> Node:
    return Node(min(one.start, other.start), max(one.end, other.end), product, (one, other))


def _slope(both: Node, left: tuple[Node, float], right: tuple[Node, float]) -> Node:
    """How a covariance moves with the moments: ``ab - mean(a) b - mean(b) a``."""
    (a, mean_a), (b, mean_b) = left, right
    less = [_times(_number(both, mean), other) for mean, other in ((mean_a, b), (mean_b, a))]
    first = Node(both.start, both.end, np.subtract, (both, less[0]))
    return Node(both.start, both.end, np.subtract, (first, less[1]))


def root(variance: Answer) -> Answer:
    """The deviation that belongs to a variance, with limits that belong to its limits."""
    value = math.sqrt(max(0.0, variance.value))

    def off(error: float) -> float:
        low, high = math.sqrt(max(0.0, variance.value - error)), math.sqrt(max(0.0, variance.value + error))
        return max(high - value, value - low)

    noise = variance.noise_sd / (2 * value) if value > 0 else math.inf
    return Answer(value, off(variance.error), noise, off(variance.approximation), variance.confidence, variance.known)


def correlated(value: Floats, error: Floats) -> tuple[float, float]:
    """A correlation and its error, from a covariance and two variances, each of which may be off by its error."""
    small, large = (np.sqrt(np.maximum(value[1:] + sign * error[1:], 0.0)).prod() for sign in (-1, 1))
    scale = np.sqrt(np.maximum(value[1:], 0.0)).prod()
    found = float(np.clip(value[0] / scale, -1, 1)) if scale > 0 else 0.0
    ends = []
    for sign in (-1, 1):
        edge = float(value[0] + sign * error[0])
        # An edge is furthest out with small variances if it points outwards, else with large ones.
        by = float(small if (edge > 0) == (sign > 0) else large)
        ends.append(max(-1.0, min(1.0, edge / by)) if by > 0 else float(np.sign(edge)))
    return found, max(ends[1] - found, found - ends[0])
