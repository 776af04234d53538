"""Taylor series with intervals for coefficients: exact at points, and limits that hold on cells."""

import math

import mpmath
import numpy as np
import pytest

from sfumato.bases.moments import enclosures as enc

ORDER = 8


def number(value):
    return enc.constant(np.full(1, float(value)), np.full(1, float(value)))


COS = {
    "add": (lambda x: enc.add(x, number(2)), lambda c: c + 2),
    "subtract": (lambda x: enc.subtract(number(2), x), lambda c: 2 - c),
    "multiply": (lambda x: enc.multiply(x, enc.add(x, number(1))), lambda c: c * (c + 1)),
    "square": (lambda x: enc.square(x), lambda c: c**2),
    "divide": (lambda x: enc.divide(x, enc.add(x, number(3))), lambda c: c / (c + 3)),
    "power": (lambda x: enc.power(enc.add(x, number(2)), number(5)), lambda c: (c + 2) ** 5),
    "inverse power": (lambda x: enc.power(enc.add(x, number(2)), number(-4)), lambda c: (c + 2) ** -4),
    "root power": (lambda x: enc.power(enc.add(x, number(2)), number(1.5)), lambda c: (c + 2) ** mpmath.mpf(1.5)),
    "moving power": (lambda x: enc.power(enc.add(x, number(2)), x), lambda c: (c + 2) ** c),
    "exp": (lambda x: enc.exp(enc.multiply(number(-3), x)), lambda c: mpmath.exp(-3 * c)),
    "log": (lambda x: enc.log(enc.add(x, number(2))), lambda c: mpmath.log(c + 2)),
    "sqrt": (lambda x: enc.sqrt(enc.add(x, number(2))), lambda c: mpmath.sqrt(c + 2)),
    "sin": (lambda x: enc.sine(enc.multiply(number(5), x)), lambda c: mpmath.sin(5 * c)),
    "cos": (lambda x: enc.cosine_of(enc.multiply(number(5), x)), lambda c: mpmath.cos(5 * c)),
    "tan": (lambda x: enc.tan(x), lambda c: mpmath.tan(c)),
    "tanh": (lambda x: enc.tanh(enc.multiply(number(4), x)), lambda c: mpmath.tanh(4 * c)),
    "expit": (lambda x: enc.expit(enc.multiply(number(4), x)), lambda c: 1 / (1 + mpmath.exp(-4 * c))),
    "erf": (lambda x: enc.erf(enc.multiply(number(3), x)), lambda c: mpmath.erf(3 * c)),
    "absolute": (lambda x: enc.absolute(enc.subtract(x, number(2))), lambda c: 2 - c),
    "largest": (lambda x: enc.largest(x, number(-2), enc.negative(number(7))), lambda c: c),
    "smallest": (lambda x: enc.smallest(x, number(2)), lambda c: c),
}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", COS)
def test_at_a_point_they_are_the_taylor_coefficients(name):
    jets, exact = COS[name]
    for angle in (0.3, 1.2, 2.0, 3.0):
        found = jets(enc.cosine(np.array([angle]), np.array([angle]), ORDER))
        with mpmath.workdps(40):
            expected = mpmath.taylor(lambda t: exact(mpmath.cos(t)), angle, ORDER)
        for k, coefficient in enumerate(expected):
            low, high = found[k] if k < len(found) else (np.zeros(1), np.zeros(1))
            margin = 1e-9 * (1 + abs(float(coefficient)))
            assert low[0] - margin <= float(coefficient) <= high[0] + margin
            assert high[0] - low[0] <= 2e-6 * (1 + abs(float(coefficient)))


@pytest.mark.few(8)
@pytest.mark.parametrize("name", COS)
def test_on_a_cell_they_hold_everywhere(name):
    jets, exact = COS[name]
    low, high = np.array([0.5, 1.9]), np.array([0.6, 2.2])
    found = jets(enc.cosine(low, high, ORDER))
    for cell in (0, 1):
        for angle in np.linspace(low[cell], high[cell], 7):
            with mpmath.workdps(40):
                expected = mpmath.taylor(lambda t: exact(mpmath.cos(t)), angle, ORDER)
            for k, coefficient in enumerate(expected):
                bottom, top = enc.limits(found, k, 2)
                value = float(coefficient) * math.factorial(k)
                margin = 1e-9 * (1 + abs(value))
                assert bottom[cell] - margin <= value <= top[cell] + margin


def test_a_kink_has_a_slope_and_no_bend():
    kinked = enc.absolute(enc.cosine(np.array([1.5]), np.array([1.6]), 3))
    assert kinked[0][0] == 0
    assert -1.0 <= kinked[1][0][0] <= -0.99
    assert 0.99 <= kinked[1][1][0] <= 1.0
    assert [end[0] for end in kinked[2]] == [-math.inf, math.inf]


def test_a_pole_has_no_limits():
    through = enc.cosine(np.array([1.5]), np.array([1.6]), 2)
    for jet in (enc.divide(number(1), through), enc.log(through), enc.power(through, number(-1))):
        low, high = enc.limits(jet, 0, 1)
        assert low[0] == -math.inf or high[0] == math.inf
        assert np.isinf(enc.limits(jet, 2, 1)).any()


def test_what_does_not_move_has_no_derivatives_even_at_the_end_of_a_domain():
    still = enc.sqrt(enc.constant(np.zeros(1), np.ones(1)))
    product = enc.multiply(still, enc.cosine(np.array([0.0]), np.array([0.1]), 4))
    assert np.isfinite(enc.limits(product, 4, 1)).all()


def test_smooth_functions_are_seen_by_few_points_and_narrow_ones_are_not():
    angles = np.linspace(0, math.pi, 513)
    cells = enc.cosine(angles[:-1], angles[1:], ORDER)

    def unseen(width, count):
        bump = enc.exp(enc.multiply(number(-0.5 / width**2), enc.square(cells)))
        bounds = np.array([np.abs(enc.limits(bump, r, 512)).max() for r in range(ORDER + 1)])
        return enc.unseen([bounds], [count])

    assert unseen(0.5, 64) < 1e-6
    assert unseen(0.01, 64) > 1
    assert unseen(0.01, 4096) < 1e-3
