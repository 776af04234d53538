"""The density target: what it refuses, what it certifies, and that no data can make it fail."""

import math

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError, SfumatoError
from sfumato.pipeline import prepare

LINE = sf.Box({"t": (0, 10)})
PLANE = sf.Box({"x": (0, 10), "y": (0, 5)})
GROUPS = sf.Box({"t": (0, 10), "sex": sf.Categorical(["F", "M"])})
ONE = sf.Privacy(epsilon=1.0)
GRID = np.linspace(0, 10, 21)


# --- bad parameters ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bandwidth", "words"),
    [
        (0, "bandwidth must be positive, got bandwidth=0"),
        (-1.5, "positive.*-1.5"),
        (math.nan, "finite.*nan"),
        (math.inf, "finite.*inf"),
        ([1.0, 0.0], "positive.*0.0"),
        ([1.0, math.nan], "finite.*nan"),
        ("wide", "'auto'.*'wide'"),
        (["2.5"], "'2.5'"),
        ([[1.0, math.nan], [math.nan, 1.0]], "finite.*nan"),
    ],
)
def test_a_bad_bandwidth_is_refused_at_once(bandwidth, words):
    with pytest.raises(ParameterError, match=words):
        sf.KDE(bandwidth)


@pytest.mark.parametrize("bandwidth", [None, True, {"t": 1.0}, 1j, object()])
def test_what_is_no_bandwidth_is_a_type_error(bandwidth):
    with pytest.raises(ParameterTypeError, match="bandwidth"):
        sf.KDE(bandwidth)


@pytest.mark.parametrize(
    ("bandwidth", "box", "words"),
    [
        (11.0, LINE, "column 't' is 10 wide.*11.0"),
        (1e-6, LINE, "choose a larger bandwidth or a smaller box"),
        ([1.0, 2.0], LINE, r"one per column \(1: \['t'\]\).*\(1.0, 2.0\)"),
        ([1.0], PLANE, r"one per column \(2"),
        ([], LINE, "one per column"),
        ([[4.0]], PLANE, r"2 x 2.*\(1, 1\)"),
        ([[1.0, 2.0], [2.0, 1.0]], PLANE, r"positive definite.*\[\[1.0, 2.0\], \[2.0, 1.0\]\]"),
        ([[1.0, 0.5], [0.4, 1.0]], PLANE, "symmetric"),
        (0.01, PLANE, r"bandwidth 0.01 of column 'x'.*at least 0.0488.*enlarge"),
    ],
)
def test_a_bandwidth_that_does_not_fit_the_box_is_refused_before_data_are_read(bandwidth, box, words):
    with pytest.raises(ParameterError, match=words):
        sf.release(sf.KDE(bandwidth), "there is no such file.csv", box, ONE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "box"}, "kernel.*'gaussian'.*'box'"),
        ({"post": "magic"}, "post.*'simplex', 'none'.*'magic'"),
        ({"missing": "zero"}, "missing.*'zero'"),
        ({"expected_rows": 0}, "expected_rows"),
        ({"expected_rows": 1.5}, "expected_rows"),
        ({"by": 3}, "by must be the name.*3"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(ParameterError, match=words):
        sf.KDE(1.0, **options)


def test_four_columns_say_what_to_do_instead():
    with pytest.raises(ParameterError, match=r"at most 3 columns, got 4.*Release several densities"):
        sf.release(sf.KDE(1.0), None, sf.Box([(0, 1)] * 4), ONE)


def test_a_category_says_what_to_do_instead():
    with pytest.raises(ParameterError, match=r"column 'sex' is categorical.*sf.KDE\(..., by='sex'\)"):
        sf.release(sf.KDE(1.0), None, GROUPS, ONE)


@pytest.mark.parametrize("by", ["t", "gender"])
def test_groups_must_be_declared(by):
    with pytest.raises(ParameterError, match=f"by must name a categorical column.*by='{by}'.*declare it as"):
        sf.release(sf.KDE(1.0, by=by), None, GROUPS, ONE)


def test_a_lattice_too_large_says_what_to_do():
    with pytest.raises(ParameterError, match=r"lower points=.* or enlarge the bandwidth"):
        sf.release(sf.KDE(1.0), np.zeros(3), LINE, ONE, basis=sf.Binning(2**26 + 1))


@pytest.mark.parametrize("basis", [sf.Step(5), "fine", None, 12])
def test_other_bases_are_refused(basis):
    with pytest.raises(ParameterTypeError, match="basis"):
        sf.release(sf.KDE(1.0), np.zeros(3), LINE, ONE, basis=basis)


def test_the_papers_lattice_needs_a_bandwidth_per_column():
    with pytest.raises(ParameterError, match="bandwidth per column"):
        sf.release(sf.KDE([[1.0, 0.3], [0.3, 0.5]]), np.zeros((3, 2)), PLANE, ONE, basis=sf.Bernstein(5))


@pytest.mark.parametrize(
    "privacy", [sf.Privacy(epsilon=1.0, neighbours="add-remove"), sf.Privacy(epsilon=1.0, unit=sf.Person(0, 2))]
)
def test_the_papers_lattice_needs_a_public_number_of_rows_before_anything_is_paid(privacy, tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", sf.Privacy(epsilon=1.0))
    with pytest.raises(ParameterError, match=r"public number of rows.*use basis='auto'"):
        sf.release(sf.KDE(1.0), np.zeros((3, 1)), LINE, privacy, basis=sf.Bernstein(5), ledger=account)
    assert account.history() == []


def test_a_target_cannot_change():
    bandwidth = [[1.0, 0.2], [0.2, 0.5]]
    target = sf.KDE(bandwidth)
    bandwidth[0][0] = 99.0
    assert target.bandwidth == ((1.0, 0.2), (0.2, 0.5))
    assert target == sf.KDE(np.array([[1.0, 0.2], [0.2, 0.5]]))
    assert hash(target) == hash(sf.KDE(((1.0, 0.2), (0.2, 0.5))))
    with pytest.raises(AttributeError):
        target.bandwidth = 1.0


# --- any data will do -------------------------------------------------------------------------------------------

NOBODY = np.zeros(0)  # refused where the number of rows is public
HIDDEN = sf.Privacy(epsilon=1.0, neighbours="add-remove")
ODD = {
    "one row": np.array([3.0]),
    "two rows": np.array([3.0, 3.0]),
    "all missing": np.full(50, np.nan),
    "infinities": np.array([np.inf, -np.inf] * 25),
    "far outside": np.array([1e300, -1e300] * 25),
    "all the same": np.full(50, 5.0),
    "tiny numbers": np.full(50, 5e-324),
    "whole numbers": np.arange(50),
    "truth values": np.array([True, False] * 25),
}


@pytest.mark.few(6)
@pytest.mark.parametrize("privacy", [ONE, sf.Privacy(epsilon=1.0, neighbours="add-remove"), sf.Privacy(rho=0.5)])
@pytest.mark.parametrize("name", ODD)
def test_no_data_make_a_release_fail(name, privacy):
    check_any(sf.release(sf.KDE(1.0), ODD[name], LINE, privacy))


def test_nor_do_no_data_whose_number_is_private():
    check_any(sf.release(sf.KDE(1.0), NOBODY, LINE, HIDDEN))
    with pytest.raises(SfumatoError, match="the data have no records"):
        sf.release(sf.KDE(1.0), NOBODY, LINE, ONE)


def check_any(release):
    assert np.isfinite(release(GRID)).all()
    for include in ("noise", "total", "worst"):
        low, high = release.band(GRID, include=include)
        assert (low <= high).all()
        assert not np.isnan(low).any() and not np.isnan(high).any()
    assert 0 <= release.count < np.inf
    assert 0 <= release.quantile(0.5) <= 10
    assert release.count_band()[0] <= release.count_band()[1]


@pytest.mark.few(3)
@pytest.mark.parametrize("options", [{"post": "none"}, {"missing": "none"}, {"bandwidth": "auto"}])
@pytest.mark.parametrize("name", ["one row", "all missing", "infinities"])
def test_nor_do_other_options(name, options):
    release = sf.release(sf.KDE(**{"bandwidth": 1.0, **options}), ODD[name], LINE, ONE)
    assert np.isfinite(release(GRID)).all()
    assert np.isfinite(release.sample(3)).all()


@pytest.mark.parametrize("name", ["one row", "all missing"])
def test_nor_do_groups_and_circles(name):
    data = np.stack([ODD[name], np.zeros(len(ODD[name]))], axis=1)
    box = sf.Box([sf.Periodic(0, 10), sf.Categorical([0, 1])])
    release = sf.release(sf.KDE(1.0, by="x1"), data, box, ONE)
    assert np.isfinite(release[0](GRID)).all()


@pytest.mark.few(6)
@pytest.mark.parametrize("epsilon", [1e-7, 1e-5, 1e-3, 1e3, 1e9])
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_any_epsilon_will_do(epsilon, rows):
    """One row at epsilon = 1e-5 once met a singular matrix."""
    release = sf.release(sf.KDE(1.0), np.full(rows, 3.0), LINE, sf.Privacy(epsilon=epsilon))
    assert np.isfinite(release(GRID)).all()
    assert release.expansion.measure.sum() == pytest.approx(1.0, abs=1e-6)
    assert not np.isnan(release.band(GRID)).any()


def test_an_epsilon_beyond_integers_is_refused_not_crashed():
    with pytest.raises(SfumatoError):
        sf.release(sf.KDE(1.0), np.zeros(3), LINE, sf.Privacy(epsilon=1e-12))


# --- choices from public quantities -----------------------------------------------------------------------------


def test_the_lattice_does_not_depend_on_the_data():
    generator = np.random.default_rng(1)
    bases = {sf.release(sf.KDE(1.0), d, LINE, ONE).basis for d in (np.zeros(200), generator.uniform(0, 10, 200))}
    assert len(bases) == 1
    automatic = [
        sf.release(sf.KDE(), d, LINE, ONE).bandwidth.tolist() for d in (np.zeros(200), generator.uniform(0, 10, 200))
    ]
    assert automatic[0] == automatic[1]


def test_where_the_number_of_rows_is_private_nothing_depends_on_it():
    privacy = sf.Privacy(epsilon=1.0, neighbours="add-remove")
    found = [sf.release(sf.KDE(), np.zeros(n), LINE, privacy) for n in (10, 100_000)]
    assert found[0].basis == found[1].basis
    assert found[0].bandwidth.tolist() == found[1].bandwidth.tolist()
    assert found[0].law == found[1].law
    expected = sf.release(sf.KDE(expected_rows=10), np.zeros(10), LINE, privacy)
    assert expected.bandwidth > found[0].bandwidth  # a public guess steers it


def test_more_rows_or_more_epsilon_means_a_smaller_automatic_bandwidth():
    def chosen(rows, epsilon):
        return float(sf.release(sf.KDE(), np.zeros(rows), LINE, sf.Privacy(epsilon=epsilon)).bandwidth[0])

    assert chosen(100, 1.0) > chosen(10_000, 1.0) > chosen(10_000, 10.0)
    assert chosen(100, 0.1) > chosen(100, 1.0)


def test_the_automatic_bandwidth_scales_with_the_column():
    data = np.random.default_rng(1).uniform(size=(300, 2))
    wide = sf.release(sf.KDE(), data * [10, 1000], sf.Box([(0, 10), (0, 1000)]), ONE)
    assert wide.bandwidth[1] == pytest.approx(wide.bandwidth[0] * 100)


def test_the_plan_is_about_what_happens():
    """The planned noise bound covers the noise of releases; the mean is about right."""
    target, basis = sf.KDE(1.0, post="none", missing="none"), sf.Binning(12)
    plan = sf.plan(target, LINE, ONE, n=500, basis=basis)
    data, grid = np.random.default_rng(1).uniform(0, 10, 500), np.linspace(0, 10, 200)
    releases = [sf.release(target, data, LINE, ONE, basis=basis) for _ in range(100)]
    exact = releases[0].masses.reconstruction().weights(grid[:, None] / 10, (0,))[0]
    shares = basis.axis_shares(LINE, 0, data / 10).mean(axis=0)
    sups = np.array([np.abs(r(grid) - exact @ shares).max() for r in releases])
    assert sups.mean() == pytest.approx(plan.mean_noise_error, rel=0.2)
    assert (sups > plan.noise_error).sum() <= 25  # of 100 at most 5 are expected
    assert plan.approximation_error > 0
    assert plan.law == releases[0].law
    assert plan.guarantee == releases[0].guarantee


def test_a_plan_needs_no_rows_and_reads_nothing():
    assert sf.plan(sf.KDE(1.0), LINE, sf.Privacy(epsilon=1.0, neighbours="add-remove")).law.size > 1
    assert "lower bound" in str(sf.plan(sf.KDE(1.0), LINE, ONE, n=1000))


# --- where data come from ---------------------------------------------------------------------------------------


def test_files_frames_and_arrays_give_the_same_counts(tmp_path):
    data = np.random.default_rng(1).uniform(-1, 11, 500)
    data[::7] = np.nan
    frame = pd.DataFrame({"other": 1.0, "t": data})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    target, basis, privacy = sf.KDE(1.0), sf.Binning(12), sf.Privacy(epsilon=1e9)
    sources = [data, frame, tmp_path / "t.csv", tmp_path / "t.parquet"]
    found = [sf.release(target, source, LINE, privacy, basis=basis).coefficients for source in sources]
    for other in found[1:]:
        assert other == pytest.approx(found[0], abs=1e-6)


def test_records_outside_count_at_the_edge_and_hours_go_round():
    basis, privacy = sf.Binning(11), sf.Privacy(epsilon=1e9)
    masses = sf.release(sf.KDE(1.0), np.array([-5.0, 12.0, 99.0]), LINE, privacy, basis=basis).coefficients
    assert masses == pytest.approx([1, *[0] * 9, 2], abs=1e-3)
    day = sf.Box({"hour": sf.Periodic(0, 24)})
    masses = sf.release(sf.KDE(2.0), np.array([25.0, -23.0]), day, privacy, basis=sf.Binning(24)).coefficients
    assert masses[1] == pytest.approx(2, abs=1e-2)


def test_the_paid_choices_are_described():
    release = sf.release(sf.KDE(sf.Tuned([0.5, 1.0, 2.0])), np.random.default_rng(1).uniform(0, 10, 200), LINE, ONE)
    assert float(release.bandwidth[0]) in (pytest.approx(0.5), pytest.approx(1.0), pytest.approx(2.0))
    assert release.guarantee.epsilon == 1.0
    described = dict(release.target)
    assert described["target"] == "density"
    assert described["post-processing"] == "simplex"


def test_a_bandwidth_that_does_not_fit_is_refused_for_all_columns_at_once():
    box = sf.Box({"age": (0, 110), "bmi": (10, 60), "pulse": (30, 200)})
    with pytest.raises(
        SfumatoError, match=r"column 'age' is 110 wide, got .*; column 'bmi' is 50 wide, got bandwidth=120"
    ):
        sf.KDE([120.0, 120.0, 9.0]).check_box(box)
    words = (
        r"0.1 of column 'age', 0.05 of column 'bmi' needs too large .* at least \S+ for 'age', \S+ for 'bmi'; enlarge"
    )
    with pytest.raises(SfumatoError, match=words):
        sf.KDE([0.1, 0.05, 20.0]).check_box(box)


# --- zero-sum noise ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "privacy", "basis", "kind"),
    [
        (sf.KDE(1.0), ONE, sf.SplitLattice(12, 0.5), "zero-sum"),
        (sf.KDE(0.02), ONE, sf.Binning(512), "zero-sum"),
        (sf.KDE(0.02), ONE, sf.Binning(513), "laplace"),  # where nothing is gained
        (sf.KDE(1.0), sf.Privacy(epsilon=2.0**22), sf.Binning(9), "laplace"),  # of fewer steps than there are masses
        (sf.KDE(1.0), sf.Privacy(epsilon=2.0**-25), sf.Binning(9), "laplace"),  # what leads to it would be too large
        (sf.KDE(1.0), sf.Privacy(epsilon=1.0, neighbours="add-remove"), sf.Binning(9), "laplace"),
        (sf.KDE(1.0), sf.Privacy(epsilon=1.0, unit=sf.Person("who", 3)), sf.Binning(9), "zero-sum"),
        (sf.KDE(1.0), sf.Privacy(rho=0.5), sf.Binning(9), "gaussian"),
        (sf.KDE(1.0), ONE, sf.Bernstein(9), "laplace"),
    ],
)
def test_zero_sum_noise_is_taken_where_records_are_replaced_and_it_fits(target, privacy, basis, kind):
    prepared = prepare(target, LINE, privacy, 50, basis=basis)
    assert prepared.law.kind == kind
    if kind == "zero-sum":  # no noise is larger than it was
        plain = prepare(target, LINE, privacy, 50, basis=basis, noise="laplace").law
        assert (plain.kind, plain.scale) == ("laplace", prepared.law.scale)


def test_groups_have_independent_noise():
    box = sf.Box({"t": (0, 10), "g": sf.Categorical(("a", "b"))})
    assert prepare(sf.KDE(1.0, by="g"), box, ONE, 50, basis=sf.Binning(9)).law.kind == "laplace"


def test_the_number_of_records_is_as_sure_as_one_mass(tmp_path):
    """Nothing is missing of 5,000, noise alone decides: beyond 30 one time in 10^6. A file has the same limits."""
    data = np.random.default_rng(1).uniform(0, 10, 5000)
    release = sf.release(sf.KDE(0.5), data, LINE, ONE, basis=sf.Binning(41))
    low, _ = release.count_band()
    assert 4960 < low < 5000
    release.save(tmp_path / "density.sfumato")
    again = sf.load(tmp_path / "density.sfumato")
    assert again.law == release.law
    assert again.count_band() == release.count_band()
