"""Oracles, norms and targets that a sampler refuses, in words."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.oracles import Oracle

UNIT = sf.Box([(0, 1)])
LATTICE = {"box": UNIT, "basis": sf.Bernstein(20)}


def sample(target=np.mean, oracle=None, n=5, **options):
    oracle = oracle or sf.oracles.gaussian()
    return sf.sample_sensitivity(target, oracle, n, m=40, rule="exchangeable", progress=False, **options)


@pytest.mark.parametrize("count", [lambda n: n - 1, lambda n: n + 1, lambda n: n // 2 + 1])
def test_an_oracle_of_the_wrong_number_is_said_also_for_densities(count):
    oracle = Oracle("wrong", lambda n, g: g.uniform(size=count(n)))
    with pytest.raises(ParameterError, match="the oracle was asked for 80 records and returned"):
        sample(sf.KDE(0.1), oracle, **LATTICE)


@pytest.mark.parametrize("oracle", [sf.oracles.gaussian([0.0, 0.0]), lambda n: np.zeros((n, 2))])
def test_an_oracle_of_the_wrong_shape_is_said_also_for_densities(oracle):
    with pytest.raises(ParameterError, match="the box 1 columns"):
        sample(sf.KDE(0.1), oracle, **LATTICE)


@pytest.mark.parametrize("records", [dict.fromkeys, set])
def test_what_is_no_table_is_said(records):
    with pytest.raises(ParameterTypeError, match="the oracle must return records"):
        sample(len, Oracle("odd", lambda n, g: records(range(n))))


def test_a_black_box_needs_a_lattice():
    target = sf.BlackBox(lambda data: lambda points: points[:, 0], sensitivity=1.0)
    with pytest.raises(ParameterTypeError, match="give box= and basis="):
        sample(target)


@pytest.mark.parametrize("far", ["far", None, np.zeros(2)])
def test_a_norm_returns_one_number(far):
    with pytest.raises(ParameterTypeError, match="norm must return one number"):
        sample(norm=lambda d: far)


def test_negative_distances_are_counted():
    with pytest.raises(ParameterError, match="40 of 40 pairs are not a finite distance apart"):
        sample(norm=lambda d: -1.0)
