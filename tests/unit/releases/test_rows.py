"""Made-up rows: systematic samples, the order of cells, and tables in the user's own units."""

from datetime import date
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.bases.subspace.reading import Ellipsoid
from sfumato.errors import ParameterError
from sfumato.releases.rows import as_table, check_rows, points_in, randomness, rows_of, systematic, winding


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3), (3, 3), (3, 4, 5), (2, 1, 4, 3)])
def test_each_cell_is_beside_the_one_before_it(shape):
    order = winding(shape)
    assert sorted(order) == list(range(len(order)))
    places = np.stack(np.unravel_index(order, shape), axis=1)
    assert all(np.abs(b - a).sum() == 1 for a, b in pairwise(places))


@pytest.mark.parametrize("rows", [1, 2, 10, 997])
def test_every_stretch_of_cells_has_its_share_up_to_one(rows):
    generator = np.random.default_rng(4)
    weights = generator.exponential(size=40) * (generator.random(40) < 0.6)
    weights[-1] = 0.0
    found, within = systematic(weights, rows, generator)
    counts = np.bincount(found, minlength=40)
    assert counts.sum() == rows
    assert not counts[weights == 0].any()
    wanted = np.cumsum(weights) / weights.sum() * rows
    assert np.abs(np.cumsum(counts) - wanted).max() < 1
    assert ((within >= 0) & (within < 1)).all()


def test_one_cell_takes_all():
    found, _ = systematic(np.array([0.0, 1e-300, 0.0]), 5, np.random.default_rng(0))
    assert found.tolist() == [1] * 5


def test_rows_of_a_measure_lie_in_its_cells():
    box = sf.Box({"a": (0, 10), "b": sf.Categorical(["x", "y", "z"])})
    measure = np.zeros((8, 3))
    measure[0, 2] = 0.25  # the first cell of angles is at the upper end
    measure[7, 0] = 0.75
    numbers, categories = rows_of(box, (8, 3), measure, 400, np.random.default_rng(1))
    assert sorted(np.bincount(categories, minlength=3).tolist()) == [0, 100, 300]
    assert numbers[categories == 2].min() > 5 * (1 + np.cos(np.pi / 8))
    assert numbers[categories == 0].max() < 5 * (1 + np.cos(np.pi * 7 / 8))
    assert len(np.unique(numbers)) == 400
    assert 100 < np.flatnonzero(categories == 2).mean() < 300  # in no order: 13 deviations


def test_tables_have_the_types_that_were_declared():
    box = sf.Box(
        {
            "real": (0, 1),
            "whole": sf.Integer(0, 9.5),
            "hour": sf.Periodic(0, 24, whole=True),
            "turn": sf.Periodic(0, 24),
            "day": (date(2024, 1, 1), date(2025, 1, 1)),
            "at": sf.Date("2024-01-01T00:00Z", "2025-01-01T00:00Z"),
            "sex": sf.Categorical(["f", "m"]),
            "grade": sf.Categorical([1, 2, 3]),
            "dose": sf.Categorical([0.5, 2]),
        }
    )
    half = np.array([0.5])
    columns = [half, 8.7 + half, 23.4 + half, half, 19783 + half, 19783 + half, *[np.array([1])] * 3]
    table = as_table(box, columns)
    assert table.schema.types[:4] == [pa.float64(), pa.int64(), pa.int64(), pa.float64()]
    assert table.schema.types[4:6] == [pa.timestamp("us"), pa.timestamp("us", tz="UTC")]
    row = table.to_pylist()[0]
    assert (row["real"], row["whole"], row["hour"], row["turn"]) == (0.5, 9, 0, 0.5)
    assert row["day"].isoformat() == "2024-03-01T12:00:00"
    assert row["at"].isoformat() == "2024-03-01T12:00:00+00:00"
    assert (row["sex"], row["grade"], row["dose"]) == ("m", 2, 2.0)
    assert isinstance(row["grade"], int)


def test_whole_numbers_beyond_64_bits_stay_doubles():
    table = as_table(sf.Box({"a": sf.Integer(0, 1e30)}), [np.array([1e25])])
    assert table["a"].to_pylist() == [1e25]


@pytest.mark.parametrize("rows", [0, -1, 2.5, "ten", None, True, 10**12])
def test_odd_numbers_of_rows_are_refused(rows):
    with pytest.raises(ParameterError) as error:
        check_rows(rows)
    assert error.value.parameter == "rows"


def test_a_seed_is_a_whole_number():
    assert randomness(3).random() == randomness(3).random()
    assert randomness(None).random() != randomness(None).random()
    with pytest.raises(ParameterError) as error:
        randomness(-1)
    assert error.value.parameter == "seed"


def test_points_fill_the_ellipsoid_evenly():
    """Variances of 20,000 points: a deviation of about 1 %, and a tenth is allowed (seeded)."""
    one = Ellipsoid(np.zeros(3), np.eye(3)[:2], np.array([0.04, 0.01]))
    points = points_in(one, 20_000, np.random.default_rng(0))
    assert points.var(axis=0)[:2] == pytest.approx([0.04, 0.01], rel=0.1)
    assert (points[:, 2] == 0).all()
    assert ((points[:, :2] ** 2 / [0.04, 0.01]).sum(axis=1) <= 4 + 1e-9).all()
