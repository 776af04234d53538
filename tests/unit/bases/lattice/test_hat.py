"""Hat functions: linear between lattice points, a partition of unity, integrals in closed form."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.lattice.hat import Hat
from sfumato.errors import ParameterError

LINE = sf.Box({"t": (-3.0, 5.0)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})


@pytest.mark.parametrize("degree", [1, 2, 7])
def test_it_interpolates_linearly(degree):
    generator = np.random.default_rng(1)
    lattice, values = np.linspace(0, 1, degree + 1), generator.normal(size=degree + 1)
    points = np.concatenate([generator.uniform(size=50), lattice])
    found = Hat(degree).axis_values(degree, points) @ values
    assert found == pytest.approx(np.interp(points, lattice, values), abs=1e-13)


@pytest.mark.parametrize("degree", [1, 2, 7])
def test_hats_are_a_partition_of_unity(degree):
    found = Hat(degree).axis_values(degree, np.random.default_rng(2).uniform(size=100))
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(100))
    assert np.count_nonzero(found, axis=1).max() <= 2


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.3), (0.3, 0.31), (0.5, 1.0), (0.2, 0.2), (0.9, 1.0)])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_integrals_are_those_of_numerical_quadrature(degree, low, high):
    inside = np.linspace(low, high, 20_001)
    values = Hat(degree).axis_values(degree, (inside[1:] + inside[:-1]) / 2)
    expected = values.sum(axis=0) * (high - low) / 20_000
    assert Hat(degree).axis_integral(degree, low, high) == pytest.approx(expected, abs=1e-8)


def test_hats_at_the_ends_are_half_as_large():
    assert Hat(4).axis_integral(4, 0.0, 1.0) == pytest.approx([1 / 8, 1 / 4, 1 / 4, 1 / 4, 1 / 8])


def test_an_expansion_integrates_its_hats():
    weights = np.random.default_rng(3).dirichlet(np.ones(18))
    sizes = np.outer(Hat(2).axis_integral(2, 0.0, 1.0), Hat(5).axis_integral(5, 0.0, 1.0)).ravel() * 110 * 50
    density = Expansion(Hat((2, 5)), PLANE, weights / sizes)
    assert density.integrate() == pytest.approx(1.0)
    assert density.integrate({"age": (0, 55)}) + density.integrate({"age": (55, 110)}) == pytest.approx(1.0)


def test_there_are_no_derivatives():
    with pytest.raises(ParameterError, match="piecewise linear"):
        Hat(3).axis_values(3, np.array([0.5]), 1)


def test_it_bounds_itself():
    nodes, factor = Hat(4).norming_nodes(4)
    assert nodes.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert factor == Hat(4).lebesgue_constant() == Hat(4).lebesgue_constant(4) == 1.0


def test_plain_data():
    assert Hat(3).to_json() == {"name": "hat", "degree": 3}
    assert Hat((3, 4)).to_json() == {"name": "hat", "degree": [3, 4]}


@pytest.mark.parametrize("degree", [0, -1, (2, 0), 1.5, True])
def test_degrees_below_one_are_refused(degree):
    with pytest.raises(ParameterError, match="degree"):
        Hat(degree)


def test_categories_are_refused():
    with pytest.raises(ParameterError, match="categorical"):
        Hat(3).size(sf.Box({"a": sf.Categorical([0, 1])}))
