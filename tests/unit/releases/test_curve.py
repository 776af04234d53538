"""Published curves: values within the range, bands, what the parts are, and files."""

import json

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError, OutsideBoxError, ParameterError, ParameterTypeError

LINE = sf.Box({"age": (0, 110)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
GRID = np.linspace(0, 110, 45)
RNG = np.random.default_rng(8)
AGES = RNG.uniform(0, 110, 500)
PRESSURES = 90 + 0.5 * AGES + RNG.normal(0, 10, 500)
TARGET = sf.NadarayaWatson(9.0, "bp", (60, 220))


def publish(data=(AGES[:, None], PRESSURES), privacy=None, basis=None, target=TARGET, box=LINE):
    return sf.release(target, data, box, privacy or sf.Privacy(epsilon=1.0), basis=basis or sf.Binning(12))


@pytest.fixture(scope="module")
def noisy():
    return publish()


# --- values -----------------------------------------------------------------------------------------------------


def test_it_is_the_ratio_of_its_parts_where_there_are_records(no_noise):
    """Noise is worth a record or two here; both parts together are the density of the records."""
    release = publish(privacy=sf.Privacy(epsilon=1e4))
    high, low = (part.count * part(GRID) for part in (release.high, release.low))
    assert release(GRID) == pytest.approx(60 + 160 * high / (high + low), abs=0.2)
    assert release.high.count + release.low.count == pytest.approx(500, abs=1)
    assert release.high.count == pytest.approx(((PRESSURES - 60) / 160).sum(), abs=1)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 1e5])
def test_values_and_bands_keep_within_the_range(epsilon):
    release = publish(privacy=sf.Privacy(epsilon=epsilon))
    found = release(GRID)
    for include in ("noise", "total", "worst"):
        low, high = release.band(GRID, include=include)
        assert ((low >= 60) & (low <= found) & (found <= high) & (high <= 220)).all()


def test_where_there_are_no_records_it_leans_towards_their_mean(no_noise):
    ages = AGES / 4
    release = publish((ages[:, None], PRESSURES), sf.Privacy(epsilon=0.5))
    mean = np.clip(PRESSURES, 60, 220).mean()
    assert release([105.0]) == pytest.approx([mean], abs=1.0)


@pytest.mark.parametrize("limits", [(-1e300, 1e300), (1e-200, 3e-200), (-5, -2), (1e12, 1e12 + 1)])
def test_any_range(limits):
    low, high = limits
    release = publish((AGES[:, None], low + (high - low) * AGES / 110), target=sf.NadarayaWatson(9.0, "bp", limits))
    found = release(GRID)
    assert ((found >= low) & (found <= high)).all()
    least, most = release.band(GRID)
    assert (least <= found).all() and (found <= most).all()


def test_a_shifted_range_shifts_the_curve(no_noise):
    shifted = publish((AGES[:, None], PRESSURES - 1000), target=sf.NadarayaWatson(9.0, "bp", (-940, -780)))
    assert shifted(GRID) == pytest.approx(publish()(GRID) - 1000, abs=1e-6)


def test_points_may_be_tables(noisy):
    frame = pd.DataFrame({"other": "x", "age": GRID})
    assert noisy(frame).tolist() == noisy(GRID).tolist() == noisy(GRID[:, None]).tolist()


def test_points_outside_are_refused_or_moved(noisy):
    with pytest.raises(OutsideBoxError, match="outside='clip'"):
        noisy([111.0])
    with pytest.raises(OutsideBoxError, match="outside='clip'"):
        noisy.band([111.0])
    assert noisy([111.0], outside="clip") == noisy([110.0])
    assert [end.tolist() for end in noisy.band([111.0], outside="clip")] == [
        end.tolist() for end in noisy.band([110.0])
    ]
    with pytest.raises(OutsideBoxError, match="NaN"):
        noisy([np.nan])
    with pytest.raises(ParameterTypeError, match="numbers"):
        noisy(["old"])
    with pytest.raises(ParameterError, match=r"shape \(m, 1\)"):
        noisy(np.zeros((3, 2)))
    assert noisy(np.zeros((0, 1))).shape == (0,)
    assert [end.shape for end in noisy.band(np.zeros((0, 1)))] == [(0,), (0,)]


def test_two_columns():
    records = np.stack([AGES, RNG.uniform(10, 60, 500)], axis=1)
    target = sf.NadarayaWatson([20.0, 12.0], "bp", (60, 220))
    release = publish((records, PRESSURES), basis=sf.Binning((6, 5)), target=target, box=PLANE)
    found, (low, high) = release(records[:20]), release.band(records[:20])
    assert ((low >= 60) & (low <= found) & (found <= high) & (high <= 220)).all()
    assert repr(release).startswith("<CurveRelease of bp on Box({'age': (0.0, 110.0), 'bmi': (10.0, 60.0)})")


# --- bands ------------------------------------------------------------------------------------------------------


def test_bands_grow_with_what_they_include_and_with_confidence(noisy):
    widths = [np.subtract(*noisy.band(GRID, include=include)[::-1]) for include in ("noise", "total", "worst")]
    assert (widths[0] <= widths[1] + 1e-9).all() and (widths[1] <= widths[2] + 1e-9).all()
    assert (np.subtract(*noisy.band(GRID, 0.5)[::-1]) <= np.subtract(*noisy.band(GRID, 0.99)[::-1]) + 1e-9).all()


def test_less_noise_gives_narrower_bands():
    widths = [np.subtract(*publish(privacy=sf.Privacy(epsilon=e)).band(GRID, include="noise")[::-1]) for e in (1, 30)]
    assert widths[1].mean() < widths[0].mean() / 5


def test_the_limits_are_those_of_the_two_sums(noisy):
    """The least share has the least high part beside the most of the low part; each may fail half as often."""
    ends = [part.masses.sum_limits(GRID[:, None] / 110, 0.95, "noise") for part in (noisy.high, noisy.low)]
    (high_low, high_high), (low_low, low_high) = [[np.maximum(end, 0) for end in pair] for pair in ends]
    found = noisy.band(GRID, 0.9, "noise")
    value = noisy(GRID)
    with np.errstate(all="ignore"):
        least, most = high_low / (high_low + low_high), high_high / (high_high + low_low)
    assert found[0] == pytest.approx(np.minimum(60 + 160 * least, value))
    assert found[1] == pytest.approx(np.maximum(60 + 160 * most, value))


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 2, np.nan])
def test_confidence_is_a_probability(noisy, confidence):
    with pytest.raises(ParameterError, match="confidence"):
        noisy.band(GRID, confidence)


def test_what_a_band_includes_is_named(noisy):
    with pytest.raises(ParameterError, match="include must be one of 'noise', 'total', 'worst', got include='all'"):
        noisy.band(GRID, include="all")


def test_a_prediction_is_for_a_record_which_is_moved_into_the_box(noisy):
    assert noisy.predict([-5.0, 400.0]).tolist() == noisy(np.array([noisy.box.low[0], noisy.box.high[0]])).tolist()
    with pytest.raises(OutsideBoxError):
        noisy([-5.0])
    with pytest.raises(OutsideBoxError):
        noisy.predict([-5.0], outside="refuse")


def test_the_bandwidth_is_the_one_that_was_passed(noisy):
    assert noisy.bandwidth.tolist() == [9.0] and noisy.covariance.tolist() == [[81.0]]


def test_without_any_record_a_band_knows_nothing(no_noise):
    private = sf.Privacy(epsilon=0.01, neighbours="add-remove")
    low, high = publish((np.zeros((0, 1)), np.zeros(0)), private).band(GRID)
    assert (low == 60).all() and (high == 220).all()


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "privacy",
    [
        sf.Privacy(epsilon=1.0),
        sf.Privacy(epsilon=1.0, delta=1e-6),
        sf.Privacy(rho=0.2),
        sf.Privacy(epsilon=1.0, neighbours="add-remove"),
    ],
)
def test_everything_comes_back_bit_by_bit(privacy, tmp_path):
    release = publish(privacy=privacy)
    release.save(tmp_path / "c.sfumato")
    loaded = sf.load(tmp_path / "c.sfumato")
    assert type(loaded) is sf.CurveRelease
    assert (loaded.rows, loaded.response) == (release.rows, release.response)
    assert (loaded.law, loaded.guarantee) == (release.law, release.guarantee)
    assert loaded(GRID).tobytes() == release(GRID).tobytes()
    assert loaded.band(GRID)[1].tobytes() == release.band(GRID)[1].tobytes()
    loaded.save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == (tmp_path / "c.sfumato").read_bytes()


def test_a_file_does_not_tell_a_private_number_of_rows(tmp_path):
    file = tmp_path / "small.sfumato"
    publish(privacy=sf.Privacy(epsilon=1.0, neighbours="add-remove")).save(file)
    document, arrays = read(file)
    document["content"]["rows"] = 500
    file.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    with pytest.raises(FileFormatError, match="contradicts the guarantee"):
        sf.load(file)


def test_a_part_can_be_saved_alone(noisy, tmp_path):
    noisy.high.save(tmp_path / "high.sfumato")
    assert sf.load(tmp_path / "high.sfumato")(GRID).tobytes() == noisy.high(GRID).tobytes()


def read(path):
    with safe_open(path, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


HOSTILE = {
    "extra key": lambda d, a: d["content"].update(extra=1),
    "no response": lambda d, a: d["content"].pop("response"),
    "response null": lambda d, a: d["content"].update(response=None),
    "response without a range": lambda d, a: d["content"]["response"].update(range=None),
    "response of classes": lambda d, a: d["content"]["response"].update(range=None, classes=["a", "b"]),
    "range swapped": lambda d, a: d["content"]["response"].update(range=[220, 60]),
    "range of text": lambda d, a: d["content"]["response"].update(range=["60", "220"]),
    "response without a name": lambda d, a: d["content"]["response"].update(name=""),
    "rows missing": lambda d, a: d["content"].pop("rows"),
    "rows negative": lambda d, a: d["content"].update(rows=-1),
    "rows a float": lambda d, a: d["content"].update(rows=500.0),
    "rows true": lambda d, a: d["content"].update(rows=True),
    "density missing": lambda d, a: d["content"].pop("density"),
    "density null": lambda d, a: d["content"].update(density=None),
    "density with rows": lambda d, a: d["content"]["density"].update(rows=500),
    "density with extra key": lambda d, a: d["content"]["density"].update(extra=1),
    "density of a polynomial": lambda d, a: d["content"]["density"].update(basis=sf.Bernstein(11).to_json()),
    "a part missing": lambda d, a: a.pop("low.masses"),
    "a measure missing": lambda d, a: a.pop("high.measure"),
    "an array too many": lambda d, a: a.update(records=np.zeros(3)),
    "a part too many": lambda d, a: a.update({"middle.masses": a["low.masses"]}),
    "a negative measure": lambda d, a: a.update({"low.measure": a["low.measure"] - 0.1}),
    "a part too short": lambda d, a: a.update({"low.masses": a["low.masses"][:-1]}),
    "noise of an odd size": lambda d, a: d["noise"].update(size=23),
    "noise of another size": lambda d, a: d["noise"].update(size=26),
    "noise of another kind": lambda d, a: d["noise"].update(kind="l2"),
    "no noise": lambda d, a: d.update(noise=None),
    "kind density": lambda d, a: d.update(kind="density"),
    "kind of a classifier": lambda d, a: d.update(kind="naive-bayes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name, noisy, tmp_path):
    file = tmp_path / "small.sfumato"
    noisy.save(file)
    document, arrays = read(file)
    HOSTILE[name](document, arrays)
    file.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    with pytest.raises(FileFormatError, match=r"small\.sfumato"):
        sf.load(file)


def test_where_there_are_records_a_curve_is_hardly_pulled_to_the_mean():
    x = np.random.default_rng(0).random(3000)
    target, labels = sf.NadarayaWatson(0.1, range=(-1, 1)), np.where(x < 0.5, 1, -1)
    release = sf.release(target, (x, labels), sf.Box([(0, 1)]), sf.Privacy(epsilon=1))
    points = np.linspace(0, 1, 21)
    high, low = (part.count * part(points) for part in (release.high, release.low))
    noise = release._steady / (high + low)
    assert noise.max() < 0.1
    assert (np.abs((release(points) + 1) / 2 - high / (high + low)) <= noise**2).all()
