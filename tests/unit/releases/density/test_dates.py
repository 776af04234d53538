"""A density over dates takes dates and gives dates."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutsideBoxError, ParameterTypeError

START = np.datetime64("2024-06-01", "us")
GRANT = sf.Privacy(epsilon=1.0)


@pytest.fixture(scope="module")
def density():
    rng = np.random.default_rng(3)
    when = START + (rng.normal(0, 30, 4000) * 86_400e6).astype("timedelta64[us]")
    return sf.release(sf.KDE(bandwidth=10.0), when, sf.Box({"when": (date(2024, 1, 1), date(2025, 1, 1))}), GRANT)


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(4)
    when = pd.to_datetime(START) + pd.to_timedelta(rng.normal(0, 30, 4000), unit="D")
    box = sf.Box({"when": ("2024-01-01T00:00Z", "2025-01-01T00:00Z"), "x": (0, 1)})
    return sf.release(
        sf.KDE(bandwidth=(20.0, 0.2)), pd.DataFrame({"when": when, "x": rng.uniform(size=4000)}), box, GRANT
    )


@pytest.mark.parametrize(
    "points",
    [
        ["2024-06-01"], [date(2024, 6, 1)], [datetime(2024, 6, 1, tzinfo=UTC)], START, np.array([START]),
        pd.DatetimeIndex(["2024-06-01"]), pd.DatetimeIndex(["2024-06-01T02:00"], tz="Europe/Berlin"),
        pd.DataFrame({"when": pd.to_datetime(["2024-06-01"])}), pl.DataFrame({"when": [date(2024, 6, 1)]}), [19875.0],
    ],
    ids=lambda points: type(points).__name__,
)  # fmt: skip
def test_points_are_dates_however_they_come(density, points):
    assert density(points).tolist() == density([19875.0]).tolist()
    low, high = density.band(points)
    assert low[0] < density(points)[0] < high[0]


def test_what_is_no_date_or_lies_outside(density):
    with pytest.raises(ParameterTypeError, match="got 'soon'"):
        density(["soon"])
    with pytest.raises(OutsideBoxError, match="2026"):
        density([date(2026, 1, 1)])
    with pytest.raises(OutsideBoxError, match=r"within \('2024-01-01', '2025-01-01'\)"):
        density.probability(("2023-01-01", "2024-06-01"))
    assert density([date(2026, 1, 1)], outside="clip") == density(["2025-01-01"])


def test_answers_are_dates(density):
    median = density.quantile(0.5)
    assert type(median) is datetime
    assert abs(median - datetime(2024, 6, 1)).days < 7
    assert abs(density.mean() - datetime(2024, 6, 1)).days < 7
    assert abs(density.mode()[0] - START) < np.timedelta64(20, "D")
    quartiles = density.quantile([0.25, 0.75])
    assert quartiles.dtype == np.dtype("M8[us]")
    assert density.probability(tuple(quartiles)) == pytest.approx(0.5, abs=1e-3)
    assert density.probability({"when": (date(2024, 1, 1), "2025-01-01")}) == 1.0
    drawn = density.sample(50, seed=1)
    assert drawn.dtype == np.dtype("M8[us]")
    assert density(drawn).shape == (50,)


def test_dates_beside_numbers(plane):
    drawn = plane.sample(20, seed=1)
    assert type(drawn[0, 0]) is datetime
    assert drawn[0, 0].tzinfo is UTC
    assert type(drawn[0, 1]) is float
    assert plane(drawn).shape == (20,)
    assert plane([["2024-06-01", 0.5]]) == plane([[datetime(2024, 6, 1), 0.5]])
    slice_ = plane.conditional({"when": "2024-06-01"})
    assert slice_.probability((0.0, 1.0)) == pytest.approx(1.0)
    assert plane.conditional({"x": 0.5}).quantile(0.5).tzinfo is UTC
    assert plane.marginal("when").mean().tzinfo is UTC
    with pytest.raises(OutsideBoxError, match="'2025-01-01T00:00Z'"):
        plane.conditional({"when": "2030-01-01"})


def test_a_file_keeps_them(plane, tmp_path):
    plane.save(tmp_path / "a.sfumato")
    again = sf.load(tmp_path / "a.sfumato")
    assert again.box == plane.box
    assert again.quantile(0.5, "when") == plane.quantile(0.5, "when")


def test_statistics_of_dates():
    when = START + np.arange(1000).astype("timedelta64[h]")
    box = sf.Box({"when": (date(2024, 1, 1), date(2025, 1, 1)), "x": (0, 1)})
    data = pd.DataFrame({"when": when, "x": 0.5})
    one, grant = sf.Box({"when": box.columns[0]}), sf.Privacy(epsilon=100.0)
    mean = sf.release(sf.Statistic("mean", "when"), data, one, grant)
    low, high = mean.interval()
    assert low <= mean.value <= high
    assert abs(mean.value - datetime(2024, 6, 21, 19, 30)).total_seconds() < 6 * 3600
    both = sf.release(sf.Statistic("mean"), data, box, grant).value
    assert type(both[0]) is datetime and type(both[1]) is float
    median = sf.release(sf.Statistic("median", "when"), data, box, grant)
    assert abs(median.value - datetime(2024, 6, 21, 19, 30)).total_seconds() < 12 * 3600
    assert "2024-06-2" in repr(median)
    quartiles = sf.release(sf.Statistic("quantiles", "when"), data, box, grant).value
    assert quartiles.dtype == np.dtype("M8[us]")
    assert (np.diff(quartiles) > np.timedelta64(5, "D")).all()
    histogram = sf.release(sf.Statistic("histogram", "when", bins=2), data, one, grant)
    assert histogram.labels == [["2024-01-01 to 2024-07-02", "2024-07-02 to 2025-01-01"]]
    with pytest.raises(sf.errors.ParameterError, match="dates have no sum"):
        sf.release(sf.Statistic("sum", "when"), data, box, grant)
