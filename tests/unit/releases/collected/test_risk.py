"""A mean loss from reports: where it is lowest, what is certain of it, and files that say something else."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.lattice.chebyshev import chebyshev_points
from sfumato.bases.smooth_losses import SMOOTH
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.collected.risk import CollectedRisk

LINE, PLANE = sf.Box({"w": (-2, 2)}), sf.Box({"a": (-1, 1), "b": (0, 4)})
CENTRED = sf.Box({"a": (-1, 1), "b": (-1, 1)})
RECORDS = sf.Box({"w": (0, 1), "a": (0, 1), "b": (0, 1), "y": (0, 1)})


def protocol(parameters, **options):
    settings = {"loss": "own", "lattice": 9, "degree": 4, "response": "y", "range": (0, 16), "seed": 1, **options}
    return sf.local.RiskMinimization(RECORDS, 1.0, parameters=parameters, **settings)


def through(parameters, function, variance=1e-12, **options):
    """The release of devices that told this function, nearly without noise."""
    own = protocol(parameters, **options)
    return CollectedRisk.of(own, function(own.points), variance, 1000)


def test_the_lowest_point_of_a_wave_with_two_valleys():
    release = through(LINE, lambda p: (p[:, 0] ** 2 - 1) ** 2 + 0.1 * p[:, 0])
    lowest = release.minimise()
    assert lowest.parameters[0] == pytest.approx(-1.0123, abs=1e-3)
    assert 0 <= lowest.gap < 0.02 and lowest.low <= lowest.value <= lowest.high
    right = release.minimise(ridge=1e3)
    assert right.parameters[0] == pytest.approx(0.0, abs=1e-3)


def test_the_lowest_point_may_be_on_the_edge_and_have_a_ridge():
    release = through(PLANE, lambda p: (p[:, 0] - 3) ** 2 + (p[:, 1] - 1) ** 2, ridge=1.0)
    lowest = release.minimise()
    # Of (a - 3)^2 + a^2/2 within [-1, 1] the edge, of (b - 1)^2 + b^2/2 two thirds.
    assert lowest.parameters == pytest.approx((1.0, 2 / 3), abs=1e-5)
    assert lowest.value == pytest.approx(4 + 0.5 + 1 / 9 + 2 / 9, abs=1e-6)
    without = release.minimise(ridge=0.0)
    assert without.parameters == pytest.approx((1.0, 1.0), abs=1e-5) and without.confidence == 0.95


@pytest.mark.parametrize("parameters", [LINE, pytest.param(PLANE, marks=pytest.mark.slow)], ids=["line", "plane"])
def test_gaps_hold_over_the_noise(parameters):
    """Each of 30 surfaces is outside with probability .05 at most, twelve of them with 3e-9."""
    own, generator = protocol(parameters, lattice=6, degree=3), np.random.default_rng(5)
    true = CollectedRisk.of(own, ((own.points - parameters.high / 2) ** 2).sum(axis=1), 1e-12, 1000)
    outside = 0
    for _ in range(30):
        noisy = true.coefficients + generator.normal(scale=0.05, size=true.law.size)
        lowest = CollectedRisk.of(own, noisy, 0.05**2 / own.spread(1.0), 1000).minimise()
        above = float(true([lowest.parameters])[0])  # of nothing: the lowest is 0
        outside += not (above <= lowest.gap and lowest.low <= above <= lowest.high)
        assert lowest.gap < 1.0
    assert outside < 12


def test_noise_that_is_not_told_of_is_caught():
    """Negative control: with a tenth of the deviation stated, gaps do not hold."""
    own, generator = protocol(LINE), np.random.default_rng(6)
    points, outside = own.points[:, 0], 0
    for _ in range(20):
        noisy = 0.01 * points**2 + generator.normal(scale=0.05, size=9)
        lowest = CollectedRisk.of(own, noisy, 0.005**2 / own.spread(1.0), 1000).minimise()
        outside += 0.01 * lowest.parameters[0] ** 2 > lowest.high
        outside += 0.01 * lowest.parameters[0] ** 2 < lowest.low
    assert outside > 5


def told_by_people(parameters, loss, **options):
    """A protocol of a named loss, and the mean loss of 500 people at any parameters."""
    own = protocol(parameters, loss=loss, range=None, **options)
    generator, names = np.random.default_rng(7), parameters.names
    columns, y = generator.uniform(-1, 1, size=(500, len(names))), generator.uniform(-1, 1, size=500)
    y = 0.6 * y + 0.4 * columns[:, 0]
    return own, lambda at: SMOOTH[loss].at(at @ columns.T, y).mean(axis=1)


@pytest.mark.few(1)
@pytest.mark.parametrize("parameters", [LINE, pytest.param(CENTRED, marks=pytest.mark.slow)], ids=["line", "plane"])
@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_gaps_of_named_losses_hold_over_the_noise(parameters, loss):
    """Also where the lowest point is not the polynomial's. Each of 30 is outside with .05 at most, twelve with 3e-9."""
    (own, mean), generator = told_by_people(parameters, loss, lattice=6, degree=3), np.random.default_rng(8)
    true = CollectedRisk.of(own, mean(own.points), 1e-12, 1000)
    axes = [np.linspace(kind.low, kind.high, 81) for kind in parameters.columns]
    least = true(np.stack([one.ravel() for one in np.meshgrid(*axes, indexing="ij")], axis=1)).min()
    outside = 0
    for _ in range(30):
        noisy = true.coefficients + generator.normal(scale=0.05, size=true.law.size)
        lowest = CollectedRisk.of(own, noisy, 0.05**2 / own.spread(1.0), 1000).minimise()
        here = float(true([lowest.parameters])[0])
        outside += not (here - least <= lowest.gap and lowest.low <= here <= lowest.high)
    assert outside < 12


def test_of_a_named_loss_the_lowest_point_is_nearer():
    """Than the polynomial's: by .0022, with a deviation of .0037. The mean of 100 is below zero with 1e-9."""
    (own, mean), generator = told_by_people(CENTRED, "logistic", lattice=7), np.random.default_rng(9)
    fine = np.linspace(-1, 1, 41)
    grid = np.stack([one.ravel() for one in np.meshgrid(fine, fine)], axis=1)
    true, nearer = mean(grid), 0.0
    for _ in range(100):
        noisy = mean(own.points) + generator.normal(scale=0.015, size=49)
        release = CollectedRisk.of(own, noisy, 0.015**2 / own.spread(1.0), 1000)
        lowest = int(np.argmin(release.possible(grid)))
        nearer += true[np.argmin(release(grid))] - true[lowest]
    assert nearer > 0
    assert release.minimise().parameters == pytest.approx(grid[lowest], abs=0.05)


@pytest.mark.slow
def test_three_parameters_and_bernsteins_operator():
    solid = sf.Box({"a": (-1, 1), "b": (-1, 1), "w": (-1, 1)})
    shifted = [0.2, -0.4, 0.7]
    release = through(solid, lambda p: ((p - shifted) ** 2).sum(axis=1), lattice=4, degree=3)
    assert release.minimise().parameters == pytest.approx(shifted, abs=1e-4)
    assert release.minimise().gap < 0.2
    paper = through(LINE, lambda p: p[:, 0] ** 2, lattice=5, degree=4, bernstein=80)
    assert paper.minimise().parameters[0] == pytest.approx(0.0, abs=1e-3)


def test_what_cannot_be_asked():
    release = through(LINE, lambda p: p[:, 0])
    with pytest.raises(ParameterError, match="not its derivative"):
        release.derivative().minimise()
    with pytest.raises(ParameterError, match="ridge must be zero or positive"):
        release.minimise(ridge=-1.0)
    with pytest.raises(ParameterError, match="confidence must lie"):
        release.minimise(confidence=1.0)
    with pytest.raises(ParameterError, match="include='total' is not for a surface that devices told"):
        release.band([0.0], include="total")
    assert release.derivative()([0.5]) == pytest.approx([1.0])


def common(release):
    return {name: getattr(release, name) for name in ("guarantee", "law", "target", "receipt")}


def rebuilt(release, fields=None, arrays=None, **other):
    told = {**common(release), **other}
    return CollectedRisk.rebuild(
        told, release.box, {**release.fields(), **(fields or {})}, {**release.arrays(), **(arrays or {})}
    )


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("fields", "arrays"),
    [
        ({"basis": {"name": "step", "degree": 8}}, {}),
        ({"basis": {"name": "least-squares", "degree": 8, "kept": 9}}, {}),
        ({"basis": {"name": "least-squares", "degree": 7, "kept": 4}}, {}),
        ({"derivatives": [0, 0]}, {}),
        ({"derivatives": [-1]}, {}),
        ({"loss": "hinge"}, {}),
        ({"ridge": -1.0}, {}),
        ({"ridge": "x"}, {}),
        ({"range": [1.0, 1.0]}, {}),
        ({"range": [0.0, float("inf")]}, {}),
        ({"range": [0.0, 1.0, 2.0]}, {}),
        ({"range": None}, {}),
        ({"reports": 0}, {}),
        ({"more": 1}, {}),
        ({}, {"coefficients": np.ones(8)}),
        ({}, {"other": np.ones(9)}),
    ],
)
def test_files_that_say_something_else_are_refused(fields, arrays):
    release = through(LINE, lambda p: p[:, 0])
    assert rebuilt(release).minimise() == release.minimise()
    with pytest.raises(ParameterError):
        rebuilt(release, fields, arrays)


def test_noise_of_another_size_is_refused():
    with pytest.raises(ParameterError, match="differ in size"):
        rebuilt(through(LINE, lambda p: p[:, 0]), law=LocalLaw("bit", 5, 0.1))


def test_a_function_cannot_pass_for_one_that_devices_told(tmp_path):
    """The noise of devices is in releases of devices only."""
    release = through(LINE, lambda p: p[:, 0])
    release.save(tmp_path / "r.sfumato")
    payload = (tmp_path / "r.sfumato").read_bytes()
    assert sf.load(tmp_path / "r.sfumato").loss == "own"
    (tmp_path / "f.sfumato").write_bytes(payload.replace(b"collected-risk", b"density       "[:14]))
    with pytest.raises(sf.errors.FileFormatError):
        sf.load(tmp_path / "f.sfumato")


def test_its_points_are_chebyshevs():
    assert protocol(LINE).points[:, 0] == pytest.approx(-2 + 4 * chebyshev_points(9))


def test_an_older_file_does_not_tell_the_range_and_its_polynomial_is_searched():
    own, mean = told_by_people(LINE, "logistic")
    release = CollectedRisk.of(own, mean(own.points), 1e-12, 1000)
    assert release.fields()["range"] == list(own.range)
    old = {name: value for name, value in release.fields().items() if name != "range"}
    again = CollectedRisk.rebuild(common(release), release.box, old, release.arrays())
    assert again.possible is None and again.fields() == old
    assert again.minimise().parameters == pytest.approx(release.minimise().parameters, abs=0.01)


def test_the_degree_of_several_parameters_is_that_of_all_together():
    """Of a plane's product of squares no polynomial of total degree 3 is left, of degree 3 along each all of it."""
    release = through(CENTRED, lambda p: (2 * p[:, 0] ** 2 - 1) * (2 * p[:, 1] ** 2 - 1), lattice=4, degree=3)
    assert release.basis.to_json() == {"name": "total-degree", "degree": [3, 3], "kept": 3}
    assert release([[1.0, 1.0], [0.0, 0.3]]) == pytest.approx(0.0, abs=1e-9)
    each = through(CENTRED, lambda p: p.prod(axis=1) ** 2, lattice=4, degree=3, total=False)
    assert each([[1.0, 1.0]]) == pytest.approx(1.0)
    again = CollectedRisk.rebuild(common(release), release.box, release.fields(), release.arrays())
    assert again.basis == release.basis and again.minimise() == release.minimise()
