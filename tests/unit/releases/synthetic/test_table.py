"""Synthetic tables: rows that have what was published, files, and what is refused."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import sfumato as sf
from sfumato.bases.synthetic import model
from sfumato.errors import FileFormatError, ParameterError, ParameterTypeError
from sfumato.faces import face_of
from sfumato.releases.synthetic.rows import moved

QUIET, PURE = sf.Privacy(epsilon=1e4), sf.Privacy(epsilon=1.0)
BOX = sf.Box(
    {
        "age": (0, 110),
        "bmi": (10, 60),
        "kids": sf.Integer(0, 5),
        "hour": sf.Periodic(0, 24, whole=True),
        "town": sf.Categorical(["a", "b", "c"]),
        "ill": sf.Categorical(["no", "yes"]),
    }
)
RNG, N = np.random.default_rng(3), 4000
AGE = np.clip(RNG.gamma(9, 5, N), 0, 110)
ILL = RNG.random(N) < 0.1 + AGE / 200
BMI = np.clip(RNG.normal(14 + 0.25 * AGE + 3 * ILL, 4), 10, 60)
KIDS = np.clip(RNG.poisson(1.2, N), 0, 5).astype(float)
HOUR = RNG.normal(8, 2.5, N).round() % 24
TOWN = RNG.choice(["a", "b", "c"], N, p=[0.6, 0.3, 0.1])
DATA = {"age": AGE, "bmi": BMI, "kids": KIDS, "hour": HOUR, "town": TOWN, "ill": np.where(ILL, "yes", "no")}
ALL = {"means": 0.4, "norm": 0.1, "spreads": 0.25, "pairs": 0.25}


@pytest.fixture(scope="module")
def quiet():
    """With next to no noise: what is left is what the moments do not tell."""
    return sf.synthesize(DATA, BOX, QUIET, label="ill", shares=ALL, seed=5)


def test_rows_have_what_was_published(quiet):
    table = quiet.data
    ill = np.array(table["ill"].to_pylist()) == "yes"
    assert table.num_rows == N and table.column_names == list(BOX.names)
    assert ill.mean() == pytest.approx(ILL.mean(), abs=2e-3)
    for name, true, width in (("age", AGE, 110), ("bmi", BMI, 50), ("kids", KIDS, 5)):
        made = table[name].to_numpy().astype(float)
        for which in (False, True):
            assert made[ill == which].mean() == pytest.approx(true[which == ILL].mean(), abs=0.01 * width), name
        assert made.std() == pytest.approx(true.std(), rel=0.06), name
    towns = np.array(table["town"].to_pylist())
    for town in "abc":
        assert (towns == town).mean() == pytest.approx((town == TOWN).mean(), abs=0.01)
    turn = np.exp(2j * np.pi * table["hour"].to_numpy() / 24).mean()
    assert abs(turn - np.exp(2j * np.pi * HOUR / 24).mean()) < 0.02


def test_pairs_that_were_bought_go_together_and_others_do_not(quiet):
    def correlation(table):
        return np.corrcoef(table["age"].to_numpy(), table["bmi"].to_numpy())[0, 1]

    true = np.corrcoef(AGE, BMI)[0, 1]
    apart = sf.synthesize(DATA, BOX, QUIET, label="ill", shares={**ALL, "pairs": 0.0}, seed=5)
    assert true > 0.55
    assert correlation(quiet.data) == pytest.approx(true, abs=0.05)
    assert correlation(apart.data) < 0.3
    assert "pairs" in quiet.bought and "pairs" not in apart.bought
    assert "independent within a class of ill" in face_of(apart).independent
    assert face_of(quiet).independent.startswith("pairs of numeric columns go together")


def test_types_are_those_that_were_declared(quiet):
    kinds = dict(zip(quiet.data.column_names, quiet.data.schema.types, strict=True))
    assert kinds["kids"] == kinds["hour"] == pa.int64()
    assert kinds["age"] == pa.float64() and kinds["town"] == kinds["ill"] == pa.string()
    assert set(quiet.data["kids"].to_pylist()) <= set(range(6))


def test_the_seed_decides(quiet):
    assert quiet.data.equals(quiet.sample(N, 5))
    assert not quiet.data.equals(quiet.sample(N, 6))
    assert quiet.sample(3).num_rows == 3
    assert sf.synthesize(DATA, BOX, PURE).seed != sf.synthesize(DATA, BOX, PURE).seed


def test_files_come_back_with_the_same_rows(quiet, tmp_path):
    quiet.save(tmp_path / "t.sfumato")
    loaded = sf.load(tmp_path / "t.sfumato")
    assert loaded.data.equals(quiet.data)
    assert (loaded.law, loaded.guarantee, loaded.bought, loaded.rows) == (
        quiet.law, quiet.guarantee, quiet.bought, quiet.rows)  # fmt: skip
    quiet.to_parquet(tmp_path / "t.parquet")
    quiet.to_csv(tmp_path / "t.csv")
    assert parquet.read_table(tmp_path / "t.parquet").equals(quiet.data)
    assert csv.read_csv(tmp_path / "t.csv").num_rows == N


def forged(release, change):
    """The same release with another entry: as a file that somebody has written by hand."""
    common = {name: getattr(release, name) for name in ("guarantee", "law", "target", "receipt")}
    return type(release).rebuild(common, release.box, {**release.fields(), **change}, release.arrays())


@pytest.mark.parametrize(
    "change",
    [
        {"records": None}, {"records": -1}, {"rows": 0}, {"seed": -1}, {"method": "magic"}, {"more": 1},
        {"basis": {"name": "table", "label": "age", "budgets": {}, "order": 2}},
    ],
)  # fmt: skip
def test_forged_entries_are_refused(quiet, change):
    with pytest.raises((ParameterError, FileFormatError, KeyError)):
        forged(quiet, change)


def test_a_forged_budget_is_refused(quiet):
    """Larger contributions than the noise was made for: the certificate is worked out again."""
    basis = quiet.basis.to_json()
    basis["budgets"] = {**basis["budgets"], "means": 2 * basis["budgets"]["means"]}
    with pytest.raises(ParameterError, match="certificate"):
        forged(quiet, {"basis": basis})


@pytest.mark.few(2)
@pytest.mark.parametrize("grant", [
    sf.Privacy(epsilon=1.0, delta=1e-6), sf.Privacy(rho=0.1), sf.Privacy(epsilon=1.0, neighbours="add-remove"),
    sf.Privacy(epsilon=1.0, unit=sf.Person("ill", max_rows=2)),
])  # fmt: skip
def test_every_grant_has_its_noise(grant, tmp_path):
    made = sf.synthesize(DATA, BOX, grant, shares={"means": 0.5, "norm": 0.2, "spreads": 0.3}, rows=50)
    made.save(tmp_path / "t.sfumato")
    assert sf.load(tmp_path / "t.sfumato").data.equals(made.data)
    assert made.law.kind == ("blocks" if grant.epsilon and not grant.delta else "gaussian")
    assert (made.records is None) == (grant.neighbours == "add-remove" or grant.unit != "row")


def test_rows_are_as_many_as_records_where_nothing_else_is_said():
    assert sf.synthesize(DATA, BOX, PURE).data.num_rows == N
    private = sf.synthesize(DATA, BOX, sf.Privacy(epsilon=1.0, neighbours="add-remove"))
    assert abs(private.rows - N) < 2000 and private.data.num_rows == private.rows


def test_nothing_is_an_error_because_of_values():
    """Missing labels, undeclared categories, no value at all, one record."""
    odd = {"age": [np.nan, np.inf], "bmi": [-1e300, np.nan], "kids": [99.0, np.nan], "hour": [np.nan, -5.0],
           "town": ["z", None], "ill": ["maybe", None]}  # fmt: skip
    for rows in (odd, {name: values[:1] for name, values in odd.items()}):
        made = sf.synthesize(rows, BOX, PURE, label="ill", shares=ALL, rows=20)
        assert made.data.num_rows == 20


@pytest.mark.parametrize(("more", "parameter"), [
    ({"rows": 0}, "rows"), ({"rows": -3}, "rows"), ({"seed": -1}, "seed"), ({"method": "rules"}, "method"),
    ({"shares": {"means": 0.9, "norm": 0.2}}, "shares"), ({"shares": {"mean": 0.9}}, "shares"),
    ({"shares": {"norm": 1.0}}, "shares"), ({"shares": {"means": 0.5, "pairs": -0.1}}, "shares"),
    ({"shares": 3}, "shares"), ({"label": "age"}, "label"), ({"label": "sick"}, "label"), ({"label": 3}, "label"),
    ({"expected_rows": 0}, "expected_rows"),
])  # fmt: skip
def test_what_is_refused_before_anything_is_read(more, parameter):
    with pytest.raises((ParameterError, ParameterTypeError)) as error:
        sf.synthesize("no-such-file.csv", BOX, PURE, **more)
    assert error.value.parameter == parameter


def test_a_box_needs_columns_beside_the_label_and_room_for_its_pairs():
    with pytest.raises(ParameterError, match="beside the label"):
        sf.synthesize("no.csv", sf.Box({"ill": sf.Categorical(["n", "y"])}), PURE, label="ill")
    wide = sf.Box({f"x{i}": (0, 1) for i in range(1600)})
    with pytest.raises(ParameterError, match="too wide"):
        sf.synthesize("no.csv", wide, PURE, shares={"means": 0.5, "pairs": 0.5})


@pytest.mark.parametrize("columns", [
    {f"x{i}": (0, 1) for i in range(300)}, {"hour": sf.Periodic(0, 24)}, {"kids": sf.Integer(0, 5)},
])  # fmt: skip
def test_a_fit_beyond_memory_is_refused_before_anything_is_read(columns):
    """Few enough numbers are published; but their densities, and curvatures of classes squared, would fill memory."""
    box = sf.Box({**columns, "c": sf.Categorical(range(3000))})
    with pytest.raises(ParameterError, match=r"3,000 classes and .* columns: their densities") as caught:
        sf.synthesize("there is no such file.csv", box, PURE, label="c", shares={"means": 1.0})
    assert caught.value.parameter == "box"


@pytest.mark.few(1)
@pytest.mark.parametrize(("classes", "columns"), [(20, 60), (2, 150)])
def test_what_a_fit_holds_is_what_is_counted(monkeypatch, classes, columns):
    """The peak of memory, traced, is below what the limit is compared with, and above a third of it."""
    box = sf.Box({**{f"x{i}": (0, 1) for i in range(columns)}, "h": sf.Periodic(0, 24),
                  "c": sf.Categorical(range(classes))})  # fmt: skip
    rng = np.random.default_rng(1)
    data = {name: rng.random(3000) for name in box.names} | {"c": rng.integers(0, classes, 3000).astype(float)}
    release = sf.synthesize(data, box, QUIET, label="c", shares={"means": 0.5, "norm": 0.1, "spreads": 0.4})
    assert release.basis.order == 4
    tracemalloc.start()
    try:
        model.law_of(release.noisy, release.basis, release.box)
        peak = tracemalloc.get_traced_memory()[1] / 8
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(model, "LARGEST_FIT", 3 * peak)
    model.check_fit(box, "c")
    monkeypatch.setattr(model, "LARGEST_FIT", peak)
    with pytest.raises(ParameterError, match="their densities"):
        model.check_fit(box, "c")


def test_moving_keeps_class_means_and_meets_products():
    rng = np.random.default_rng(2)
    classes = np.repeat([0, 1], [300, 700])
    values = np.clip(rng.normal(0, 0.4, (1000, 3)) + 0.3 * classes[:, None], -1, 1)
    wanted = values.T @ values / 1000
    wanted[0, 1] += 0.06
    wanted[1, 0] += 0.06
    found = moved(values, classes, wanted)
    assert np.abs(found).max() <= 1
    got = found.T @ found / 1000
    assert np.abs((got - wanted)[np.triu_indices(3, 1)]).max() < 2e-3
    for k in (0, 1):
        assert found[classes == k].mean(axis=0) == pytest.approx(values[classes == k].mean(axis=0), abs=5e-3)
