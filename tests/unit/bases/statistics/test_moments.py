"""Moments behind means, variances and covariances: how far neighbours are apart, estimates, limits."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.sums import UNIT
from sfumato.core.privacy import Privacy

ONE = sf.Box({"age": (20, 120)})
TWO = sf.Box({"age": (20, 120), "change": (-3, 1)})
THREE = sf.Box([(0, 1), (-1, 1), (5, 5.5)])
ROW = Privacy(epsilon=1.0)
ADD = Privacy(epsilon=1.0, neighbours="add-remove")
PERSON = Privacy(epsilon=1.0, unit=sf.Person("id", 3))
STATISTICS = ["mean", "variance", "covariance"]


def records_of(box):
    """Where second moments are extreme, along each column: the ends, the middle, half-way, and nothing."""
    parts = [-1.0, -0.5, 0.0, 0.5, 1.0]
    middle, half = box.low / 2 + box.high / 2, box.high / 2 - box.low / 2
    units = np.array(list(itertools.product(parts, repeat=box.dimension)))
    missing = np.full((1, box.dimension), math.nan)
    odd = np.random.default_rng(1).uniform(-1, 1, size=(60, box.dimension))
    return np.vstack([middle + half * units, middle + half * odd, missing])


def length(vectors, norm):
    exact = vectors.astype(object)
    if norm == "l1":
        return max(sum(map(abs, v)) for v in exact)
    return math.sqrt(max(sum(x * x for x in v) for v in exact))


def sums(moments, box, records):
    """Noise-free numbers, as they would be published."""
    return moments.contributions(box, records).sum(axis=0) / UNIT


# --- how far apart ---------------------------------------------------------------------------------------------------


@pytest.mark.few(12)
@pytest.mark.parametrize("box", [ONE, TWO, THREE], ids=["one", "two", "three"])
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("counted", [None, "replace", "add-remove"])
@pytest.mark.parametrize("complete", [False, True])
def test_neighbours_are_no_further_apart_than_promised(box, statistic, norm, counted, complete):
    if counted is None:
        moments = Moments(statistic, complete, 0)
    else:
        moments = Moments.counting(statistic, box, complete, norm, counted == "replace")
    contributions = moments.contributions(box, records_of(box))
    single = length(contributions, norm)
    pair = length((contributions[:, None] - contributions[None]).reshape(-1, contributions.shape[1]), norm)
    assert single <= moments.apart(box, ADD, norm)
    assert pair <= moments.pair(box, norm) or not complete  # against nothing, only where nothing can be missing
    assert max(pair, 0 if complete else single) <= moments.apart(box, ROW, norm)
    assert 3 * max(pair, single) <= moments.apart(box, PERSON, norm)


@pytest.mark.parametrize("box", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_promise_is_reached_or_nearly(box, statistic, norm):
    """Exactly, or within 0.2 % where the worst pair of a covariance lies between the records that are tried here."""
    moments = Moments(statistic, True, 0)
    contributions = moments.contributions(box, records_of(box))
    pair = length((contributions[:, None] - contributions[None]).reshape(-1, contributions.shape[1]), norm)
    crossed = statistic == "covariance" and box.dimension > 1
    assert moments.apart(box, ROW, norm) <= pair * (1.002 if crossed else 1 + 1e-6)


@pytest.mark.parametrize("box", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_count_is_free_where_neighbours_replace(box, statistic, norm):
    bare = Moments(statistic, False, 0)
    counting = Moments.counting(statistic, box, False, norm, replace=True)
    assert counting.weight > 0
    assert counting.apart(box, ROW, norm) == max(bare.pair(box, norm), counting.single(box, norm))
    assert counting.apart(box, ROW, norm) <= bare.pair(box, norm) + 2
    heavier = Moments(statistic, False, counting.weight + UNIT // 1000)
    assert heavier.apart(box, ROW, norm) > bare.pair(box, norm)


def test_a_count_is_half_as_heavy_where_records_come_and_go():
    counting = Moments.counting("mean", ONE, False, "l1", replace=False)
    assert counting.weight == UNIT // 2
    assert counting.apart(ONE, ADD, "l1") == 3 * UNIT // 2


def test_contributions_are_moments():
    records = np.array([[120.0, -3.0], [70.0, 1.0], [95.0, -1.0]])
    found = Moments("covariance", False, 5).contributions(TWO, records)
    z = np.array([[1.0, -1.0], [0.0, 1.0], [0.5, 0.0]])
    wanted = np.column_stack([z, z[:, 0] ** 2 - 0.5, z[:, 0] * z[:, 1], z[:, 1] ** 2 - 0.5]) * UNIT
    assert found[:, :5].tolist() == wanted.tolist()
    assert found[:, 5].tolist() == [5, 5, 5]


def test_a_missing_value_counts_for_nothing_or_as_the_middle():
    record = np.array([[120.0, math.nan]])
    assert Moments("mean", False, 7).contributions(TWO, record).tolist() == [[0, 0, 0]]
    assert Moments("mean", True, 7).contributions(TWO, record).tolist() == [[UNIT, 0, 7]]


@pytest.mark.parametrize(("statistic", "size"), [("mean", 2), ("variance", 4), ("covariance", 5)])
def test_sizes(statistic, size):
    assert Moments(statistic, True, 0).size(TWO) == size
    assert Moments(statistic, True, 9).size(TWO) == size + 1


# --- estimates -------------------------------------------------------------------------------------------------------


@pytest.fixture
def records():
    generator = np.random.default_rng(4)
    z = generator.uniform(-1, 1, size=(500, 2)) @ np.array([[1.0, 0.4], [0.0, 0.6]])
    return np.column_stack([70 + 50 * z[:, 0], -1 + 2 * z[:, 1]])


@pytest.mark.parametrize("weight", [0, UNIT, UNIT // 3])
@pytest.mark.parametrize("rows", [500, None])
def test_without_noise_the_moments_are_those_of_the_records(records, weight, rows):
    if rows is None and not weight:
        return
    plain = {"mean": records.mean(axis=0), "variance": records.var(axis=0), "covariance": np.cov(records.T, bias=True)}
    for statistic, wanted in plain.items():
        moments = Moments(statistic, False, weight)
        assert moments.estimate(TWO, sums(moments, TWO, records), rows) == pytest.approx(wanted, rel=1e-6)
        low, high = moments.limits(TWO, sums(moments, TWO, records), np.zeros(moments.size(TWO)), rows)
        assert (low <= wanted).all() and (wanted <= high).all()
        assert (high - low <= 1e-5 * 50**2).all()


def test_one_column_is_a_number_but_a_covariance_is_a_matrix():
    record = np.array([[30.0], [50.0]])
    for statistic, wanted in (("mean", 40.0), ("variance", 100.0)):
        moments = Moments(statistic, True, 0)
        found = moments.estimate(ONE, sums(moments, ONE, record), 2)
        assert found.shape == () and found == pytest.approx(wanted, rel=1e-6)
        assert moments.labels(ONE) == []
    matrix = Moments("covariance", True, 0)
    assert matrix.estimate(ONE, sums(matrix, ONE, record), 2) == pytest.approx(np.array([[100.0]]), rel=1e-6)
    assert matrix.labels(TWO) == [["age", "change"]] * 2
    assert Moments("variance", True, 0).labels(TWO) == [["age", "change"]]


@pytest.mark.few(16)
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("rows", [0, 1, 500, None])
@pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e12])
def test_whatever_the_noise_a_statistic_is_a_possible_one(statistic, rows, size):
    generator = np.random.default_rng(2)
    moments = Moments(statistic, False, UNIT)
    for _ in range(20):
        numbers = generator.normal(size=moments.size(TWO)) * size
        widths = np.full(moments.size(TWO), size)
        value = moments.estimate(TWO, numbers, rows)
        low, high = moments.limits(TWO, numbers, widths, rows)
        assert np.isfinite(value).all() and np.isfinite(low).all() and np.isfinite(high).all()
        assert (low <= high).all()
        if statistic == "mean":
            assert ((value >= TWO.low) & (value <= TWO.high)).all()
        elif statistic == "variance":
            assert ((value >= 0) & (value <= [2500, 4])).all()
        else:
            assert np.linalg.eigvalsh(value).min() >= -1e-6 * 2500


@pytest.mark.few(20)
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("rows", [500, None])
@pytest.mark.parametrize("seed", range(10))
def test_any_noise_within_the_widths_is_within_the_limits(records, statistic, rows, seed):
    """Limits hold for the records' own statistic whenever every number is within its width of the true one."""
    generator = np.random.default_rng(seed)
    moments = Moments(statistic, False, UNIT)
    true = sums(moments, TWO, records)
    widths = generator.uniform(0, 1, size=len(true)) * generator.choice([0.1, 10, 300])
    noisy = true + generator.choice([-1.0, 1.0], size=len(true)) * widths
    plain = {"mean": records.mean(axis=0), "variance": records.var(axis=0), "covariance": np.cov(records.T, bias=True)}
    low, high = moments.limits(TWO, noisy, widths, rows)
    wanted = plain[statistic]
    assert (low <= wanted + 1e-9).all() and (wanted <= high + 1e-9).all()


def test_a_prediction_expects_as_many_records_as_there_are():
    assert Moments("mean", False, UNIT // 2).typical(TWO, 100).tolist() == [0.0, 0.0, 50.0]
    assert Moments("mean", True, 0).typical(TWO, 100).tolist() == [0.0, 0.0]
