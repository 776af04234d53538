"""Nadaraya-Watson: what is refused, what a record adds in whole steps, and that every kind of table is read alike."""

import math

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from opening import numbers_of, places_kept
from sfumato.bases.density.shares import axis_table, shape_of_cells, share_bits
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError
from unit.targets.sources import SOURCES

LINE = sf.Box({"age": (0, 110)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
SPACE = sf.Box({"age": (0, 110), "bmi": (10, 60), "hour": sf.Periodic(0, 24)})
WIDE = {1: 9.0, 2: [20.0, 12.0], 3: [30.0, 15.0, 8.0]}
BASES = {1: sf.Binning(12), 2: sf.Binning((6, 5)), 3: sf.Binning((4, 4, 4))}
ONE = sf.Privacy(epsilon=1.0)
GRID = np.linspace(0, 110, 23)
RNG = np.random.default_rng(5)
AGES = RNG.uniform(0, 110, 300)
PRESSURES = 90 + 0.5 * AGES + RNG.normal(0, 10, 300)
TARGET = sf.NadarayaWatson(9.0, response="bp", range=(60, 220))


def whole(data, target=TARGET, box=LINE, basis=None, privacy=ONE):
    """The integer coefficients before any noise."""
    basis = basis or BASES[box.dimension]
    gathered = target.gather(MemoryEngine().open(data, box, privacy.unit, target.columns), box, MemoryEngine())
    certificate = target.certificate(basis, box, None, privacy)
    return numbers_of(target.coefficients(gathered, basis, box, certificate))


# --- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"range": None}])
def test_an_undeclared_range_is_refused(options):
    with pytest.raises(ParameterError, match=r"range=\(low, high\).*never taken from the data"):
        sf.NadarayaWatson(9.0, response="bp", **options)


@pytest.mark.parametrize(
    ("limits", "kind", "words"),
    [
        ((220, 60), ParameterError, "low must be below high"),
        ((60, 60), ParameterError, "low must be below high"),
        ((60, math.inf), ParameterError, "finite"),
        ((60, math.nan), ParameterError, "finite"),
        ((60,), ParameterTypeError, r"range must be a pair \(low, high\)"),
        ("60:220", ParameterTypeError, r"range must be a pair \(low, high\)"),
        (220, ParameterTypeError, r"range must be a pair \(low, high\)"),
    ],
)
def test_a_bad_range_is_refused(limits, kind, words):
    with pytest.raises(kind, match=words):
        sf.NadarayaWatson(9.0, response="bp", range=limits)


@pytest.mark.parametrize("bandwidth", [0, -1.5, [9.0, 0.0], [-1.0]])
def test_a_bandwidth_must_be_positive(bandwidth):
    with pytest.raises(ParameterError, match="bandwidth must be positive, got bandwidth="):
        sf.NadarayaWatson(bandwidth, range=(0, 1))


@pytest.mark.parametrize("bandwidth", [math.nan, math.inf, "wide"])
def test_a_bandwidth_must_be_a_finite_number_or_auto(bandwidth):
    with pytest.raises(ParameterError, match="bandwidth"):
        sf.NadarayaWatson(bandwidth, range=(0, 1))


@pytest.mark.parametrize("response", [["bp", "pulse"], ("bp", "pulse"), "", 3, None])
def test_one_response_only(response):
    with pytest.raises(ParameterTypeError, match="response must be the name of a column, got response="):
        sf.NadarayaWatson(9.0, response=response, range=(60, 220))


def test_two_columns_of_responses_are_refused():
    pair = (AGES[:, None], np.stack([PRESSURES, PRESSURES], axis=1))
    with pytest.raises(SchemaError, match="y must hold one value for each row"):
        sf.release(TARGET, pair, LINE, ONE)


def test_a_response_among_the_columns_of_the_box_is_refused_before_data_are_read():
    box = sf.Box({"age": (0, 110), "bp": (60, 220)})
    with pytest.raises(ParameterError, match=r"response 'bp' must not be among the columns of the box"):
        sf.release(TARGET, "there is no such file.csv", box, ONE)
    with pytest.raises(ParameterError, match="'bp'"):
        sf.plan(TARGET, box, ONE, 100)


@pytest.mark.parametrize(
    ("box", "words"),
    [
        (sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"])}), "column 'sex' is categorical"),
        (sf.Box([(0, 1)] * 4), "1 to 3 columns, got 4"),
        (sf.Box({"age": (0, 5)}), "column 'age' is 5 wide"),
    ],
)
def test_a_box_that_does_not_fit_is_refused_before_data_are_read(box, words):
    with pytest.raises(ParameterError, match=words):
        sf.release(TARGET, "there is no such file.csv", box, ONE)


@pytest.mark.parametrize("basis", [sf.Bernstein(5), sf.Step(5), sf.Landmarks(4), sf.Coordinates()])
def test_other_bases_are_refused(basis):
    with pytest.raises(ParameterTypeError, match=r"basis must be sf.Binning or sf.SplitLattice for this target"):
        sf.release(TARGET, (AGES[:, None], PRESSURES), LINE, ONE, basis=basis)


def test_a_lattice_finer_than_the_kernel_is_refused_before_anything_is_paid(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", ONE)
    with pytest.raises(ParameterError, match="points must be at most"):
        sf.release(TARGET, (AGES[:, None], PRESSURES), LINE, ONE, basis=sf.Binning(3000), ledger=account)
    assert account.history() == []


def test_noise_that_ties_both_parts_together_is_refused_before_anything_is_paid(tmp_path):
    """Bands read the noise of each part alone, and so does the file."""
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", ONE)
    with pytest.raises(ParameterError, match=r"noise='l2' ties both parts together; use noise='auto'"):
        sf.release(TARGET, (AGES[:, None], PRESSURES), LINE, ONE, noise="l2", ledger=account)
    assert account.history() == []


def test_nothing_here_is_tuned():
    with pytest.raises(ParameterError, match=r"bandwidth=sf.Tuned\(...\) is for densities"):
        sf.NadarayaWatson(sf.Tuned([5.0, 9.0]), range=(0, 1))
    with pytest.raises(ParameterTypeError, match=r"basis=sf.Tuned"):
        sf.release(TARGET, (AGES[:, None], PRESSURES), LINE, ONE, basis=sf.Tuned([sf.Binning(5), sf.Binning(9)]))


@pytest.mark.parametrize("expected", [0, 1.5, "many"])
def test_expected_rows_are_checked(expected):
    with pytest.raises(ParameterError, match="expected_rows"):
        sf.NadarayaWatson(9.0, range=(0, 1), expected_rows=expected)


def test_tables_must_have_the_columns():
    frame = pd.DataFrame({"age": AGES, "bp": PRESSURES})
    with pytest.raises(SchemaError, match="'bp'"):
        sf.release(TARGET, frame.drop(columns="bp"), LINE, ONE)
    with pytest.raises(SchemaError, match="'age'"):
        sf.release(TARGET, frame.drop(columns="age"), LINE, ONE)
    with pytest.raises(SchemaError, match=r"no column 'bp'; pass an \(X, y\) pair"):
        sf.release(TARGET, AGES, LINE, ONE)
    with pytest.raises(SchemaError, match="'bp' must be numeric"):
        sf.release(TARGET, frame.assign(bp="high"), LINE, ONE)
    with pytest.raises(SchemaError, match="numbers as declared"):
        sf.release(TARGET, (AGES[:, None], np.full(300, "high")), LINE, ONE)


def test_a_target_cannot_change():
    bandwidth, limits = [20.0, 12.0], [60, 220]
    target = sf.NadarayaWatson(bandwidth, "bp", limits)
    bandwidth[0], limits[0] = 1.0, 0
    assert (target.bandwidth, target.range) == ((20.0, 12.0), (60.0, 220.0))
    assert hash(target) == hash(sf.NadarayaWatson(np.array([20.0, 12.0]), "bp", (60.0, 220.0)))
    with pytest.raises(AttributeError):
        target.gap = 3


# --- what a record adds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_one_record_splits_its_cells_shares_between_high_and_low(dimension):
    """In one dimension a response is read to a 4096th of its range, in two to a 1024th, in three to a 128th."""
    box = (LINE, PLANE, SPACE)[dimension - 1]
    target, basis = sf.NadarayaWatson(WIDE[dimension], "bp", (60, 220)), BASES[dimension]
    record, steps = np.array([[30.2, 25.1, 7.7]])[:, :dimension], {1: 4096, 2: 1024, 3: 128}[dimension]
    found = whole((record, np.array([100.0])), target, box)
    cells = shape_of_cells(box, 2)
    share = np.ones(1, dtype=np.int64)
    kernel = sf.KDE(WIDE[dimension]).gaussian(box)
    for axis, size in enumerate(cells):
        place = int((record[0, axis] - box.low[axis]) / (box.high - box.low)[axis] * size)
        share = np.multiply.outer(share, axis_table(basis, box, kernel, axis, size).toarray()[place])
    high = round(steps * 40 / 160)
    assert found.tolist() == np.concatenate([high * share.ravel(), (steps - high) * share.ravel()]).tolist()
    assert found.sum() == steps * 2 ** share_bits(box)


def test_records_add_up():
    together = whole((AGES[:, None], PRESSURES))
    alone = [whole((AGES[i : i + 1, None], PRESSURES[i : i + 1])) for i in range(0, 300, 50)]
    rest = np.setdiff1d(np.arange(300), np.arange(0, 300, 50))
    assert (together == sum(alone) + whole((AGES[rest, None], PRESSURES[rest]))).all()
    assert together.dtype == np.int64


def test_responses_outside_the_range_are_clipped():
    odd = np.array([np.inf, 1e300, 221.0, 220.0, -np.inf, -5.0, 60.0])
    tame = np.array([220.0, 220.0, 220.0, 220.0, 60.0, 60.0, 60.0])
    assert (whole((AGES[:7, None], odd)) == whole((AGES[:7, None], tame))).all()


@pytest.mark.parametrize("hole", ["age", "bp"])
def test_a_record_with_a_missing_value_counts_for_nothing(hole):
    frame = pd.DataFrame({"age": AGES, "bp": PRESSURES})
    holed = frame.copy()
    holed.loc[::3, hole] = np.nan
    assert (whole(holed) == whole(frame[holed[hole].notna()])).all()


def test_a_largest_norm_is_kept():
    box = sf.Box({"x": (-1, 1), "z": (-1, 1)}, max_norm=0.5)
    target, free = sf.NadarayaWatson([0.3, 0.3], range=(0, 1)), sf.Box({"x": (-1, 1), "z": (-1, 1)})
    records = np.array([[1.0, 1.0], [0.1, 0.2]])
    found = whole((records, np.ones(2)), target, box)
    assert (found == whole((box.clean(records), np.ones(2)), target, free)).all()


# --- every kind of table ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_table_gives_the_same_numbers(source, tmp_path):
    frame = pd.DataFrame({"age": AGES, "bp": PRESSURES, "name": "somebody"})
    frame.loc[::7, "bp"] = np.nan
    expected = whole((frame[["age"]].to_numpy(), frame.bp.to_numpy()))
    assert (whole(SOURCES[source](frame, tmp_path)) == expected).all()


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float32", "bool"])
def test_responses_of_any_real_type(dtype):
    y = (np.arange(300) % 2).astype(dtype)
    target = sf.NadarayaWatson(9.0, range=(0, 1))
    assert (whole((AGES, y), target) == whole((AGES[:, None], y[:, None].astype(float)), target)).all()


def test_only_so_many_rows_of_a_person_count():
    frame = pd.DataFrame({"age": AGES, "bp": PRESSURES, "who": np.arange(300) // 3})
    privacy = sf.Privacy(epsilon=1.0, unit=sf.Person("who", 2))
    kept = places_kept(frame, LINE, privacy.unit, TARGET.columns)
    assert np.bincount(kept // 3).tolist() == [2] * 100
    assert (whole(frame, privacy=privacy) == whole(frame.iloc[kept])).all()
    release = sf.release(TARGET, frame, LINE, privacy)
    assert release.rows is None
    assert release.law.certificate.bound == 2 * TARGET.certificate(release.high.basis, LINE, None, ONE).bound


# --- certificates -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_two_functions_cost_no_more_than_a_density(dimension):
    """Per record, in units of one whole share: L1 2 for replacing and 1 for adding, whatever the lattice."""
    box = (LINE, PLANE, SPACE)[dimension - 1]
    target, basis = sf.NadarayaWatson(WIDE[dimension], "bp", (60, 220)), BASES[dimension]
    for relation, records in (("replace", 2), ("add-remove", 1)):
        found = target.certificate(basis, box, None, sf.Privacy(epsilon=1.0, neighbours=relation))
        assert (found.norm, found.relation, found.known) == ("l1", relation, "enforced")
        assert found.bound * 2.0**found.exponent == records
        assert found.proof == "nadaraya-watson"


def test_the_euclidean_certificate_is_that_of_the_longest_record():
    longest = 4096 * math.sqrt(2) * 2**24  # a record on a lattice point, replaced by one on another
    found = TARGET.certificate(sf.Binning(12), LINE, 300, sf.Privacy(rho=0.5))
    assert found.norm == "l2"
    assert longest * 0.999 < found.bound < longest * 1.001
    once = TARGET.certificate(sf.Binning(12), LINE, None, sf.Privacy(rho=0.5, neighbours="add-remove"))
    assert once.bound == pytest.approx(found.bound / math.sqrt(2), rel=1e-6)


def test_the_number_of_rows_is_published_only_where_it_is_public():
    data = (AGES[:, None], PRESSURES)
    assert sf.release(TARGET, data, LINE, ONE).rows == 300
    assert sf.release(TARGET, data, LINE, sf.Privacy(epsilon=1.0, neighbours="add-remove")).rows is None


# --- the release ------------------------------------------------------------------------------------------------


def formula(points, records, responses, bandwidth):
    apart = (points[:, None, :] - records[None, :, :]) / np.array(bandwidth)
    weights = np.exp(-0.5 * (apart**2).sum(axis=2))
    return weights @ responses / weights.sum(axis=1)


@pytest.mark.parametrize("basis", ["auto", sf.Binning(40), sf.SplitLattice(20, 4.0)])
def test_without_noise_it_is_the_kernel_regression(no_noise, basis):
    found = sf.release(TARGET, (AGES[:, None], PRESSURES), LINE, sf.Privacy(epsilon=1e4), basis=basis)(GRID)
    assert found == pytest.approx(formula(GRID[:, None], AGES[:, None], PRESSURES, [9.0]), abs=0.4)


def test_without_noise_it_is_the_kernel_regression_on_two_columns(no_noise):
    records = np.stack([AGES, RNG.uniform(10, 60, 300)], axis=1)
    target = sf.NadarayaWatson([20.0, 12.0], "bp", (60, 220))
    points = np.stack([GRID, np.linspace(12, 58, 23)], axis=1)
    found = sf.release(target, (records, PRESSURES), PLANE, sf.Privacy(epsilon=1e4))(points)
    assert found == pytest.approx(formula(points, records, PRESSURES, [20.0, 12.0]), abs=1.0)


def test_one_response_for_all_is_the_curve(no_noise):
    release = sf.release(TARGET, (AGES[:, None], np.full(300, 140.0)), LINE, ONE)
    assert release(GRID) == pytest.approx(140.0, abs=0.02)  # half of 4096 steps


def test_every_grant_and_dimension_is_published():
    records = np.stack([AGES, RNG.uniform(10, 60, 300), RNG.uniform(0, 24, 300)], axis=1)
    for dimension, box in ((1, LINE), (2, PLANE), (3, SPACE)):
        target = sf.NadarayaWatson(WIDE[dimension], "bp", (60, 220))
        for privacy in (ONE, sf.Privacy(epsilon=1.0, delta=1e-6), sf.Privacy(rho=0.1)):
            release = sf.release(target, (records[:, :dimension], PRESSURES), box, privacy, basis=BASES[dimension])
            found = release(records[:9, :dimension])
            assert ((found >= 60) & (found <= 220)).all()
            assert (release.guarantee.epsilon, release.guarantee.rho) == (privacy.epsilon, privacy.rho)


def test_an_open_bandwidth_is_settled_by_a_public_rule():
    target = sf.NadarayaWatson(range=(0, 1))
    settled = target.settled(LINE, 300, ONE)
    assert settled.bandwidth == sf.KDE().settled(LINE, 300, ONE).bandwidth
    assert settled == target.settled(LINE, 300, ONE)
    found = sf.release(target, (AGES[:, None], PRESSURES), LINE, ONE)
    assert dict(found.target)["bandwidth"] == repr(settled.bandwidth)
    guess = sf.NadarayaWatson(range=(0, 1), expected_rows=300)
    assert guess.settled(LINE, None, ONE).bandwidth == settled.bandwidth


def test_a_plan_reads_nothing_and_names_the_response_in_its_units():
    narrow, wide = (sf.plan(sf.NadarayaWatson(9.0, "bp", (60, top)), LINE, ONE, 3000) for top in (140, 220))
    assert wide.law.size == 2 * wide.basis.size(LINE)
    assert wide.noise_error == pytest.approx(2 * narrow.noise_error)
    assert wide.noise_error >= wide.mean_noise_error > 0


def test_words():
    assert TARGET.describe() == (
        ("target", "regression of bp"),
        ("range", "(60.0, 220.0)"),
        ("bandwidth", "9.0"),
    )


ODD = {
    "one row": (np.array([[3.0]]), np.array([100.0])),
    "all missing": (np.full((50, 1), np.nan), np.full(50, np.nan)),
    "infinities": (np.array([[np.inf], [-np.inf]] * 25), np.array([-np.inf, np.inf] * 25)),
    "far outside": (np.full((50, 1), 1e300), np.full(50, -1e300)),
    "all the same": (np.full((50, 1), 5.0), np.full(50, 220.0)),
    "truth values": (np.array([[True], [False]] * 25), np.array([True, False] * 25)),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("privacy", [ONE, sf.Privacy(epsilon=1.0, neighbours="add-remove"), sf.Privacy(rho=0.5)])
@pytest.mark.parametrize("name", ODD)
def test_no_data_make_a_release_fail(name, privacy):
    check_any(sf.release(TARGET, ODD[name], LINE, privacy))


def test_nor_do_no_data_whose_number_is_private():
    nobody = (np.zeros((0, 1)), np.zeros(0))
    check_any(sf.release(TARGET, nobody, LINE, sf.Privacy(epsilon=1.0, neighbours="add-remove")))


def check_any(release):
    found = release(GRID)
    assert ((found >= 60) & (found <= 220)).all()
    for include in ("noise", "total", "worst"):
        low, high = release.band(GRID, include=include)
        assert ((low >= 60) & (low <= found) & (found <= high) & (high <= 220)).all()
