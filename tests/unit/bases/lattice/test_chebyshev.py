"""Polynomials by least squares at Chebyshev points: as numpy solves it, and what noise becomes."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev

import sfumato as sf
from sfumato.bases.lattice.bernstein import basis_from_json
from sfumato.bases.lattice.chebyshev import LeastSquares, TotalDegree, chebyshev_points
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


# --- of total degree ----------------------------------------------------------------------------------------------

BOXES = {2: sf.Box({"a": (-1.0, 1.0), "b": (0.0, 4.0)}), 3: sf.Box([(0.0, 2.0), (-1.0, 1.0), (5.0, 6.0)])}


def monomials(unit, kept):
    """``(m, count)``: products of powers whose exponents add up to ``kept`` at most."""
    exponents = [e for e in np.ndindex(*[kept + 1] * unit.shape[1]) if sum(e) <= kept]
    return np.stack([np.prod((2 * unit - 1) ** np.array(e), axis=1) for e in exponents], axis=1)


@pytest.mark.parametrize(("degree", "kept"), [((8, 6), 4), ((4, 4), 3), ((3, 4, 5), 2), ((4, 4, 4), 4)])
def test_of_total_degree_it_is_what_least_squares_would_find(degree, kept):
    basis, box, generator = TotalDegree(degree, kept), BOXES[len(degree)], np.random.default_rng(3)
    width = box.high - box.low
    values, unit = generator.normal(size=basis.size(box)), generator.uniform(size=(40, len(degree)))
    own = np.linalg.lstsq(monomials((basis.lattice(box) - box.low) / width, kept), values, rcond=None)[0]
    found, points = Expansion(basis, box, values), box.low + width * unit
    assert found(points) == pytest.approx(monomials(unit, kept) @ own, abs=1e-10)
    step = np.eye(len(degree))[1] * 1e-5
    slope = (monomials(unit + step, kept) - monomials(unit - step, kept)) @ own / 2e-5 / width[1]
    assert found.derivative(1)(points) == pytest.approx(slope, abs=1e-5 * np.abs(slope).max())
    nodes, weights = np.polynomial.legendre.leggauss(kept + 1)
    grid = np.stack([g.ravel() for g in np.meshgrid(*[(nodes + 1) / 2] * len(degree), indexing="ij")], axis=1)
    mean = np.prod(np.meshgrid(*[weights / 2] * len(degree), indexing="ij"), axis=0).ravel() @ monomials(grid, kept)
    assert found.integrate() == pytest.approx(mean @ own * np.prod(width), abs=1e-9)


def test_of_total_degree_less_noise_is_left():
    """At a corner two to the number of parameters in each product, summed over the products (docs/proofs/risk.md)."""
    basis, box = TotalDegree((6, 6), 4), BOXES[2]
    corner = np.einsum("i,j->ij", *(weights[0] for weights in Expansion(basis, box, np.zeros(49)).weights([box.high])))
    assert (corner**2).sum() * 49 == pytest.approx(81)
    assert (basis.settled(corner[None]) ** 2).sum() * 49 == pytest.approx(1 + 2 * 2 * 4 + 4 * 6)


def test_what_all_axes_do_together_is_an_orthogonal_projection():
    basis, generator = TotalDegree((5, 4, 6), 3), np.random.default_rng(4)
    one, other = generator.normal(size=(2, 6, 5, 7))
    again = basis.settled(basis.settled(one[None]))[0]
    assert again == pytest.approx(basis.settled(one[None])[0], abs=1e-12)
    assert np.vdot(basis.settled(one[None]), other) == pytest.approx(np.vdot(one, basis.settled(other[None])))
    line = generator.normal(size=(2, 9))
    assert Expansion(TotalDegree(8, 3), LINE, line[0])([1.0, 2.0]) == pytest.approx(
        Expansion(LeastSquares(8, 3), LINE, line[0])([1.0, 2.0]), abs=1e-12
    )


def test_a_file_may_name_the_total_degree():
    basis = TotalDegree((4, 6), 3)
    assert basis.to_json() == {"name": "total-degree", "degree": [4, 6], "kept": 3}
    assert basis_from_json(basis.to_json()) == basis != LeastSquares((4, 6), 3)
