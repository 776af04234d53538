"""Files of summaries: everything comes back, and what says something else is refused."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError
from unit.releases.exact import exact

MIXED = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "grade": sf.Categorical([5, 1, 2.5])})
ADD = sf.Privacy(epsilon=1.0, neighbours="add-remove")
PERSON = sf.Privacy(epsilon=1.0, unit=sf.Person("id", 3))
RNG = np.random.default_rng(12)
KINDS = np.stack([RNG.uniform(0, 110, 400), RNG.integers(0, 2, 400), RNG.integers(0, 3, 400)], axis=1)

GRANTS = {
    "row": sf.Privacy(epsilon=1.0),
    "add-remove": ADD,
    "person": PERSON,
    "gaussian": sf.Privacy(epsilon=1.0, delta=1e-6),
    "concentrated": sf.Privacy(rho=0.5),
}
BASES = {
    "full": sf.Cosines(4),
    "sides": sf.Cosines((3, 2, 3)),
    "pairs": sf.Cosines(4, 2),
    "cross": sf.Cosines(4, "cross"),
}


@pytest.mark.few(5)
@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("grant", GRANTS)
def test_everything_comes_back_bit_by_bit(grant, basis, tmp_path):
    summary = exact(KINDS, MIXED, BASES[basis], GRANTS[grant])
    summary.save(tmp_path / "s.sfumato")
    loaded = sf.load(tmp_path / "s.sfumato")
    assert type(loaded) is sf.SummaryRelease
    for name in ("rows", "basis", "law", "guarantee", "box", "target"):
        assert getattr(loaded, name) == getattr(summary, name)
    assert loaded.numbers.tobytes() == summary.numbers.tobytes()
    query = {"query": lambda p: np.cos(p[:, 0] / 30) * p[:, 1], "columns": ["age", "sex"]}
    assert loaded.answer(**query) == summary.answer(**query)
    loaded.save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == (tmp_path / "s.sfumato").read_bytes()


def read(path):
    with safe_open(path, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


def basis(**changes):
    return lambda d, a: d["content"]["basis"].update(changes)


HOSTILE = {
    "an unknown key": lambda d, a: d["content"].update(data=[1]),
    "no basis": lambda d, a: d["content"].pop("basis"),
    "basis null": lambda d, a: d["content"].update(basis=None),
    "a basis with an extra key": basis(data=1),
    "another basis": lambda d, a: d["content"].update(basis=sf.Bernstein(4).to_json()),
    "a larger degree": basis(degree=6),
    "a smaller degree": basis(degree=4),
    "a degree of a billion": basis(degree=10**9),
    "a degree beyond any": basis(degree=10**300),
    "a negative degree": basis(degree=-5),
    "a broken degree": basis(degree=5.0),
    "a degree of text": basis(degree="5"),
    "a true degree": basis(degree=True),
    "very many degrees": basis(degree=[1] * 10**5),
    "a list of lists": basis(degree=[[5], [5], [5]]),
    "no degree": basis(degree=None),
    "an empty list": basis(degree=[]),
    "other interactions": basis(interactions=1),
    "very many interactions": basis(interactions=10**18, degree=6),
    "broken interactions": basis(interactions=1.5),
    "unknown interactions": basis(interactions="some"),
    "rows missing": lambda d, a: d["content"].pop("rows"),
    "rows null": lambda d, a: d["content"].update(rows=None),
    "rows negative": lambda d, a: d["content"].update(rows=-1),
    "rows broken": lambda d, a: d["content"].update(rows=400.5),
    "rows true": lambda d, a: d["content"].update(rows=True),
    "rows beyond any": lambda d, a: d["content"].update(rows=2**62),
    "a number too few": lambda d, a: a.update(numbers=a["numbers"][:-1]),
    "a number too many": lambda d, a: a.update(numbers=np.append(a["numbers"], 0.0)),
    "numbers in a table": lambda d, a: a.update(numbers=a["numbers"][None]),
    "numbers that are none": lambda d, a: a.update(numbers=a["numbers"] * np.nan),
    "numbers of half the size": lambda d, a: a.update(numbers=a["numbers"].astype(np.float32)),
    "an array too many": lambda d, a: a.update(records=np.zeros(3)),
    "no numbers": lambda d, a: (a.clear(), a.update(values=np.zeros(29))),
    "too little noise": lambda d, a: d["noise"].update(scale="1/1000"),
    "a smaller certificate": lambda d, a: (
        d["noise"]["certificate"].update(bound=4**15),
        d["noise"].update(scale=str(4**15)),
    ),
    "a certificate on another grid": lambda d, a: (
        d["noise"]["certificate"].update(exponent=-30),
        d["noise"].update(exponent=-30),
    ),
    "noise of another size": lambda d, a: d["noise"].update(size=3),
    "noise of another kind": lambda d, a: d["noise"].update(kind="l2"),
    "no noise": lambda d, a: d.update(noise=None),
    "a guarantee that hides the number of rows": lambda d, a: (
        d["guarantee"].update(neighbours="add-remove"),
        d["noise"]["certificate"].update(relation="add-remove"),
    ),
    "another box": lambda d, a: d["box"]["columns"].pop(),
    "more categories": lambda d, a: d["box"]["columns"][1]["categories"].append("X"),
    "kind of a density": lambda d, a: d.update(kind="density"),
    "kind of a value": lambda d, a: d.update(kind="value"),
}


@pytest.mark.few(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name, tmp_path):
    file = tmp_path / "small.sfumato"
    exact(KINDS, MIXED, sf.Cosines(5)).save(file)
    document, arrays = read(file)
    HOSTILE[name](document, arrays)
    file.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    with pytest.raises(FileFormatError, match=r"small\.sfumato"):
        sf.load(file)


@pytest.mark.parametrize("grant", ["add-remove", "person"])
def test_a_file_does_not_tell_a_private_number_of_rows(grant, tmp_path):
    file = tmp_path / "small.sfumato"
    exact(KINDS, MIXED, sf.Cosines(5), GRANTS[grant]).save(file)
    document, arrays = read(file)
    document["content"]["rows"] = 400
    file.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    with pytest.raises(FileFormatError, match="a number of rows is there just where the guarantee makes it public"):
        sf.load(file)
