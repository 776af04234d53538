"""Collected densities and summaries: functions with bands, and files that cannot be forged into more."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError, ParameterError
from sfumato.releases.collected.density import CollectedDensity

LINE = sf.Box({"t": (0.0, 4.0)})
PLANE = sf.Box({"x": (0, 1), "y": (-1, 1)})
SPACE = sf.Box([(0, 1), (0, 10), (-5, 5)])


def collected(box=LINE, lattice=5, people=3000, kind=sf.local.Density, **options):
    options = {"lattice": lattice, **options} if kind is sf.local.Density else options
    protocol = kind(box, epsilon=1.0, seed=3, **options)
    collector = protocol.collector()
    low, high = box.low, box.high
    records = low + np.random.default_rng(1).beta(2, 3, size=(people, box.dimension)) * (high - low)
    collector.add_batch(protocol.encode_many(records))
    return collector.release()


def points_in(box, count=50):
    return np.random.default_rng(5).uniform(box.low, box.high, size=(count, box.dimension))


# --- densities --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("box", "lattice"), [(LINE, 5), (PLANE, (3, 6)), (SPACE, (3, 2, 4))])
def test_it_is_a_density(box, lattice):
    release = collected(box, lattice)
    assert isinstance(release, CollectedDensity)
    assert (release(points_in(box)) >= 0).all()
    assert release.integrate() == pytest.approx(1.0)
    assert release.masses.shape == (np.prod(release.basis.shape(box)),)
    half = {box.names[0]: (box.low[0], box.low[0] / 2 + box.high[0] / 2)}
    assert 0 < release.integrate(half) < 1


def test_it_is_linear_between_lattice_points():
    release = collected(LINE, 5)
    at = release(np.arange(5.0))
    assert release([0.25, 1.5, 3.9]) == pytest.approx(np.interp([0.25, 1.5, 3.9], np.arange(5), at))


def test_masses_that_are_a_density_are_shown_as_they_are():
    masses = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    protocol = sf.local.Density(LINE, epsilon=1.0, lattice=5, seed=1)
    release = CollectedDensity.of(protocol, masses, 1e-4, 100)
    assert release(np.arange(5.0)) == pytest.approx(masses / [0.5, 1, 1, 1, 0.5])
    assert release.mass_error == pytest.approx(0.01)


def test_negative_masses_are_mended_but_kept():
    masses = np.array([-0.2, 0.3, 0.6, 0.5, -0.1])
    release = CollectedDensity.of(sf.local.Density(LINE, epsilon=1.0, lattice=5, seed=1), masses, 1e-2, 100)
    assert release.masses.tolist() == masses.tolist()
    assert release(np.arange(5.0)).min() == 0.0
    assert release.integrate() == pytest.approx(1.0)


def test_bands_are_around_the_unbiased_estimate_and_the_density():
    release = collected(PLANE, (3, 6))
    points = points_in(PLANE)
    low, high = release.band(points)
    value = release(points)
    assert (low >= 0).all()
    assert (low <= value).all() and (value <= high).all()
    narrow = np.subtract(*release.band(points, confidence=0.5)[::-1])
    wide = np.subtract(*release.band(points, confidence=0.999)[::-1])
    assert (narrow < wide).all()


def test_bands_at_the_edge_are_wider():
    """A cell at the edge is half as large: the same error of its mass is twice the error of its density."""
    protocol = sf.local.Density(LINE, epsilon=1.0, lattice=5, seed=1)
    release = CollectedDensity.of(protocol, np.full(5, 0.2), 1e-4, 100)
    _, high = release.band([0.0, 1.0, 2.0])
    assert high[0] - 0.4 == pytest.approx(2 * (high[1] - 0.2), rel=1e-6)
    assert high[1] == pytest.approx(high[2])


def test_bands_know_no_more_than_noise():
    release = collected()
    with pytest.raises(ParameterError, match="include must be 'noise'"):
        release.band([1.0], include="total")
    with pytest.raises(ParameterError, match="confidence"):
        release.band([1.0], confidence=1.0)


def test_points_outside_are_refused_or_moved():
    release = collected()
    for method in (release, release.band):
        with pytest.raises(ParameterError):
            method([5.0])
    assert release([5.0], outside="clip") == release([4.0])
    assert release.band([5.0], outside="clip")[1] == release.band([4.0])[1]


def test_there_is_no_derivative():
    with pytest.raises(ParameterError, match="piecewise linear"):
        collected().derivative("t")([1.0])


def test_it_says_what_it_is():
    release = collected(PLANE, (3, 6))
    assert "3000 reports" in repr(release)
    assert "local model" in str(release.guarantee)
    assert dict(release.target)["lattice"] == "3 x 6"
    assert dict(release.target)["randomizer"] == "subset"


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    collected,
    lambda: collected(PLANE, (3, 6), randomizer="laplace"),
    lambda: collected(PLANE, kind=sf.local.SmoothQueries, degree=(2, 3)),
    lambda: collected(PLANE, kind=sf.local.SmoothQueries, degree=3, randomizer="laplace", interactions=1),
])  # fmt: skip
def test_files_come_back(make, tmp_path):
    release = make()
    release.save(tmp_path / "r.sfumato")
    loaded = sf.load(tmp_path / "r.sfumato")
    assert type(loaded) is type(release)
    assert (loaded.guarantee, loaded.law, loaded.target) == (release.guarantee, release.law, release.target)
    for name, values in release.arrays().items():
        assert loaded.arrays()[name].tobytes() == values.tobytes()


def forged(path, release, change):
    release.save(path)
    with safe_open(path, framework="numpy") as container:
        document = json.loads(container.metadata()["sfumato"])
        arrays = {key: container.get_tensor(key).copy() for key in container.keys()}  # noqa: SIM118
    change(document, arrays)
    path.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    return path


def central_noise():
    """The noise law of a central summary of the same size, as plain data."""
    from sfumato.codec import encode_guarantee, encode_law

    release = sf.summarize(np.full((100, 2), 0.5), PLANE, sf.Privacy(epsilon=1.0), degree=(2, 3))
    return encode_law(release.law), encode_guarantee(release.guarantee)


def promises(**change):
    return lambda document, arrays: document["guarantee"].update(change)


def contains(**change):
    return lambda document, arrays: document["content"].update(change)


def has_noise(**change):
    return lambda document, arrays: document["noise"].update(change)


def set_first(value):
    def change(document, arrays):
        next(iter(arrays.values()))[0] = value

    return change


def shorten(document, arrays):
    for name in arrays:
        arrays[name] = arrays[name][:-1]


BOTH = {
    "central": promises(model="central"),
    "delta": promises(delta=1e-6),
    "rho": promises(rho=0.5),
    "mu": promises(mu=0.5),
    "add-remove": promises(neighbours="add-remove"),
    "person": promises(unit={"column": "who", "max_rows": 3}),
    "confidence": promises(confidence=0.9),
    "assumption": promises(assumptions=["all is well"]),
    "epsilon 0": promises(epsilon=0.0),
    "size": has_noise(size=3),
    "no deviation": has_noise(deviation=0.0),
    "negative deviation": has_noise(deviation=-1.0),
    "more noise": has_noise(more=1),
    "more content": contains(more=1),
    "not a number": set_first(np.nan),
    "infinite": set_first(np.inf),
    "short": shorten,
    "more arrays": lambda document, arrays: arrays.update(more=np.zeros(3)),
    "no noise": lambda document, arrays: document.update(noise=None),
    "other kind": lambda document, arrays: document.update(kind="function"),
    "marginals": lambda document, arrays: document.update(kind="marginals"),
    "box": lambda document, arrays: document["box"]["columns"].pop(),
}
DENSITY = {
    **BOTH,
    "lattice": contains(lattice=[3, 5]),
    "lattice of one": contains(lattice=[1, 6]),
    "lattice of text": contains(lattice="36"),
    "no reports": contains(reports=0),
    "half a report": contains(reports=2.5),
    "true reports": contains(reports=True),
    "summary": lambda document, arrays: document.update(kind="summary"),
    "central noise": lambda document, arrays: document.update(noise=central_noise()[0]),
    "all central": lambda document, arrays: document.update(
        noise=central_noise()[0], guarantee=central_noise()[1]
    ),
}  # fmt: skip
SUMMARY = {
    **BOTH,
    "rows": contains(rows=None),
    "half a row": contains(rows=1.5),
    "basis": contains(basis={"name": "cosines", "degree": [3, 3], "interactions": "full"}),
    "density": lambda document, arrays: document.update(kind="collected-density"),
    "local promise, central noise": lambda document, arrays: document.update(noise=central_noise()[0]),
    "central promise, local noise": lambda document, arrays: document.update(guarantee=central_noise()[1]),
}


@pytest.mark.parametrize("name", DENSITY)
def test_forged_densities_are_refused(name, tmp_path):
    path = forged(tmp_path / "r.sfumato", collected(PLANE, (3, 6), people=200), DENSITY[name])
    with pytest.raises(FileFormatError, match=r"r\.sfumato"):
        sf.load(path)


@pytest.mark.parametrize("name", SUMMARY)
def test_forged_summaries_are_refused(name, tmp_path):
    release = collected(PLANE, kind=sf.local.SmoothQueries, people=200, degree=(2, 3))
    path = forged(tmp_path / "r.sfumato", release, SUMMARY[name])
    with pytest.raises(FileFormatError, match=r"r\.sfumato"):
        sf.load(path)


@pytest.mark.parametrize("kind", ["function", "density"])
def test_central_files_with_the_noise_of_devices_are_refused(kind, tmp_path):
    target = sf.BlackBox(lambda _: lambda p: p[:, 0], sensitivity=0.1) if kind == "function" else sf.KDE(0.2)
    basis = {"basis": sf.Bernstein(2)} if kind == "function" else {}
    release = sf.release(target, np.full((50, 2), 0.5), PLANE, sf.Privacy(epsilon=1.0), **basis)
    noise = {"kind": "local", "randomizer": "bit", "size": release.law.size, "deviation": 0.1}

    def local_noise(document, arrays):
        document["noise"] = noise

    def local_promise(document, arrays):
        document["guarantee"]["model"] = "local"

    def both(document, arrays):
        local_noise(document, arrays), local_promise(document, arrays)

    for change in (local_noise, local_promise, both):
        with pytest.raises(FileFormatError, match=r"r\.sfumato"):
            sf.load(forged(tmp_path / "r.sfumato", release, change))
