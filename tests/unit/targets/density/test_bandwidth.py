"""The public rule for a bandwidth: it reads the number of rows, the box and the privacy, and nothing else."""

import math

import pytest

import sfumato as sf
from sfumato.bases.density.mixture import node_positions
from sfumato.targets.density.bandwidth import rule_of_thumb

UNIT = sf.Box([(0, 1)])
PURE = sf.Privacy(epsilon=1.0)


def test_more_rows_and_more_epsilon_make_it_narrower():
    by_rows = [rule_of_thumb(UNIT, rows, PURE)[0] for rows in (100, 1_000, 10_000, 100_000)]
    by_epsilon = [rule_of_thumb(UNIT, 1_000, sf.Privacy(epsilon=e))[0] for e in (0.01, 0.1, 1.0)]
    assert by_rows == sorted(by_rows, reverse=True) and by_rows[0] > by_rows[-1]
    assert by_epsilon == sorted(by_epsilon, reverse=True) and by_epsilon[0] > by_epsilon[-1]


def test_without_privacy_noise_it_is_the_normal_reference_rule():
    """(4/3)**(1/5) sigma n**(-1/5), for a normal density whose standard deviation is a sixth of the box."""
    rows = 10_000
    reference = (4 / 3) ** 0.2 / 6 * rows**-0.2
    assert rule_of_thumb(UNIT, rows, sf.Privacy(epsilon=1e6))[0] == pytest.approx(reference, rel=0.03)


def test_it_scales_with_each_column():
    wide = rule_of_thumb(sf.Box({"a": (0, 1), "b": (-50, 50)}), 5_000, PURE)
    assert wide[1] == pytest.approx(100 * wide[0])


def test_rho_and_persons_count():
    row = rule_of_thumb(UNIT, 1_000, sf.Privacy(epsilon=0.1))[0]
    person = rule_of_thumb(UNIT, 1_000, sf.Privacy(epsilon=0.1, unit=sf.Person("who", max_rows=10)))[0]
    assert person > row
    assert rule_of_thumb(UNIT, 1_000, sf.Privacy(rho=0.005)) == rule_of_thumb(UNIT, 1_000, sf.Privacy(epsilon=0.1))


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 10**12])
@pytest.mark.parametrize("epsilon", [1e-6, 1e6])
def test_a_lattice_can_always_resolve_it(columns, rows, epsilon):
    box = sf.Box([(0, 1), sf.Periodic(0, 24), sf.Integer(0, 9)][:columns])
    found = rule_of_thumb(box, rows, sf.Privacy(epsilon=epsilon))
    assert all(math.isfinite(b) and b > 0 for b in found)
    node_positions(box, sf.KDE(found).gaussian(box))


def test_auto_takes_the_rule():
    target = sf.KDE().settled(UNIT, 500, PURE)
    assert target.bandwidth == rule_of_thumb(UNIT, 500, PURE)
    guessed = sf.KDE(expected_rows=500).settled(UNIT, None, PURE)
    assert guessed.bandwidth == target.bandwidth
