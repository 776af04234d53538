"""One density for each category, released together."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError, ParameterError

BOX = sf.Box({"age": (0, 100), "sex": sf.Categorical(["F", "M", "X"])})
GRID = np.linspace(0, 100, 51)


def table(rows=900):
    generator = np.random.default_rng(1)
    sex = generator.choice(["F", "M"], size=rows, p=[0.75, 0.25])
    age = np.where(sex == "F", generator.normal(60, 10, rows), generator.normal(30, 8, rows)).clip(0, 100)
    return pd.DataFrame({"age": age, "sex": sex})


def publish(data=None, privacy=None, basis="auto", **options):
    target = sf.KDE(8.0, by="sex", **options)
    return sf.release(target, table() if data is None else data, BOX, privacy or sf.Privacy(epsilon=1e6), basis=basis)


@pytest.fixture(scope="module")
def sure():
    return publish()


@pytest.fixture
def noisy():
    return publish(privacy=sf.Privacy(epsilon=1.0), basis=sf.Binning(8))


def test_each_group_is_the_estimate_of_its_records(sure):
    data, wary = table(), publish(privacy=sf.Privacy(epsilon=100.0))
    for name in "FM":
        own = data.age[data.sex == name].to_numpy()
        exact = np.exp(-0.5 * ((GRID[:, None] - own) / 8) ** 2).mean(axis=1) / (8 * math.sqrt(2 * math.pi))
        assert sure[name](GRID) == pytest.approx(exact, abs=5e-4)
        assert sure[name].count == pytest.approx(len(own), abs=1)
        low, high = wary[name].band(GRID, confidence=0.9999)
        assert (low <= exact).all() and (exact <= high).all()


def test_shares_are_those_of_the_records(sure):
    data = table()
    assert sure.shares["F"] == pytest.approx((data.sex == "F").mean(), abs=0.01)
    assert sum(sure.shares.values()) == pytest.approx(1.0)


def test_a_group_without_records_is_there_all_the_same(sure):
    assert sure.groups == ("F", "M", "X")
    assert np.isfinite(sure["X"](GRID)).all()
    assert sure.shares["X"] < 0.01
    low, high = publish(privacy=sf.Privacy(epsilon=1.0))["X"].band(GRID)
    assert (low == 0).all()
    assert high.min() >= 1 / (8 * math.sqrt(2 * math.pi)) * 0.999  # nothing is known of it


def test_it_is_a_mapping_of_releases(noisy):
    assert list(noisy) == ["F", "M", "X"]
    assert len(noisy) == 3
    assert isinstance(noisy["M"], sf.DensityRelease)
    assert noisy.box == noisy["M"].box == sf.Box({"age": (0, 100)})
    with pytest.raises(ParameterError, match=r"sex must be one of \['F', 'M', 'X'\], got 'Z'"):
        noisy["Z"]
    assert "by sex" in repr(noisy)


def test_all_groups_are_one_vector_and_one_promise(noisy):
    assert noisy.law.size == 3 * 8
    assert noisy["F"].law.size == 8
    assert noisy["F"].guarantee == noisy.guarantee
    assert noisy.guarantee.epsilon == 1.0
    alone = sf.release(
        sf.KDE(8.0), table()[["age"]], sf.Box({"age": (0, 100)}), sf.Privacy(epsilon=1.0), basis=sf.Binning(8)
    )
    assert noisy.law.deviation == alone.law.deviation  # for the price of one


def test_what_is_not_declared_is_missing():
    data = table()
    data.loc[:299, "sex"] = "unknown"
    data.loc[300:399, "age"] = np.nan
    release = publish(data)
    kept = data[(data.sex != "unknown") & data.age.notna()]
    assert sum(release[g].count for g in "FM") == pytest.approx(len(kept), abs=2)


def test_numbers_may_be_categories_and_the_column_may_come_first():
    box = sf.Box([sf.Categorical([1, 2]), (0, 100)])
    generator = np.random.default_rng(2)
    data = np.stack([generator.integers(1, 3, 500), generator.uniform(0, 100, 500)], axis=1)
    release = sf.release(sf.KDE(8.0, by="x0"), data, box, sf.Privacy(epsilon=1e6))
    assert release.groups == (1, 2)
    assert release[2].count == pytest.approx((data[:, 0] == 2).sum(), abs=1)


def test_how_many_a_group_has_is_private(noisy):
    assert noisy["F"].masses.rows is None
    low, high = noisy["F"].count_band()
    assert low < high


@pytest.mark.filterwarnings("ignore::sfumato.errors.NothingThereWarning")
def test_a_group_is_never_said_to_have_the_records_that_noise_has():
    """Masses are divided by what noise alone could be, which is no number of records."""
    found = [publish(table(20), sf.Privacy(epsilon=0.1), basis=sf.Binning(8))["X"] for _ in range(40)]
    noise = [part.masses.values.sum() for part in found]
    assert min(noise) < 0 < max(noise)
    for part, number in zip(found, noise, strict=True):
        assert part.count == max(0.0, number)
        low, high = part.count_band()
        assert low <= part.count <= high


@pytest.mark.filterwarnings("ignore::sfumato.errors.NothingThereWarning")
def test_of_groups_that_all_seem_empty_shares_are_even():
    release = publish(table(20), sf.Privacy(epsilon=0.1), basis=sf.Binning(8))
    empty = [replace(part.masses, values=np.full_like(part.masses.values, -1.0)) for part in release.parts.values()]
    parts = {
        name: replace(part, masses=masses) for (name, part), masses in zip(release.parts.items(), empty, strict=True)
    }
    assert replace(release, parts=parts).shares == dict.fromkeys("FMX", pytest.approx(1 / 3))


@pytest.mark.parametrize("privacy", [sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, delta=1e-6), sf.Privacy(rho=0.2)])
def test_everything_comes_back_bit_by_bit(privacy, tmp_path):
    release = publish(privacy=privacy)
    release.save(tmp_path / "g.sfumato")
    loaded = sf.load(tmp_path / "g.sfumato")
    assert type(loaded) is sf.GroupedDensityRelease
    assert (loaded.by, loaded.groups, loaded.shares) == (release.by, release.groups, release.shares)
    assert (loaded.law, loaded.guarantee) == (release.law, release.guarantee)
    for name in release:
        assert loaded[name](GRID).tobytes() == release[name](GRID).tobytes()
        assert loaded[name].band(GRID)[1].tobytes() == release[name].band(GRID)[1].tobytes()
    loaded.save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == (tmp_path / "g.sfumato").read_bytes()


def test_a_part_can_be_saved_alone(noisy, tmp_path):
    noisy["F"].save(tmp_path / "f.sfumato")
    assert sf.load(tmp_path / "f.sfumato")(GRID).tobytes() == noisy["F"](GRID).tobytes()


def test_what_needs_a_public_count_is_refused_before_anything_is_paid(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", sf.Privacy(epsilon=1.0))
    with pytest.raises(ParameterError, match="public number of rows"):
        sf.release(sf.KDE(8.0, by="sex"), table(), BOX, sf.Privacy(epsilon=1.0), basis=sf.Bernstein(9), ledger=account)
    assert account.history() == []


# --- files ------------------------------------------------------------------------------------------------------


def read(path):
    with safe_open(path, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


HOSTILE = {
    "extra key": lambda d, a: d["content"].update(extra=1),
    "by missing": lambda d, a: d["content"].pop("by"),
    "no categories": lambda d, a: d["content"].update(categories=[]),
    "the same category twice": lambda d, a: d["content"].update(categories=["F", "F", "X"]),
    "too few categories": lambda d, a: d["content"].update(categories=["F", "M"]),
    "too many categories": lambda d, a: d["content"].update(categories=["F", "M", "X", "Y"]),
    "nested categories": lambda d, a: d["content"].update(categories=[["F"], ["M"], ["X"]]),
    "categories null": lambda d, a: d["content"].update(categories=None),
    "density missing": lambda d, a: d["content"].pop("density"),
    "density with extra key": lambda d, a: d["content"]["density"].update(extra=1),
    "covariance negative": lambda d, a: d["content"]["density"].update(covariance=[[-64.0]]),
    "a part missing": lambda d, a: a.pop("masses.1"),
    "a measure missing": lambda d, a: a.pop("measure.2"),
    "a part too many": lambda d, a: a.update({"masses.3": a["masses.0"]}),
    "records riding along": lambda d, a: a.update(records=np.zeros(3)),
    "a negative measure": lambda d, a: a.update({"measure.1": a["measure.1"] - 0.1}),
    "a measure that is not a number": lambda d, a: a.update({"measure.1": a["measure.1"] * np.nan}),
    "a part too short": lambda d, a: a.update({"masses.1": a["masses.1"][:-1]}),
    "noise of another size": lambda d, a: d["noise"].update(size=23),
    "kind density": lambda d, a: d.update(kind="density"),
}


@pytest.mark.few(9)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name, noisy, tmp_path):
    file = tmp_path / "small.sfumato"
    noisy.save(file)
    document, arrays = read(file)
    HOSTILE[name](document, arrays)
    file.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    with pytest.raises(FileFormatError, match=r"small\.sfumato"):
        sf.load(file)
