"""Ready-made questions to a summary: means, spreads, shares, densities, losses.

Every one is a weighted sum of moments, or a simple function of a few of them. Those that are polynomials of columns, or
functions of categories, have no approximation error.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.moments.cosine import IndexSet
from sfumato.bases.moments.quadrature import LARGEST_TENSOR, Axis, Query, line_coefficients, nested_axis, to_user
from sfumato.bases.unit import as_numbers, number_of
from sfumato.checks import did_you_mean, finite_number, one_of, positive_number, probability, shown
from sfumato.core.box import Box, Categorical, Date, Interval, Periodic
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.summary.answers import Answer
from sfumato.releases.summary.edges import Range, ends_of, soft_ends, softened
from sfumato.releases.summary.models import Model, fit_linear, fit_logistic, nearest_measure

Floats = NDArray[np.float64]

SOFTNESS = 4.0  # a soft edge this many times the finest wave of a summary is represented well
_FINEST = 4096  # points along a column for functions of one column, at most
_COARSEST = 64  # and at least
_HELD = 2**23  # weights held at once


class Questions(ABC):
    """What can be asked of the moments of a summary without writing a function."""

    rows: int | None

    @property
    @abstractmethod
    def indices(self) -> IndexSet:
        """The frequencies of the moments."""

    @property
    @abstractmethod
    def box(self) -> Box:
        """The columns."""

    @property
    @abstractmethod
    def moments(self) -> Floats:
        """The noisy moments."""

    @abstractmethod
    def linear(self, weights: Floats, missed: Floats, confidence: float, of: int = 0) -> Answer:
        """A weighted sum of moments."""

    @abstractmethod
    def places(self, columns: Any) -> tuple[int, ...]:
        """The positions of named columns."""

    @abstractmethod
    def among(self, places: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The moments of these columns alone."""

    @abstractmethod
    def answer(self, query: Query, *, columns: Any = None, confidence: float = 0.95) -> Answer:
        """The mean of any function."""

    # --- polynomials --------------------------------------------------------------------------------------

    def mean(self, columns: Any = None, confidence: float = 0.95) -> Answer:
        """The mean of each column of a line, in its units: an answer of arrays, or of numbers for one name.

        A circle has none, and no variance or correlation: by default it is left out.
        """
        names = [self.box.names[j] for j in self._lines(columns)]
        found = self._polynomials([{name: 1} for name in names], confidence)
        return found.each(_first) if isinstance(columns, str) else found

    def product(self, columns: Sequence[str], confidence: float = 0.95) -> Answer:
        """The mean of the product of columns, in their units."""
        columns = [columns] if isinstance(columns, str) else list(columns)
        self._lines(columns)
        return self._polynomials([dict.fromkeys(columns, 1)], confidence).each(_first)

    def variance(self, columns: Any = None, confidence: float = 0.95) -> Answer:
        """The variance of each column of a line."""
        names = [self.box.names[j] for j in self._lines(columns)]
        found = self._covariances([(name, name) for name in names], confidence)
        return found.each(_first) if isinstance(columns, str) else found

    def covariance(self, columns: Any = None, confidence: float = 0.95) -> Answer:
        """The covariance matrix of the columns of a line."""
        names = [self.box.names[j] for j in self._lines(columns)]
        first, second = np.triu_indices(len(names))
        pairs = [(names[i], names[j]) for i, j in zip(first, second, strict=True)]
        block = max(1, _HELD // (4 * self.indices.size))  # a few arrays of weights are held for each pair
        parts = [self._covariances(pairs[i : i + block], confidence) for i in range(0, len(pairs), block)]

        def matrix(name: str) -> Floats:
            whole = np.empty((len(names), len(names)))
            whole[first, second] = whole[second, first] = np.concatenate([getattr(part, name) for part in parts])
            return whole

        return Answer(matrix("value"), matrix("error"), matrix("noise_sd"), matrix("approximation"), confidence)

    def correlation(self, columns: Any = None, confidence: float = 0.95) -> Answer:
        """The correlation matrix of the columns of a line, with limits that follow from those of the covariances."""
        names = [self.box.names[j] for j in self._lines(columns)]
        third = 1 - (1 - probability("confidence", confidence)) / 3  # a covariance and two variances, all at once
        matrix = self.covariance(names, third)
        spread = np.diag(matrix.value)
        with np.errstate(all="ignore"):
            scale = np.sqrt(np.maximum(np.outer(spread, spread), 0.0))
            value = np.where(scale > 0, matrix.value / scale, 0.0)
            low, high = (np.maximum(spread + sign * np.diag(matrix.error), 0.0) for sign in (-1, 1))
            ends = []
            for sign in (-1, 1):
                edge = matrix.value + sign * matrix.error
                # A positive edge is furthest out with small variances if it is the upper one, else with large ones.
                small, large = np.sqrt(np.outer(low, low)), np.sqrt(np.outer(high, high))
                divisor = np.where((edge > 0) == (sign > 0), small, large)
                ends.append(np.where(divisor > 0, edge / divisor, math.inf * np.sign(edge)))
            sd = np.where(scale > 0, matrix.noise_sd / scale, math.inf)
        value = np.clip(value, -1, 1)
        np.fill_diagonal(value, 1.0)
        error = np.maximum(np.clip(ends[1], -1, 1) - value, value - np.clip(ends[0], -1, 1))
        np.fill_diagonal(error, 0.0)
        return Answer(value, error, sd, np.zeros_like(value), confidence)

    def _numeric(self, columns: Any) -> tuple[int, ...]:
        if columns is None:
            found = tuple(j for j, kind in enumerate(self.box.columns) if isinstance(kind, Interval))
        else:
            found = self.places(columns)
            Box({self.box.names[j]: self.box.columns[j] for j in found}).intervals()  # refuses categories
        if not found:
            raise ParameterError("the summary has no numeric columns")
        return found

    def _lines(self, columns: Any) -> tuple[int, ...]:
        """Numeric columns that do not go round a circle, refusing those that do."""
        circles = [j for j in self._numeric(columns) if isinstance(self.box.columns[j], Periodic)]
        if circles and columns is not None:
            raise circular(self.box, self.box.names[circles[0]])
        found = tuple(j for j in self._numeric(columns) if j not in circles)
        if not found:
            raise circular(self.box, self.box.names[circles[0]])
        return found

    def _polynomials(self, powers: Sequence[Mapping[str, int]], confidence: float) -> Answer:
        """Means of products of powers (1 or 2) of columns, without approximation error."""
        weights = np.stack([self._power_weights(power) for power in powers])
        return self.linear(weights, np.zeros(len(weights)), confidence)

    def _power_weights(self, powers: Mapping[str, int]) -> Floats:
        places = self.places(list(powers))
        axes = []
        for place, power in zip(places, powers.values(), strict=True):
            kind = self.box.columns[place]
            assert isinstance(kind, Interval)
            middle, half = kind.low / 2 + kind.high / 2, kind.high / 2 - kind.low / 2
            line = np.array([middle, half])
            axes.append(np.polynomial.chebyshev.chebpow(line, power)[None, :])
        weights, missed = self._separable(places, axes)
        if missed[0] > 1e-9 * max(1.0, float(np.abs(weights).sum())):
            order = 1 + max(powers.values())
            raise ParameterError(
                f"the summary has no moments for the product of {dict(powers)!r}: make it with degree={order} or more "
                f"and interactions={len(powers)} or more"
            )
        return np.asarray(weights[0])

    def _covariances(self, pairs: Sequence[tuple[str, str]], confidence: float) -> Answer:
        """``E[xy] - E[x] E[y]`` about the middles of the columns, and limits for all three together."""
        third = 1 - (1 - probability("confidence", confidence)) / 3
        shift = {name: self.box.columns[j].low / 2 + self.box.columns[j].high / 2  # type: ignore[union-attr]
                 for j, name in enumerate(self.box.names) if isinstance(self.box.columns[j], Interval)}  # fmt: skip
        names = list(dict.fromkeys(name for pair in pairs for name in pair))
        single = np.stack([self._power_weights({name: 1}) for name in names])
        single[:, 0] -= [shift[name] for name in names]
        where = {name: i for i, name in enumerate(names)}
        products = []
        for a, b in pairs:
            own = self._power_weights({a: 2} if a == b else {a: 1, b: 1})
            both = own - shift[a] * single[where[b]] - shift[b] * single[where[a]]
            both[0] -= shift[a] * shift[b]
            products.append(both)
        first = self.linear(single, np.zeros(len(single)), third)
        second = self.linear(np.stack(products), np.zeros(len(pairs)), third)
        left, right = ([where[pair[side]] for pair in pairs] for side in (0, 1))
        mean_a, mean_b = first.value[left], first.value[right]
        value = second.value - mean_a * mean_b
        error_a, error_b = first.error[left], first.error[right]
        error = second.error + np.abs(mean_a) * error_b + np.abs(mean_b) * error_a + error_a * error_b
        slopes = np.stack(products) - mean_a[:, None] * single[right] - mean_b[:, None] * single[left]
        sd = self.linear(slopes, np.zeros(len(pairs)), confidence).noise_sd
        same = np.array([a == b for a, b in pairs])
        return Answer(np.where(same, np.maximum(value, 0.0), value), error, sd, np.zeros(len(pairs)), confidence)

    # --- products of functions of one column --------------------------------------------------------------

    def share(self, conditions: Mapping[str, Any], softness: Any = None, confidence: float = 0.95) -> Answer:
        """The share of records that meet all conditions; of ranges, with softened edges.

        ``answer.softness`` is how soft they are, and ``answer.sharp`` limits for the share within the sharp ones.

        Parameters
        ----------
        conditions
            For a categorical column a category, or a list of them (exact); for a numeric column a range
            ``(low, high)``, either of which may be None (soft: a Gaussian edge, so that the question is a smooth one;
            none where it is at or beyond the column's bounds). Of a circle ``(22, 4)`` goes through the bounds.
        softness
            The deviation of soft edges in the column's units: a number, or a mapping from names; by default as sharp as
            the summary can follow. ``0``: hard edges. The value then is the share that the nearest measure has there
            (of at most four columns), and ``error`` reaches to the further of the limits of ``sharp``.

        Formal guarantee: with probability at least ``confidence`` over the noise the share of records within the soft
        edges is within ``error`` of ``value``; with the same probability the share of those within the sharp edges
        lies between the limits of ``sharp``.
        """
        if np.isscalar(softness) and softness == 0 and not isinstance(softness, bool | str):
            return self._hard_share(conditions, confidence)
        places = self.places(list(conditions))
        parts = [self._condition(place, conditions[self.box.names[place]], softness) for place in places]
        weights, missed = self._separable(places, [axis for axis, _ in parts], 1.0, all(seen for _, seen in parts))
        found = self.linear(weights, missed, confidence).each(_first).within(0.0, 1.0)
        edges = {name: one for name in conditions if (one := self._range(name, conditions[name])).sharp}
        soft = {name: self._softness(name, softness) for name in edges}
        return replace(found, softness=soft, sharp=self._sharp(conditions, edges, confidence) if edges else None)

    def _hard_share(self, conditions: Mapping[str, Any], confidence: float) -> Answer:
        """The share within hard edges under the nearest measure, with the limits that hold for the records."""
        soft = self.share(conditions, None, confidence)
        if soft.sharp is None:
            return soft
        places = self.places(list(conditions))
        if len(places) > LARGEST_TENSOR:
            raise ParameterError.of(
                "softness", f"0 (hard edges) is for at most {LARGEST_TENSOR} columns, got {len(places)}: leave some out"
            )
        axes, measure = self._nearest(tuple(sorted(places)))
        for place, axis in zip(sorted(places), axes, strict=True):
            name = self.box.names[place]
            measure = np.tensordot(self._inside(place, conditions[name], len(axis.nodes)), measure, axes=(0, 0))
        value = float(np.clip(measure, *soft.sharp))
        error = max(value - soft.sharp[0], soft.sharp[1] - value)
        return replace(soft, value=value, error=error, approximation=max(0.0, error - soft.error), softness={})

    def _nearest(self, places: tuple[int, ...]) -> tuple[list[Axis], Floats]:
        """The nearest measure of these columns, worked out once."""
        found: dict[Any, Any] = self.__dict__.setdefault("_measures", {})
        if places not in found:
            found[places] = nearest_measure(self, places)
        return found[places]  # type: ignore[no-any-return]

    def _inside(self, place: int, condition: Any, count: int) -> Floats:
        """Which part of each of so many even cells of angles lies within a range; which categories are meant."""
        kind, name = self.box.columns[place], self.box.names[place]
        if isinstance(kind, Categorical):
            wanted = condition if isinstance(condition, list | tuple | set) else [condition]
            return np.array([float(category in wanted) for category in kind.categories])
        return self._range(name, condition).within(count)

    def _softness(self, name: str, softness: Any = None) -> float:
        """The deviation of soft edges of a column: as asked for, or as sharp as the summary can follow."""
        place = self.box.names.index(name)
        kind, asked = self.box.columns[place], softness.get(name) if isinstance(softness, Mapping) else softness
        assert isinstance(kind, Interval)
        sharpest = (kind.high / 2 - kind.low / 2) * min(1.0, SOFTNESS / self.indices.shape[place])
        return sharpest if asked is None else positive_number("softness", asked)

    def _range(self, name: str, condition: Any) -> Range:
        """A condition on a column as a range; of categories, one without edges."""
        kind = self.box.columns[self.box.names.index(name)]
        if isinstance(kind, Interval):
            return Range.of(_ranges(kind, name, condition), (kind.low, kind.high))
        return Range.of([(None, None)], (0.0, 1.0))

    def _sharp(
        self, conditions: Mapping[str, Any], edges: Mapping[str, Range], confidence: float
    ) -> tuple[float, float]:
        """Limits for the share of records that meet conditions with sharp edges; ``edges`` proves that they hold."""
        pairs: dict[str, tuple[Floats, Floats]] = {}  # below and above each condition; a range without edges is none
        for place, name in zip(self.places(list(conditions)), conditions, strict=True):
            if name in edges:
                pairs[name] = edges[name].between(self.indices.shape[place])
            elif isinstance(self.box.columns[place], Categorical):
                pairs[name] = (self._condition(place, conditions[name], None)[0][0],) * 2
        above = self._product({name: high for name, (_, high) in pairs.items()})
        terms = [
            self._product({name: low if name == one else high for name, (low, high) in pairs.items()}) for one in edges
        ]
        less = len(terms) - 1
        below = sum(w for w, _ in terms) - less * above[0], sum(m for _, m in terms) + less * above[1]
        both = (1 + probability("confidence", confidence)) / 2  # each limit may fail half as often
        ends = [self.linear(weights, missed, both).each(_first).interval() for weights, missed in (below, above)]
        low, high = (float(np.clip(end, 0.0, 1.0)) for end in (ends[0][0], ends[1][1]))
        return min(low, high), high

    def _product(self, axes: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Weights of a product of functions of one column each, and what the summary leaves out of it."""
        return self._separable(self.places(list(axes)), [axis[None, :] for axis in axes.values()])

    def count(self, conditions: Mapping[str, Any], softness: Any = None, confidence: float = 0.95) -> Answer:
        """The same as a number of records, where their number is public."""
        if self.rows is None:
            raise ParameterError("the number of records is private under this guarantee: ask for a share")
        rows, found = float(self.rows), self.share(conditions, softness, confidence)
        sharp = None if found.sharp is None else (rows * found.sharp[0], rows * found.sharp[1])
        return replace(found.each(lambda part: rows * part), sharp=sharp)

    def kde(self, points: ArrayLike, bandwidth: Any, columns: Any = None, confidence: float = 0.95) -> Answer:
        """A Gaussian kernel density estimate at ``(m, d)`` points, for any bandwidth (a number or one per column).

        Kernels that are narrow for the summary's degree have large errors, and the answer says so.
        """
        places = self._numeric(columns)
        if columns is None and len(places) < self.box.dimension:
            raise ParameterError("name the columns of the density: columns=[...]; it needs numeric ones")
        where = _numbers("points", points, Box({self.box.names[j]: self.box.columns[j] for j in places}))
        where = where.reshape(-1, 1) if where.ndim <= 1 and len(places) == 1 else where
        if where.ndim != 2 or where.shape[1] != len(places) or not np.isfinite(where).all():
            raise ParameterError(f"points must be finite numbers of shape (m, {len(places)}), got shape {where.shape}")
        widths = _numbers("bandwidth", bandwidth)
        if widths.shape not in ((), (len(places),)):
            raise ParameterError(f"bandwidth must be a number or one per column ({len(places)}), got {bandwidth!r}")
        widths = np.broadcast_to(widths, (len(places),))
        for width in widths.tolist():
            positive_number("bandwidth", width)
        found = [self._nodes(place, width) for place, width in zip(places, widths.tolist(), strict=True)]
        axes_nodes, seen = [nodes for nodes, _ in found], all(fine for _, fine in found)
        height = math.prod(1 / (width * math.sqrt(2 * math.pi)) for width in widths.tolist())
        values, block = [], max(1, _HELD // max(self.indices.size, *map(len, axes_nodes)))
        for start in range(0, max(1, len(where)), block):
            axes = []
            for i, nodes in enumerate(axes_nodes):
                kernel = np.exp(-0.5 * ((where[start : start + block, i, None] - nodes) / widths[i]) ** 2)
                axes.append(line_coefficients(kernel / (widths[i] * math.sqrt(2 * math.pi))))
            weights, missed = self._separable(places, axes, height, seen)
            values.append(self.linear(weights, missed, confidence, of=len(where)))
        names = ("value", "error", "noise_sd", "approximation")
        value, error, sd, missed = (np.concatenate([getattr(v, name) for v in values]) for name in names)
        return Answer(value, error, sd, missed, confidence).within(0.0, math.inf)

    def _nodes(self, place: int, width: float) -> tuple[Floats, bool]:
        """Fine points of a numeric column, in its units, and whether they see all of a Gaussian of deviation ``width``.

        Its cosine coefficients fall like ``exp(-(n width)^2 / 2)`` on [-1, 1]: beyond 8 / width they are below 1e-13.
        """
        kind = self.box.columns[place]
        assert isinstance(kind, Interval)
        waves = 8 * (kind.high / 2 - kind.low / 2)
        enough = math.ceil(waves / width) if waves < _FINEST * width else _FINEST
        count = max(_COARSEST, enough, 4 * self.indices.shape[place])
        angles = (np.arange(count) + 0.5) * (math.pi / count)
        return to_user(self.box, [place], np.cos(angles)[:, None])[:, 0], waves <= count * width

    def _condition(self, place: int, condition: Any, softness: Any) -> tuple[Floats, bool]:
        """``(1, N)`` coefficients of one condition on one column, and whether the points see all of it."""
        kind, name = self.box.columns[place], self.box.names[place]
        if isinstance(kind, Categorical):
            wanted = condition if isinstance(condition, list | tuple | set) else [condition]
            for category in wanted:
                if category not in kind.categories:
                    near = did_you_mean(category, kind.categories)
                    raise ParameterError(
                        f"{category!r} is no category of column {name!r}: {list(kind.categories)}{near}"
                    )
            chosen = [i for i, category in enumerate(kind.categories) if category in wanted]
            return np.asarray(nested_axis(len(kind.categories)).transform[:, chosen].sum(axis=1)[None, :]), True
        low, high, around = soft_ends(kind, _ranges(kind, name, condition))
        width = self._softness(name, softness)
        nodes, seen = self._nodes(place, width)
        return line_coefficients(softened(nodes, low, high, width, around)[None, :]), seen

    def _separable(
        self, places: Sequence[int], axes: Sequence[Floats], largest: float = math.inf, seen: bool = True
    ) -> tuple[Floats, Floats]:
        """Weights of products of functions of one column each, ``(m, N_j)`` coefficients, and what they leave out.

        The products lie between 0 and ``largest``; what coefficients tell counts only if points have ``seen`` them all.
        """
        rows, frequencies = self.among(places)
        weights = np.zeros((len(axes[0]), self.indices.size))
        kept = np.ones((len(axes[0]), len(rows)))
        for axis, own in zip(axes, frequencies.T, strict=True):
            short = int(own.max(initial=0)) + 1 - axis.shape[1]
            kept *= np.take(np.pad(axis, ((0, 0), (0, short))) if short > 0 else axis, own, axis=1)
        weights[:, rows] = kept
        whole = np.prod([np.abs(axis).sum(axis=1) for axis in axes], axis=0)
        sizes = np.abs(kept).sum(axis=1)
        return weights, np.minimum(np.maximum(whole - sizes, 0.0) if seen else math.inf, largest + sizes)

    # --- models -------------------------------------------------------------------------------------------

    def loss(self, model: Model, confidence: float = 0.95) -> Answer:
        """The mean loss of a given model over the records: squared for a linear one, logistic for a logistic one."""
        if not isinstance(model, Model):
            raise ParameterTypeError(f"model must be an sf.Model, got {shown(model)}")
        if model.kind == "logistic":
            columns = [*model.columns, model.response]
            self.places(columns)
            return self.answer(model.loss_at(self.box), columns=columns, confidence=confidence)
        names = [model.response, *model.columns]
        self._numeric(names)
        slopes = dict(zip(names, (1.0, *(-w for w in model.coefficients)), strict=True))
        weights = np.zeros(self.indices.size)
        weights[0] = model.intercept**2
        for i, a in enumerate(names):
            weights += -2 * model.intercept * slopes[a] * self._power_weights({a: 1})
            weights += slopes[a] ** 2 * self._power_weights({a: 2})
            for b in names[i + 1 :]:
                weights += 2 * slopes[a] * slopes[b] * self._power_weights({a: 1, b: 1})
        return self.linear(weights[None, :], np.zeros(1), confidence).each(_first)

    def fit(self, response: str, columns: Any = None, kind: str = "linear", ridge: float | None = None) -> Model:
        """The model of least released loss, plus a penalty that keeps noise out.

        Parameters
        ----------
        response
            For ``"linear"`` a numeric column; for ``"logistic"`` a categorical one with two categories, of which the
            second is the one whose probability is modelled.
        columns
            The numeric columns to predict from; by default all others that do not go round a circle.
        ridge
            The penalty on squared slopes, of columns scaled to [-1, 1]; by default as large as the noise suggests.
        """
        one_of("kind", kind, ("linear", "logistic"))
        self.places(response)
        columns = [columns] if isinstance(columns, str) else columns
        names = [n for n in self.box.names if n != response] if columns is None else list(columns)
        if response in names:
            raise ParameterError(f"the response {response!r} must not be among the columns {names}")
        if columns is None:
            kinds = dict(zip(self.box.names, self.box.columns, strict=True))
            names = [n for n in names if isinstance(kinds[n], Interval) and not isinstance(kinds[n], Periodic)]
        self.places(names)
        self._lines([*names, response] if kind == "linear" else names)
        if ridge is not None:
            positive_number("ridge", ridge)
        return (fit_linear if kind == "linear" else fit_logistic)(self, response, names, ridge)


def circular(box: Box, name: str) -> ParameterError:
    """What to ask instead of a mean, a spread or a product of numbers that go round a circle."""
    kind = box.columns[box.names.index(name)]
    assert isinstance(kind, Periodic)
    turn, morning = 2 * math.pi / (kind.high - kind.low), kind.low + (kind.high - kind.low) / 4
    angle = f"{turn:.6g} * ({name} - {kind.low:g})"
    return ParameterError(
        f"column {shown(name)} goes round a circle, where a mean of numbers says nothing: ask for shares, such as "
        f"share({{{name!r}: ({kind.high:g}, {morning:g})}}), or for the two parts of the mean direction: "
        f"answer('mean(cos({angle}))') and answer('mean(sin({angle}))')",
        parameter="columns",
    )


def _ranges(kind: Interval, name: str, condition: Any) -> list[tuple[float, float]]:
    """The range of a condition, in two parts where it goes through a circle's bounds."""
    if not isinstance(condition, list | tuple) or len(condition) != 2:
        raise ParameterTypeError(
            f"the condition on column {shown(name)} must be a range (low, high), got {shown(condition)}"
        )
    low, high = (None if end is None else _edge(kind, name, end) for end in condition)
    return ends_of(kind, name, low, high)


def _edge(kind: Interval, name: str, end: Any) -> float:
    """An end of a range of a column, in days where it is a date."""
    return number_of(kind, end) if isinstance(kind, Date) else finite_number(f"an end of the range of {name!r}", end)


def _numbers(name: str, given: Any, box: Box | None = None) -> Floats:
    """Public numbers; in the units of a box, where dates are days."""
    try:
        return np.asarray(given, dtype=np.float64) if box is None else as_numbers(box, given)
    except (TypeError, ValueError):
        raise ParameterTypeError(f"{name} must be numbers, got {shown(given)}") from None


def _first(part: Floats) -> Any:
    return part.reshape(-1)[0]
