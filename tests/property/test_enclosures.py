"""For questions of every kind: limits hold on their cells, and an error covers what happens between the points."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from effort import tries
from sfumato.bases.moments.quadrature import Grid, fine_axis, grid_for, nested_axis, to_user
from sfumato.errors import ParameterError
from sfumato.expressions import read
from sfumato.releases.summary.approximation import cosines_at

BOX = sf.Box({"a": (0, 10), "b": (-1, 3), "c": sf.Categorical([1, 2, 5])})
RECORDS = {"a": np.linspace(0, 10, 200), "b": np.linspace(3, -1, 200), "c": np.resize([1, 2, 5], 200)}
SUMMARY = sf.summarize(pd.DataFrame(RECORDS), BOX, sf.Privacy(epsilon=1.0), degree=5, interactions="full")
numbers = st.sampled_from(["0.003", "0.1", "0.5", "2", "3.3", "30"])
leaves = st.one_of(st.sampled_from(["a", "b", "c", "a", "b"]), numbers)
UNARY = [
    "exp(-({0})**2/{1})", "sin({0}/{1})", "cos({1}*{0})", "tanh(({0})/{1})", "sigmoid({1}*({0}-1))", "abs({0}-{1})",
    "sqrt(abs({0})+{1})", "sqrt(({0})**2)", "log(1+({0})**2)", "bump({0}, 3, {1})", "between({0}, 1, 2.5, {1})",
    "({0})**3", "({0})**-2", "(1+abs({0}))**0.5", "{1}/(1+({0})**2)", "tan(({0})/(1+abs({0})))", "-({0})",
    "(c == 2)*({0})", "(2+({0})**2)**b", "1/({0})",
]  # fmt: skip
BINARY = ["({0}) + ({1})", "({0}) - ({1})", "({0}) * ({1})", "min({0}, {1})", "max({0}, {1}, 1)", "({0})/(1+abs({1}))"]
questions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(str.format, st.sampled_from(UNARY), inner, numbers),
        st.builds(str.format, st.sampled_from(BINARY), inner, inner),
    ),
    max_leaves=6,
)


def written(text):
    """The question as a function, and its columns; what has no answer somewhere is left out."""
    try:
        question = read(text, SUMMARY)
        question.seen  # noqa: B018 refuses what is not finite
    except ParameterError:
        assume(False)
    return question._written(question.parts[0]), SUMMARY.places(question.columns)


def angles_for(places, count, seed):
    """Random angles, of categories their own."""
    found = np.random.default_rng(seed).uniform(0, math.pi, (count, len(places)))
    nodes = np.arange(3) * math.pi / 2
    for j, place in enumerate(places):
        if place == 2:
            found[:, j] = nodes[np.random.default_rng(seed + 1).integers(0, 3, count)]
    return found


def finite(query, points):
    try:
        return query(points)
    except ParameterError:
        assume(False)


@given(questions, st.integers(1, 40), st.integers(0, 10**6))
@tries(100)
def test_limits_hold_on_every_cell(text, count, seed):
    query, places = written(text)
    counts = [3 if place == 2 else count + 3 * j for j, place in enumerate(places)]
    angles = angles_for(places, 400, seed)
    values = finite(query, to_user(BOX, places, np.cos(angles)))
    cells = [
        np.rint(angle / (math.pi / 2)).astype(int)
        if place == 2
        else np.minimum((angle / math.pi * n).astype(int), n - 1)
        for angle, place, n in zip(angles.T, places, counts, strict=True)
    ]
    low, high = (ends.reshape(counts)[tuple(cells)] for ends in query.limits(counts))
    size = 1e-9 * (1 + np.abs(values))
    assert (low - size <= values).all()
    assert (values <= high + size).all()


@pytest.mark.slow
@given(questions, st.integers(4, 40), st.integers(0, 10**6))
@tries(100)
def test_interpolation_misses_no_more_than_is_unseen(text, count, seed):
    query, places = written(text)
    axes = tuple(nested_axis(3) if place == 2 else fine_axis(count + j) for j, place in enumerate(places))
    grid = Grid(BOX, places, axes)
    values = finite(query, grid.points())
    tensor = grid.coefficients(values)
    angles = angles_for(places, 300, seed)
    frequencies = np.stack(np.unravel_index(np.arange(tensor.size), tensor.shape), axis=1)
    there = cosines_at(angles, frequencies) @ tensor.ravel()
    off = np.abs(there - finite(query, to_user(BOX, places, np.cos(angles)))).max()
    assert off <= query.unseen(grid.shape) + 1e-9 * (1 + np.abs(values).max())


@pytest.mark.slow
@given(questions, st.sampled_from(["none", "balanced"]), st.integers(0, 10**6))
@tries(25)
def test_an_approximation_holds_everywhere(text, damping, seed):
    query, places = written(text)
    answer = SUMMARY.answer(query, columns=list(query.columns), damping=damping)
    assert answer.known in ("proved", "seen")
    assume(answer.known == "proved")
    grid = grid_for(BOX, places, SUMMARY.indices.shape)
    weights, *_ = SUMMARY._followed(query, finite(query, grid.points()), grid, damping, None, 0.95, None)
    rows, frequencies = SUMMARY.among(places)
    angles = np.concatenate([angles_for(places, 4000, seed), np.zeros((1, len(places)))])
    values = finite(query, to_user(BOX, places, np.cos(angles)))
    off = np.abs(cosines_at(angles, frequencies) @ weights[rows] - values).max()
    assert off <= answer.approximation * (1 + 1e-9) + 1e-9 * (1 + np.abs(values).max())


@pytest.mark.parametrize("wrong", [0.5, 0.9])
def test_negative_control_smaller_limits_are_caught(wrong):
    """Of an angle, whose limits are attained at the ends of cells."""
    query, _ = written("a")
    low, high = query.limits([4])
    points = np.linspace(0, 10, 4001)
    cells = np.minimum((np.arccos(points / 5 - 1) / math.pi * 4).astype(int), 3)
    middle, half = (low + high) / 2, (high - low) / 2
    assert (np.abs(points - middle[cells]) <= half[cells] + 1e-9).all()
    assert not (np.abs(points - middle[cells]) <= wrong * half[cells]).all()
