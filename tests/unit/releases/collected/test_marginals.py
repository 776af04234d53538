"""Published tables: consistent, unbiased where asked, with bands, and files that cannot be forged into more."""

import json
from itertools import combinations

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack
from scipy.special import ndtri

import sfumato as sf
from sfumato.errors import FileFormatError, ParameterError
from sfumato.releases.collected.marginals import MarginalsRelease

BOX = sf.Box({"a": sf.Categorical(["no", "yes"]), "b": sf.Categorical([1, 2, 3]), "c": sf.Categorical([0, 1])})


def collected(ways=2, people=4000, epsilon=1.0, box=BOX):
    protocol = sf.local.Marginals(box, epsilon=epsilon, ways=ways, seed=3)
    generator = np.random.default_rng(1)
    chosen = [generator.integers(0, len(column.categories), people) for column in box.columns]
    rows = [
        [column.categories[i] for column, i in zip(box.columns, row, strict=True)] for row in zip(*chosen, strict=True)
    ]
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(rows))
    return collector.release()


def made(table, variance=1e-4, ways=2):
    """A release whose coefficients are those of a table of two columns of two categories, exactly."""
    box = sf.Box({"a": sf.Categorical([0, 1]), "b": sf.Categorical([0, 1])})
    protocol = sf.local.Marginals(box, epsilon=1.0, ways=ways, seed=1)
    signs = np.array([1.0, -1.0])
    table = np.array(table)
    coefficients = [table.sum(axis=1) @ signs, table.sum(axis=0) @ signs, signs @ table @ signs]
    return MarginalsRelease.of(protocol, np.array(coefficients[: 2 if ways == 1 else 3]), np.full(3, variance), 100)


def test_a_table_that_is_one_comes_back():
    table = [[0.4, 0.1], [0.2, 0.3]]
    release = made(table)
    assert release.table(["a", "b"], raw=True) == pytest.approx(np.array(table))
    assert release.table(["a", "b"]) == pytest.approx(np.array(table), abs=1e-6)
    assert release.table("a") == pytest.approx([0.5, 0.5])
    assert release.table(["b"]) == pytest.approx([0.6, 0.4])


def test_a_raw_table_may_be_negative_and_a_table_may_not():
    release = made([[0.7, -0.2], [0.3, 0.2]])
    assert release.table(["a", "b"], raw=True).min() == pytest.approx(-0.2)
    table = release.table(["a", "b"])
    assert table.min() >= 0
    assert table.sum() == pytest.approx(1.0)
    assert table.sum(axis=1) == pytest.approx([0.5, 0.5], abs=1e-6)
    assert table.sum(axis=0) == pytest.approx([1.0, 0.0], abs=1e-6)


def test_shares_beyond_one_are_brought_back():
    release = made([[1.4, 0.1], [-0.4, -0.1]])
    assert release.table("a") == pytest.approx([1.0, 0.0])
    assert release.table(["a", "b"]).sum() == pytest.approx(1.0)


def test_bands_of_a_cell():
    release = made([[0.4, 0.1], [0.2, 0.3]], variance=1e-4)
    low, high = release.band(["a", "b"], confidence=0.9)
    width = -ndtri(0.05) * np.sqrt(3e-4) / 4
    assert low == pytest.approx(np.array([[0.4, 0.1], [0.2, 0.3]]) - width)
    assert high == pytest.approx(np.array([[0.4, 0.1], [0.2, 0.3]]) + width)
    low, high = release.band("a", confidence=0.9)
    assert high - low == pytest.approx(np.full(2, 2 * -ndtri(0.05) * 0.01 / 2))


def test_bands_contain_the_table_and_are_shares():
    release = collected(ways=3, people=500, epsilon=0.3)
    for names in (["a"], ["b", "c"], ["a", "b", "c"]):
        low, high = release.band(names)
        table = release.table(names)
        assert (low >= 0).all() and (high <= 1).all()
        assert (low <= table + 1e-12).all() and (table <= high + 1e-12).all()
        wider = release.band(names, confidence=0.9999)
        assert (wider[0] <= low).all() and (high <= wider[1]).all()


def test_all_tables():
    for ways in (1, 2, 3):
        found = dict(collected(ways).tables())
        assert list(found) == list(combinations("abc", ways))
        assert all(table.sum() == pytest.approx(1.0) for table in found.values())


@pytest.mark.parametrize("columns", ["d", ["a", "d"], [], ["a", "a"], ["a", "b", "c"], ""])
def test_columns_are_a_few_different_names(columns):
    release = collected()
    for ask in (release.table, release.band):
        with pytest.raises(ParameterError, match="column"):
            ask(columns)


def test_confidence():
    with pytest.raises(ParameterError, match="confidence"):
        collected().band("a", confidence=0.0)


def test_few_reports_leave_coefficients_unknown():
    """Questions that nobody was asked: independence stands in, and the band says that nothing is known."""
    release = collected(ways=3, people=3)
    assert (release.variances >= 1e6).any()
    assert release.table(["a", "b", "c"]).sum() == pytest.approx(1.0)
    low, high = release.band(["a", "b", "c"])
    assert low.max() == 0.0
    assert high.min() == 1.0


def test_arrays_are_fixed():
    release = collected()
    for values in (release.coefficients, release.variances):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0.0


def test_it_says_what_it_is():
    release = collected()
    assert repr(release).startswith("<MarginalsRelease, 2 ways, of 3 columns: ")
    assert "local model" in repr(release)
    assert dict(release.target)["reports"] == "4000"
    assert release.law.size == len(release.coefficients) == 5 + 3 + 1 + 3


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_files_come_back(ways, tmp_path):
    release = collected(ways)
    release.save(tmp_path / "r.sfumato")
    loaded = sf.load(tmp_path / "r.sfumato")
    assert type(loaded) is MarginalsRelease
    assert (loaded.guarantee, loaded.law, loaded.target) == (release.guarantee, release.law, release.target)
    assert (loaded.ways, loaded.reports, loaded.box) == (ways, 4000, BOX)
    for (names, before), (_, after) in zip(release.tables(), loaded.tables(), strict=True):
        assert before.tobytes() == after.tobytes(), names


def forged(path, change):
    collected(people=100).save(path)
    with safe_open(path, framework="numpy") as container:
        document = json.loads(container.metadata()["sfumato"])
        arrays = {key: container.get_tensor(key).copy() for key in container.keys()}  # noqa: SIM118
    change(document, arrays)
    path.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    return path


def entry(name, place, value):
    def change(document, arrays):
        arrays[name][place] = value

    return change


def shortened(name):
    def change(document, arrays):
        arrays[name] = arrays[name][:-1]

    return change


FORGERIES = {
    "central": lambda d, a: d["guarantee"].update(model="central"),
    "delta": lambda d, a: d["guarantee"].update(delta=0.1),
    "neighbours": lambda d, a: d["guarantee"].update(neighbours="add-remove"),
    "assumptions": lambda d, a: d["guarantee"].update(assumptions=["sampled"]),
    "size of the noise": lambda d, a: d["noise"].update(size=3),
    "no noise": lambda d, a: d.update(noise=None),
    "central noise": lambda d, a: d["noise"].update(kind="laplace"),
    "ways": lambda d, a: d["content"].update(ways=1),
    "more ways": lambda d, a: d["content"].update(ways=9),
    "true ways": lambda d, a: d["content"].update(ways=True),
    "reports": lambda d, a: d["content"].update(reports=0),
    "more content": lambda d, a: d["content"].update(more=1),
    "more arrays": lambda d, a: a.update(more=np.zeros(2)),
    "no variances": lambda d, a: a.pop("variances"),
    "short coefficients": shortened("coefficients"),
    "short variances": shortened("variances"),
    "not a number": entry("coefficients", 0, np.nan),
    "infinite": entry("variances", 0, np.inf),
    "no variance": entry("variances", 0, 0.0),
    "negative variance": entry("variances", 1, -1.0),
    "numeric column": lambda d, a: d["box"]["columns"].__setitem__(
        0, {"name": "a", "kind": "interval", "low": 0.0, "high": 1.0}
    ),
    "more categories": lambda d, a: d["box"]["columns"][0].update(categories=["no", "yes", "perhaps"]),
    "other kind": lambda d, a: d.update(kind="collected-density"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_files_are_refused(name, tmp_path):
    with pytest.raises(FileFormatError, match=r"r\.sfumato"):
        sf.load(forged(tmp_path / "r.sfumato", FORGERIES[name]))
