"""Priestley-Chao: what is refused, the formula in plain Python, ties, clipped gaps, and a public number of rows."""

import math

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError
from unit.targets.sources import SOURCES

LINE = sf.Box({"age": (0, 110)})
ONE = sf.Privacy(epsilon=1.0)
RNG = np.random.default_rng(6)
AGES = RNG.uniform(0, 110, 200)
PRESSURES = 90 + 0.5 * AGES + RNG.normal(0, 10, 200)
LATTICE = sf.Bernstein(8, order=2)
NODES = np.linspace(0, 110, 9)


def target(bandwidth=12.0, response="bp", range=(60, 220), **options):
    return sf.PriestleyChao(bandwidth, response, range, **options)


def formula(points, ages, pressures, rows=None, bandwidth=12.0, gap=4.0, limits=(60, 220), width=110.0):
    """Record by record, in the units of the column."""
    middle, rows = sum(limits) / 2, len(ages) if rows is None else rows
    clipped = [
        (min(max(x, 0.0), width), min(max(y, limits[0]), limits[1])) for x, y in zip(ages, pressures, strict=True)
    ]
    values, last = np.full(len(points), middle), 0.0
    for x, y in sorted(clipped):
        step = min(x - last, gap * width / rows)
        z = (points - x) / bandwidth
        values += step / bandwidth * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) * (y - middle)
        last = x
    return values


def lattice_values(data, box=LINE, **options):
    """What the release holds without noise; with such a grant the grid that values are rounded to is fine."""
    return sf.release(target(**options), data, box, sf.Privacy(epsilon=1e6), basis=LATTICE).coefficients


# --- errors -----------------------------------------------------------------------------------------------------


def test_an_undeclared_range_is_refused():
    with pytest.raises(ParameterError, match=r"range=\(low, high\).*never taken from the data"):
        sf.PriestleyChao(12.0, "bp")


@pytest.mark.parametrize("name", ["bandwidth", "gap"])
@pytest.mark.parametrize("value", [0, -1.0, 0.0])
def test_bandwidth_and_gap_must_be_positive(name, value):
    with pytest.raises(ParameterError, match=f"{name} must be positive, got {name}="):
        target(**{name: value})


@pytest.mark.parametrize("name", ["bandwidth", "gap"])
@pytest.mark.parametrize("value", [math.nan, math.inf, "auto", None, [12.0], True])
def test_bandwidth_and_gap_must_be_numbers(name, value):
    with pytest.raises(ParameterError, match=f"{name} must be"):
        target(**{name: value})


@pytest.mark.parametrize("response", [["bp", "pulse"], ("bp",), "", 3])
def test_one_response_only(response):
    with pytest.raises(ParameterTypeError, match="response must be the name of a column, got response="):
        target(response=response)


@pytest.mark.parametrize(
    ("box", "words"),
    [
        (sf.Box({"age": (0, 110), "bmi": (10, 60)}), r"on one column.*\['age', 'bmi'\].*use sf.NadarayaWatson"),
        (sf.Box({"hour": sf.Periodic(0, 24)}), "not periodic.*use sf.NadarayaWatson"),
        (sf.Box({"sex": sf.Categorical(["F", "M"])}), "'sex' is categorical"),
        (sf.Box({"bp": (0, 300)}), "response 'bp' must not be among the columns of the box"),
        (sf.Box({"age": (0, 1e150)}), "bandwidth=12.0 is too narrow for the column"),
    ],
)
def test_a_box_that_does_not_fit_is_refused_before_data_are_read(box, words):
    with pytest.raises(ParameterError, match=words):
        sf.release(target(), "there is no such file.csv", box, ONE)


@pytest.mark.parametrize(
    "privacy", [sf.Privacy(epsilon=1.0, neighbours="add-remove"), sf.Privacy(epsilon=1.0, unit=sf.Person("who", 2))]
)
def test_it_needs_a_public_number_of_rows_before_anything_is_paid(privacy, tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", sf.Privacy(epsilon=1.0))
    frame = pd.DataFrame({"age": AGES, "bp": PRESSURES, "who": np.arange(200)})
    with pytest.raises(ParameterError, match=r"needs a public number of rows.*use sf.NadarayaWatson"):
        sf.release(target(), frame, LINE, privacy, ledger=account)
    assert account.history() == []


def test_a_plan_needs_the_number_of_rows_too():
    with pytest.raises(ParameterError, match="needs a public number of rows"):
        sf.plan(target(), LINE, ONE)


@pytest.mark.parametrize("basis", [sf.Binning(9), sf.SplitLattice(9, 4.0), sf.Landmarks(4), sf.Coordinates()])
def test_other_bases_are_refused(basis):
    with pytest.raises(ParameterTypeError, match=r"basis must be .* for this target, got basis="):
        sf.release(target(), (AGES[:, None], PRESSURES), LINE, ONE, basis=basis)


def test_tables_must_have_the_columns():
    frame = pd.DataFrame({"age": AGES, "bp": PRESSURES})
    with pytest.raises(SchemaError, match="'bp'"):
        sf.release(target(), frame.drop(columns="bp"), LINE, ONE)
    with pytest.raises(SchemaError, match=r"pass an \(X, y\) pair"):
        sf.release(target(), AGES, LINE, ONE)
    with pytest.raises(SchemaError, match="y must hold one value for each row"):
        sf.release(target(), (AGES[:, None], np.stack([PRESSURES] * 2, axis=1)), LINE, ONE)


# --- the formula ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [0.3, 1.0, 4.0, 1000.0])
@pytest.mark.parametrize("bandwidth", [3.0, 12.0, 200.0])
def test_without_noise_it_is_the_formula(no_noise, gap, bandwidth):
    found = lattice_values((AGES[:, None], PRESSURES), gap=gap, bandwidth=bandwidth)
    assert found == pytest.approx(formula(NODES, AGES, PRESSURES, gap=gap, bandwidth=bandwidth), abs=1e-3)


def test_many_records_are_read_in_pieces(no_noise, monkeypatch):
    once = lattice_values((AGES[:, None], PRESSURES))
    monkeypatch.setattr("sfumato.targets.priestley_chao._ROWS", 7)
    monkeypatch.setattr("sfumato.targets.priestley_chao._BLOCK", 40)
    assert lattice_values((AGES[:, None], PRESSURES)) == pytest.approx(once, abs=1e-6)


def test_evenly_spread_records_give_their_curve_back(no_noise):
    """The gaps then add up to an integral; near the edges half of the kernel lies outside."""
    ages = (np.arange(5000) + 0.5) / 5000 * 110
    release = sf.release(
        target(5.0), (ages[:, None], 140 + 40 * np.sin(ages / 20)), LINE, ONE, basis=sf.Bernstein(60, order=4)
    )
    inner = np.linspace(25, 85, 31)
    assert release(inner) == pytest.approx(140 + 40 * np.exp(-0.5 * 0.25**2) * np.sin(inner / 20), abs=0.8)


def test_equal_places_are_sorted_by_their_response(no_noise):
    """Ties would otherwise be broken by the order of the rows, which one record could turn upside down."""
    ages, order = np.repeat([20.0, 50.0, 90.0], 40), RNG.permutation(120)
    pressures = RNG.uniform(60, 220, 120)
    one, other = (lattice_values((ages[o, None], pressures[o])) for o in (np.arange(120), order))
    assert one == pytest.approx(formula(NODES, ages, pressures), abs=1e-4)
    assert one.tolist() == other.tolist()


def test_values_outside_are_clipped(no_noise):
    odd = (np.array([[-np.inf], [-3.0], [55.0], [1e300], [np.inf]]), np.array([np.inf, 1e300, 10.0, -1e300, -np.inf]))
    tame = (np.array([[0.0], [0.0], [55.0], [110.0], [110.0]]), np.array([220.0, 220.0, 60.0, 60.0, 60.0]))
    assert lattice_values(odd).tolist() == lattice_values(tame).tolist()


def test_a_missing_value_counts_for_nothing_but_its_row_is_public(no_noise):
    ages, pressures = AGES.copy(), PRESSURES.copy()
    ages[::5], pressures[1::5] = np.nan, np.nan
    there = ~(np.isnan(ages) | np.isnan(pressures))
    expected = formula(NODES, ages[there], pressures[there], rows=200, gap=1.0)
    assert lattice_values((ages[:, None], pressures), gap=1.0) == pytest.approx(expected, abs=1e-4)


def test_whole_numbers_are_rounded_as_the_box_says(no_noise):
    box = sf.Box({"age": sf.Integer(0, 110)})
    found = lattice_values((AGES[:, None], PRESSURES), box=box)
    assert found == pytest.approx(lattice_values((np.rint(AGES)[:, None], PRESSURES)), abs=1e-9)


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_table_gives_the_same_numbers(no_noise, source, tmp_path):
    frame = pd.DataFrame({"age": AGES, "bp": PRESSURES, "name": "somebody"})
    frame.loc[::7, "bp"] = np.nan
    expected = lattice_values((frame[["age"]].to_numpy(), frame.bp.to_numpy()))
    assert lattice_values(SOURCES[source](frame, tmp_path)).tolist() == expected.tolist()


# --- certificate and release ------------------------------------------------------------------------------------


def test_the_certificate_is_four_terms():
    found = target().certificate(LATTICE, LINE, 200, ONE)
    assert (found.norm, found.relation, found.known, found.proof) == ("linf", "replace", "proved", "priestley-chao")
    half, share, width = 80.0, 4.0 / 200, 12 / 110
    assert found.bound == pytest.approx(4 * half * share / math.sqrt(2 * math.pi) / width, rel=1e-6)
    assert found.bound > 4 * half * share / math.sqrt(2 * math.pi) / width


def test_more_of_the_gap_costs_more_and_more_rows_less():
    bound = target().certificate(LATTICE, LINE, 200, ONE).bound
    assert target(gap=8.0).certificate(LATTICE, LINE, 200, ONE).bound == pytest.approx(2 * bound)
    assert target(bandwidth=6.0).certificate(LATTICE, LINE, 200, ONE).bound == pytest.approx(2 * bound)
    assert target().certificate(LATTICE, LINE, 800, ONE).bound == pytest.approx(bound / 4)
    assert target(range=(60, 140)).certificate(LATTICE, LINE, 200, ONE).bound == pytest.approx(bound / 2)


def test_a_replaced_record_keeps_within_the_certificate(no_noise):
    bound = target().certificate(LATTICE, LINE, 60, ONE).bound
    before = lattice_values((AGES[:60, None], PRESSURES[:60]))
    largest = 0.0
    for place in (0.0, 20.0, 55.0, 110.0):
        for response in (60.0, 220.0):
            ages, pressures = AGES[:60].copy(), PRESSURES[:60].copy()
            ages[7], pressures[7] = place, response
            largest = max(largest, np.abs(lattice_values((ages[:, None], pressures)) - before).max())
    assert 0 < largest <= bound


@pytest.mark.slow
def test_a_range_far_from_nought_keeps_within_the_certificate():
    """Milliseconds since 1970, within one of them: there a double has steps twelve times the certificate."""
    rows, low, wide = 200_000, 1.7e12, sf.PriestleyChao(88.0, range=(1.7e12, 1.7e12 + 1))
    bound, last, largest = wide.certificate(LATTICE, LINE, rows, ONE), None, 0.0
    for moved in range(60):  # one record after the other leaves 0 for a place of its own
        places = np.zeros((rows, 1))
        places[:moved, 0] = np.linspace(1, 110, 60)[:moved]
        table = open_table((places, np.full(rows, low + 1)), LINE, "row")
        values = wide.coefficients(table, LATTICE, LINE, bound)._values
        largest = max(largest, 0.0 if last is None else np.abs(values - last).max())
        last = values
    assert 0 < largest <= bound.bound


@pytest.mark.parametrize("low", [0.0, 1e12, 1e16])
def test_a_range_far_from_nought_is_where_it_is(no_noise, low):
    found = lattice_values((AGES[:, None], low + 8 * AGES / 110), range=(low, low + 8))
    assert found - low == pytest.approx(
        formula(NODES, AGES, 8 * AGES / 110, limits=(0, 8)), abs=2.0 if low > 1e15 else 1e-3
    )


@pytest.mark.parametrize("noise", ["auto", "laplace", "l2", "linf"])
def test_it_is_a_function(noise):
    release = sf.release(target(), (AGES[:, None], PRESSURES), LINE, ONE, noise=noise)
    assert isinstance(release, sf.FunctionRelease)
    assert release.basis == sf.Bernstein(10, order=3)
    assert release.guarantee.epsilon == 1.0
    low, high = release.band(NODES)
    assert (low < release(NODES)).all() and (release(NODES) < high).all()


@pytest.mark.parametrize("privacy", [sf.Privacy(epsilon=1.0, delta=1e-6), sf.Privacy(rho=0.1)])
def test_gaussian_noise(privacy):
    release = sf.release(target(), (AGES[:, None], PRESSURES), LINE, privacy, basis=sf.Step(6))
    assert release.law.kind == "gaussian"
    assert np.isfinite(release(NODES)).all()


def test_a_plan_has_the_order_of_what_nobody_can_beat():
    plan = sf.plan(target(), LINE, ONE, 200)
    assert plan.lower_bound == pytest.approx(target().certificate(LATTICE, LINE, 200, ONE).bound)
    assert plan.noise_error > plan.mean_noise_error > plan.lower_bound


def test_it_comes_back_from_a_file(tmp_path):
    release = sf.release(target(), (AGES[:, None], PRESSURES), LINE, ONE)
    release.save(tmp_path / "r.sfumato")
    loaded = sf.load(tmp_path / "r.sfumato")
    assert loaded(NODES).tobytes() == release(NODES).tobytes()
    assert dict(loaded.target)["gaps clipped at"] == "4.0 / n"


ODD = {
    "one row": (np.array([[3.0]]), np.array([100.0])),
    "all missing": (np.full((50, 1), np.nan), np.full(50, np.nan)),
    "infinities": (np.array([[np.inf], [-np.inf]] * 25), np.array([-np.inf, np.inf] * 25)),
    "all the same": (np.full((50, 1), 5.0), np.full(50, 220.0)),
}


@pytest.mark.parametrize("name", ODD)
def test_no_data_make_a_release_fail(name):
    assert np.isfinite(sf.release(target(), ODD[name], LINE, ONE)(NODES)).all()


@pytest.mark.parametrize("position", [5e-324, 1e-200, 0.0, 1.0])
def test_no_position_raises_under_the_callers_settings(position):
    data = (np.array([0.2, position, 0.7]), np.array([0.5, 0.1, 0.9]))
    with np.errstate(all="raise"):
        target = sf.PriestleyChao(bandwidth=0.001, response="y", range=(0, 1))
        sf.release(target, data, sf.Box([(0, 1)]), sf.Privacy(epsilon=1.0))
