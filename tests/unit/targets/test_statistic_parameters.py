"""Public parameters of statistics that cannot be, and what a plan promises."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError

BOX = sf.Box({"age": (0, 110)})
ROW = sf.Privacy(epsilon=1.0)


@pytest.mark.parametrize("what", ["count", "sum", "histogram"])
def test_the_predicted_error_bounds_that_of_a_release(what):
    """With the stated confidence, whatever the data: here records that are far from what a plan expects."""
    target = sf.Statistic(what, "age")
    plan = sf.plan(target, BOX, ROW, 401)
    assert plan.noise_error >= plan.law.deviation * (110 if what == "sum" else 1) * math.log(1 / 0.06)


@pytest.mark.parametrize("what", ["mean", "count", "median"])
@pytest.mark.parametrize("column", [5, 1.5, {"age"}, True])
def test_a_column_is_a_name_or_several(what, column):
    with pytest.raises(ParameterTypeError, match="column must be a name or several different names"):
        sf.Statistic(what, column)


@pytest.mark.parametrize("levels", [0.5, "0.5", {0.5}, {}])
def test_levels_are_a_list(levels):
    with pytest.raises(ParameterTypeError, match="probabilities must be a"):
        sf.Statistic("quantiles", probabilities=levels)


@pytest.mark.parametrize("options", [{"bins": np.array([3, 4])}, {"bins": 0}, {"probabilities": np.array([0.2, 0.5])}])
def test_options_of_built_in_statistics_are_refused_whatever_they_are(options):
    with pytest.raises(ParameterError, match="is for built-in statistics"):
        sf.Statistic(np.mean, sensitivity=1.0, **options)


@pytest.mark.parametrize("what", ["variance", "covariance"])
def test_squares_must_be_doubles(what):
    with pytest.raises(ParameterError, match="the square of a column's width is beyond 64-bit floats"):
        sf.plan(sf.Statistic(what), sf.Box([(0, 1), (-1e300, 1e300)]), ROW, 10)


@pytest.mark.parametrize("high", [1e-306, 1e-320, 5e-324])
def test_quantiles_need_a_column_of_some_width(high):
    with pytest.raises(ParameterError, match="quantiles need a column wider than 1e-290"):
        sf.plan(sf.Statistic("median"), sf.Box([(0, high)]), ROW, 10)
