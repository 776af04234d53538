"""What is summed for principal components: sizes, plain data, the public rule of a mean's weight."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.subspace.moments import (
    SHARP,
    UNIT,
    SecondMoments,
    moments_from_json,
    weight_of,
    whole,
    whole_directions,
)
from sfumato.errors import ParameterError

BOX = sf.Box({"a": (0, 10), "b": (-1, 1), "c": sf.Integer(0, 4)})
PRODUCTS = SecondMoments("products", 2, 3, 1, True)


def test_sizes():
    assert SecondMoments("covariance", 2, 1, 1, False).size(BOX) == 3 + 6
    assert PRODUCTS.size(BOX) == 1 + 3 + 6


def test_plain_data_and_back():
    assert moments_from_json(PRODUCTS.to_json()) == PRODUCTS
    with pytest.raises(ParameterError, match="unexpected or missing"):
        moments_from_json({"name": "second moments", "rank": 2})
    with pytest.raises(ParameterError, match="name"):
        moments_from_json({**PRODUCTS.to_json(), "name": "moments"})


@pytest.mark.parametrize(
    "change", [{"noise": "both"}, {"rank": 0}, {"iterations": 1}, {"weight": 65}, {"counted": 1}], ids=str
)
def test_odd_parameters_are_refused(change):
    with pytest.raises(ParameterError, match=next(iter(change))):
        SecondMoments(**{"noise": "products", "rank": 2, "iterations": 3, "weight": 1, "counted": True, **change})


def test_a_mean_weighs_more_beside_many_columns_and_never_in_a_cube():
    assert [weight_of("products", d, True) for d in (1, 4, 15, 16, 63, 64, 4096)] == [1, 1, 1, 2, 2, 4, 32]
    assert weight_of("covariance", 4096, True) == 1 and weight_of("covariance", 64, False) == 4


def test_values_are_whole_and_within_their_unit_and_a_missing_one_is_the_middle():
    found = whole(BOX, [np.array([0.0, 5.0, 99.0, np.nan]), np.array([np.inf, -np.inf, 0.5, -1]), np.arange(4.0)])
    assert found[0].tolist() == [-UNIT, 0, UNIT, 0]
    assert np.abs(found).max() == UNIT and (found == np.rint(found)).all()


def test_short_directions_keep_their_place():
    given = np.linalg.qr(np.random.default_rng(0).standard_normal((7, 3)))[0]
    assert np.abs(whole_directions(given) / SHARP - given).max() < 1e-4
