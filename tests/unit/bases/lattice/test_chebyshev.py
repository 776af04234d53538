"""Polynomials by least squares at Chebyshev points: as numpy solves it, and what noise becomes."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev

import sfumato as sf
from sfumato.bases.lattice.bernstein import basis_from_json
from sfumato.bases.lattice.chebyshev import LeastSquares, chebyshev_points
from sfumato.bases.lattice.expansion import Expansion
from sfumato.errors import ParameterError

LINE = sf.Box({"t": (-3.0, 5.0)})


@pytest.mark.parametrize(("degree", "kept"), [(8, 4), (3, 3), (40, 1), (12, 7)])
def test_it_is_what_least_squares_would_find(degree, kept):
    values = np.random.default_rng(1).normal(size=degree + 1)
    own = chebyshev.chebfit(2 * chebyshev_points(degree + 1) - 1, values, kept)
    at = np.linspace(0, 1, 23)
    found = Expansion(LeastSquares(degree, kept), LINE, values)
    assert found(-3 + 8 * at) == pytest.approx(chebyshev.chebval(2 * at - 1, own), abs=1e-12)
    slope = chebyshev.chebval(2 * at - 1, chebyshev.chebder(own)) * 2 / 8
    assert found.derivative()(-3 + 8 * at) == pytest.approx(slope, abs=1e-11)


def test_noise_of_many_points_averages():
    """At the middle and at the ends: as many numbers as the polynomial has, over as many points as there are."""
    for degree in (8, 26, 80):
        weights = LeastSquares(degree, 4).axis_values(degree, np.linspace(0, 1, 2001))
        lengths = (weights**2).sum(axis=1)
        assert lengths.max() == pytest.approx(9 / (degree + 1))  # 1 + 2 * 4 at an end
        assert lengths.mean() < 6 / (degree + 1)


def test_the_largest_sum_of_weights_is_from_above():
    for degree, kept in ((8, 4), (20, 9)):
        basis = LeastSquares(degree, kept)
        sums = np.abs(basis.axis_values(degree, np.linspace(0, 1, 4001))).sum(axis=1)
        assert sums.max() <= basis.lebesgue_constant(degree) <= sums.max() * 1.005
        nodes, slack = basis.norming_nodes(degree)
        assert nodes.size == 8 * kept and 1 < slack < 1.03


@pytest.mark.parametrize("kept", [0, 5, 2.5, True])
def test_more_numbers_than_points_are_refused(kept):
    with pytest.raises(ParameterError, match="kept must"):
        LeastSquares(4, kept)


def test_a_file_may_name_it():
    basis = LeastSquares((4, 6), 3)
    assert basis_from_json(basis.to_json()) == basis
    with pytest.raises(ParameterError, match="kept"):
        basis_from_json({"name": "least-squares", "degree": 4, "kept": 9})
