"""For any coefficients: expansions are linear in them, stay between their extremes, and agree with their weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from sfumato.bases.lattice.expansion import Expansion

numbers = st.floats(-1e6, 1e6)
bases = st.one_of(
    st.builds(sf.Bernstein, st.integers(1, 30), st.integers(1, 6)), st.builds(sf.Step, st.integers(1, 30))
)
LINE = sf.Box({"t": (-3, 7)})


@st.composite
def cases(draw, count=1):
    basis = draw(bases)
    size = basis.size(LINE)
    coefficients = [draw(arrays.arrays(np.float64, size, elements=numbers)) for _ in range(count)]
    points = draw(arrays.arrays(np.float64, st.integers(0, 5), elements=st.floats(-3, 7)))
    return basis, coefficients, points


@given(cases(count=2), st.floats(-100, 100), st.floats(-100, 100))
def test_expansions_are_linear_in_their_coefficients(case, a, b):
    basis, (first, second), points = case
    together = Expansion(basis, LINE, a * first + b * second)(points)
    apart = a * Expansion(basis, LINE, first)(points) + b * Expansion(basis, LINE, second)(points)
    size = 1 + np.abs(a * first).max() + np.abs(b * second).max()
    assert together == pytest.approx(apart, abs=1e-9 * size)


@given(cases())
def test_values_are_bounded_by_the_coefficients(case):
    basis, (coefficients,), points = case
    degree = basis.degrees(LINE)[0]
    reach = basis.lebesgue_constant(degree) * np.abs(coefficients).max()
    assert (np.abs(Expansion(basis, LINE, coefficients)(points)) <= reach * (1 + 1e-9) + 1e-9).all()


@given(cases())
def test_plain_polynomials_stay_between_their_coefficients(case):
    basis, (coefficients,), points = case
    plain = sf.Bernstein(basis.degrees(LINE)[0])
    values = Expansion(plain, LINE, coefficients)(points)
    slack = 1e-9 * (1 + np.abs(coefficients).max())
    assert ((values >= coefficients.min() - slack) & (values <= coefficients.max() + slack)).all()


@given(cases())
def test_values_are_weights_times_coefficients(case):
    basis, (coefficients,), points = case
    function = Expansion(basis, LINE, coefficients)
    expected = function.weights(points)[0] @ coefficients
    assert function(points) == pytest.approx(expected, abs=1e-9 * (1 + np.abs(coefficients).max()))


@given(cases(), st.floats(-3, 7), st.floats(-3, 7))
def test_integrals_add_up(case, one, other):
    basis, (coefficients,), _ = case
    function = Expansion(basis, LINE, coefficients)
    low, high = min(one, other), max(one, other)
    parts = [function.integrate([part]) for part in ((-3, low), (low, high), (high, 7))]
    assert sum(parts) == pytest.approx(function.integrate(), abs=1e-8 * (1 + np.abs(coefficients).max()))


@given(cases())
def test_evaluating_neither_changes_nor_depends_on_the_input(case):
    basis, (coefficients,), points = case
    kept, asked = coefficients.copy(), points.copy()
    function = Expansion(basis, LINE, coefficients)
    before = function(points)
    coefficients[:] = 0.0
    assert np.array_equal(function.coefficients, kept)
    assert np.array_equal(points, asked)
    assert np.array_equal(function(points), before)
