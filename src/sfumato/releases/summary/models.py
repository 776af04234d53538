"""Linear and logistic models that are fitted to a summary: post-processing of public numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from sfumato.bases.density.binning import contract
from sfumato.bases.density.measure import to_simplex
from sfumato.bases.moments.quadrature import LARGEST_TENSOR, Axis, Query, category_values, fine_axis, nested_axis
from sfumato.checks import finite_number, one_of, shown
from sfumato.core.box import Box, Categorical, Interval
from sfumato.errors import ParameterError, ParameterTypeError

Floats = NDArray[np.float64]

_GRID = 128  # points along a single column of a grid, fewer for more columns
_STEPS = 400


@dataclass(frozen=True)
class Model:
    """A public linear predictor of a response: ``intercept + coefficients . x``, in the columns' units.

    Parameters
    ----------
    kind
        ``"linear"``: predicts the response; ``"logistic"``: the log odds of its second category.

    >>> Model("linear", "bmi", ("age",), (0.1,), 22.0).predict([[40.0]]).tolist()
    [26.0]
    """

    kind: str
    response: str
    columns: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def __post_init__(self) -> None:
        one_of("kind", self.kind, ("linear", "logistic"))
        for name in ("columns", "coefficients"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
                raise ParameterTypeError(f"{name} must be a list, one entry for each column, got {name}={shown(given)}")
        slopes = tuple(finite_number("a coefficient", float(w)) for w in self.coefficients)
        object.__setattr__(self, "coefficients", slopes)
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "intercept", finite_number("intercept", self.intercept))
        if len(self.columns) != len(slopes):
            raise ParameterError(f"there are {len(self.columns)} columns and {len(slopes)} coefficients")

    def predict(self, points: ArrayLike) -> Floats:
        """The response at ``(m, k)`` points in the columns' units; for a logistic model the probability."""
        found = np.asarray(points, dtype=np.float64)
        if found.ndim != 2 or found.shape[1] != len(self.columns):
            raise ParameterError(f"points must have shape (m, {len(self.columns)}), got shape {found.shape}")
        score = self.intercept + found @ np.array(self.coefficients)
        return np.asarray(score) if self.kind == "linear" else np.asarray(1 / (1 + np.exp(-np.clip(score, -700, 700))))

    def loss_at(self, box: Box) -> Query:
        """The logistic loss as a function of points ``(x, y)``, where y is the response as a query sees it."""
        second = float(category_values(_two_categories(box, self.response))[1])
        slopes = np.array(self.coefficients)

        def loss(points: Floats) -> Floats:
            sign = np.where(points[:, -1] == second, 1.0, -1.0)
            return np.asarray(np.logaddexp(0.0, -sign * (self.intercept + points[:, :-1] @ slopes)))

        return loss


def _two_categories(box: Box, response: str) -> Categorical:
    kind = box.columns[box.names.index(response)]
    if not isinstance(kind, Categorical) or len(kind.categories) != 2:
        raise ParameterError(f"a logistic model needs a response with two categories, column {response!r} has not")
    return kind


def _scales(box: Box, names: Sequence[str]) -> tuple[Floats, Floats]:
    kinds = [box.columns[box.names.index(name)] for name in names]
    assert all(isinstance(kind, Interval) for kind in kinds)
    low, high = np.array([k.low for k in kinds]), np.array([k.high for k in kinds])  # type: ignore[union-attr]
    return low / 2 + high / 2, high / 2 - low / 2


def _unscaled(kind: str, response: str, names: Sequence[str], box: Box, slopes: Floats, intercept: float) -> Model:
    """A model of scaled columns (and, if linear, a scaled response) in the user's units."""
    middle, half = _scales(box, names)
    offset, factor = 0.0, 1.0
    if kind == "linear":
        middles, halves = _scales(box, [response])
        offset, factor = float(middles[0]), float(halves[0])
    own = slopes * factor / half
    return Model(kind, response, tuple(names), tuple(own.tolist()), float(intercept * factor + offset - own @ middle))


def fit_linear(summary: Any, response: str, names: list[str], ridge: float | None) -> Model:
    """Least squares from the noisy second moments; directions that the noise has turned negative count for nothing."""
    matrix = summary.covariance([*names, response])
    means = summary.mean([*names, response]).value
    middle, half = _scales(summary.box, [*names, response])
    scaled = matrix.value / np.outer(half, half)
    centre = (means - middle) / half
    noise = float(np.max(matrix.noise_sd / np.outer(half, half))) * math.sqrt(len(names))
    values, vectors = np.linalg.eigh(scaled[:-1, :-1])
    spread = np.maximum(values, 0.0)
    # By default a direction is trusted as far as its spread exceeds the noise, in squares.
    inverse = spread / (spread**2 + max(noise, 1e-12) ** 2) if ridge is None else 1 / (spread + ridge)
    slopes = vectors @ ((vectors.T @ scaled[:-1, -1]) * inverse)
    return _unscaled("linear", response, names, summary.box, slopes, float(centre[-1] - slopes @ centre[:-1]))


def nearest_measure(summary: Any, places: Sequence[int]) -> tuple[list[Axis], Floats]:
    """The measure on a grid, nowhere negative and of sum one, whose moments come nearest to the noisy ones."""
    rows, frequencies = summary.among(places)
    kinds = [summary.box.columns[place] for place in places]
    counts = [summary.indices.shape[place] for place in places]
    axes = [
        nested_axis(t)
        if isinstance(kind, Categorical)
        else fine_axis(min(4 * t, max(2 * t, _GRID // 2 ** len(places))))
        for kind, t in zip(kinds, counts, strict=True)
    ]
    tables = [axis.table[:t] for axis, t in zip(axes, counts, strict=True)]
    wanted, kept = np.zeros(counts), np.zeros(counts, dtype=np.bool_)
    wanted[tuple(frequencies.T)], kept[tuple(frequencies.T)] = summary.moments[rows], True
    measure = momentum = np.full([len(axis.nodes) for axis in axes], 1 / math.prod(len(axis.nodes) for axis in axes))
    steep, speed = math.prod(float(np.linalg.norm(table, 2)) ** 2 for table in tables), 1.0
    for _ in range(_STEPS):  # accelerated projected gradient
        misfit = np.where(kept, contract(tables, momentum) - wanted, 0.0)
        following = to_simplex((momentum - contract([table.T for table in tables], misfit) / steep).ravel()).reshape(
            measure.shape
        )
        faster = (1 + math.sqrt(1 + 4 * speed**2)) / 2
        momentum = following + (speed - 1) / faster * (following - measure)
        measure, speed = following, faster
    return axes, measure


def fit_logistic(summary: Any, response: str, names: list[str], ridge: float | None) -> Model:
    """Logistic loss under the nearest measure on a grid that is nowhere negative, so that the problem is convex."""
    _two_categories(summary.box, response)
    if len(names) + 1 > LARGEST_TENSOR:
        raise ParameterError(
            f"a logistic model is fitted on a grid of at most {LARGEST_TENSOR} columns with the response, got "
            f"{len(names) + 1}: name fewer columns, or fit kind='linear'"
        )
    axes, measure = nearest_measure(summary, summary.places([*names, response]))
    mesh = np.meshgrid(*(axis.nodes for axis in axes[:-1]), indexing="ij")
    points = np.stack([part.ravel() for part in mesh], axis=1)
    first, second = measure.reshape(-1, 2).T
    penalty = len(names) * summary.noise_sd**2 if ridge is None else ridge

    def objective(w: Floats) -> tuple[float, Floats]:
        score = w[0] + points @ w[1:]
        value = second @ np.logaddexp(0, -score) + first @ np.logaddexp(0, score) + penalty / 2 * (w[1:] @ w[1:])
        slope = (first + second) / (1 + np.exp(-np.clip(score, -700, 700))) - second
        return float(value), np.concatenate([[slope.sum()], points.T @ slope + penalty * w[1:]])

    found = minimize(objective, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    return _unscaled("logistic", response, names, summary.box, found[1:], float(found[0]))
