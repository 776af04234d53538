"""Which lattice suits: more people, or more epsilon, and it is finer; more columns, and it is coarser."""

import numpy as np
import pytest

from sfumato.local.lattices import _MADE_UP, _error, _shares, best_side

LINE, PLANE = (False,), (False, False)


def test_more_people_and_more_epsilon_make_it_finer():
    sides = [best_side(1.0, people, LINE) for people in (10**3, 10**5, 10**7)]
    assert sides == sorted(sides) and sides[0] < sides[-1]
    sides = [best_side(epsilon, 10**5, LINE) for epsilon in (0.1, 1.0, 4.0)]
    assert sides == sorted(sides) and sides[0] < sides[-1]


@pytest.mark.slow
def test_more_columns_make_it_coarser():
    sides = [best_side(1.0, 10**5, (False,) * columns) for columns in (1, 2, 3)]
    assert sides == sorted(sides, reverse=True) and sides[-1] >= 2


@pytest.mark.slow
def test_hopeless_cases_have_few_points():
    assert best_side(0.01, 100, PLANE) <= 3


@pytest.mark.slow
def test_many_columns_have_two_points_each():
    assert best_side(1.0, 10**5, (False,) * 15) == 2


def test_the_table_of_the_guide():
    """Distance from two groups of deviation .12 on a square, epsilon 1: as docs/local.md measured it, to .04."""
    told = {10**4: (0.29, 0.42), 10**5: (0.23, 0.20), 10**6: (0.23, 0.10)}
    for people, measured in told.items():
        found = [_error(_MADE_UP[1], side, 1.0, people, PLANE) for side in (6, 11)]
        assert found == pytest.approx(measured, abs=0.04)


@pytest.mark.parametrize("wrapped", [False, True])
def test_shares_of_a_bump_are_those_of_its_points(wrapped):
    found = _shares(0.5, 0.1, 8, wrapped)
    assert found.sum() == pytest.approx(1) and (found >= 0).all()
    places = np.arange(8) / (8 if wrapped else 7)
    assert found @ places == pytest.approx(0.5, abs=1e-3)
