"""Files: what comes back is what was saved, and nothing but a release is ever loaded."""

import json
import os
import pickle
import stat

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from effort import share
from sfumato import codec
from sfumato.bases.unit import from_unit
from sfumato.errors import FileFormatError
from sfumato.releases.file import container

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
POINTS = [[30.0, 25.5], [0.0, 60.0], [110.0, 10.0]]


def publish(basis=None, privacy=None, box=BOX, **options):
    target = sf.BlackBox(lambda data: lambda points: points[:, 0] / 100, sensitivity=0.1, range=(0, 2), **options)
    return sf.release(
        target, np.zeros((5, 2)), box, privacy or sf.Privacy(epsilon=1.0), basis=basis or sf.Bernstein(2, 2)
    )


@pytest.fixture
def path(tmp_path):
    """A small valid file."""
    file = tmp_path / "small.sfumato"
    publish().save(file)
    return file


def read(path):
    with safe_open(path, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


def write(path, document, arrays):
    path.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))


def load_or_refuse(path):
    """The release, made to work, or None where the file was refused: anything else is a failure."""
    try:
        release = sf.load(path)
    except FileFormatError:
        return None
    with np.errstate(all="ignore"):
        low, high = release.band(from_unit(release.box, np.full((1, release.box.dimension), 0.5)))
    assert low.shape == high.shape == (1,)
    assert str(release.guarantee)
    assert repr(release)
    return release


# --- round trips ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "privacy"),
    [
        ({}, sf.Privacy(epsilon=0.1)),
        ({"basis": sf.Step((2, 3))}, sf.Privacy(epsilon=1.0, delta=1e-6)),
        ({"basis": sf.Bernstein((1, 4), 5)}, sf.Privacy(rho=0.3)),
        ({"smoothness": sf.Smooth(4, 2.0)}, sf.Privacy(epsilon=1.0, neighbours="add-remove")),
        ({"smoothness": sf.Hoelder(0.5, 1.0)}, sf.Privacy(epsilon=1 / 3, unit=sf.Person(0, 3))),
        ({"smoothness": sf.Linear()}, sf.Privacy(epsilon=1.0)),
        ({"smoothness": sf.Smooth(np.int64(2), np.float32(2.0))}, sf.Privacy(epsilon=1.0)),
        ({"box": sf.Box([sf.Integer(0, 9), sf.Periodic(0, 24)])}, sf.Privacy(epsilon=1.0)),
        ({"box": sf.Box([(-1, 1), (-2, 2)], max_norm=1.5)}, sf.Privacy(epsilon=1.0)),
    ],
)
def test_everything_comes_back(options, privacy, tmp_path):
    release = publish(privacy=privacy, **options)
    release.save(tmp_path / "r.sfumato")
    loaded = sf.load(tmp_path / "r.sfumato")
    assert type(loaded) is type(release)
    assert loaded.guarantee == release.guarantee
    assert loaded.law == release.law
    assert loaded.target == release.target
    assert loaded.box == release.box
    assert loaded.basis == release.basis
    assert loaded.smoothness == release.smoothness
    assert loaded.coefficients.tobytes() == release.coefficients.tobytes()


def test_a_derivative_comes_back(tmp_path):
    release = publish().derivative("bmi")
    release.save(tmp_path / "d.sfumato")
    assert sf.load(tmp_path / "d.sfumato")(POINTS).tolist() == release(POINTS).tolist()


@pytest.mark.parametrize("convert", [str, os.fspath, lambda path: path])
def test_paths_may_be_text_or_paths(path, convert):
    assert sf.load(convert(path)).box == BOX


def test_saving_twice_gives_the_same_bytes(tmp_path):
    release = publish()
    release.save(tmp_path / "a.sfumato")
    release.save(tmp_path / "b.sfumato")
    assert (tmp_path / "a.sfumato").read_bytes() == (tmp_path / "b.sfumato").read_bytes()


def test_the_file_is_plain_arrays_and_text(path):
    document, arrays = read(path)
    assert document["format"] == "sfumato"
    assert document["version"] == 1
    assert document["kind"] == "function"
    assert set(arrays) == {"coefficients"}


# --- damage -----------------------------------------------------------------------------------------------------


def test_every_truncation_is_refused(path):
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            sf.load(path)


def test_trailing_bytes_are_refused(path):
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(FileFormatError):
        sf.load(path)


@pytest.mark.few(1)
@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80])
def test_a_flipped_byte_is_refused_or_gives_a_working_release(path, flip):
    whole = path.read_bytes()
    for place in range(0, len(whole), len(whole) // share(len(whole))):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
        load_or_refuse(path)


@pytest.mark.few(1)
@pytest.mark.parametrize("digit", [b"9", b"-", b"e", b'"'])
def test_an_exchanged_character_is_refused_or_gives_a_working_release(path, digit):
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for place in range(8, header, header // share(header)):
        path.write_bytes(whole[:place] + digit + whole[place + 1 :])
        load_or_refuse(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 7,
        b"\0" * 8,
        b"\0" * 100,
        b"{}",
        b"\xff" * 100,
        (2).to_bytes(8, "little") + b"{}",
        (2**20 + 1).to_bytes(8, "little") + b"{" * (2**20 + 1),
        (2**63).to_bytes(8, "little") + b"{}",
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
        (200_000).to_bytes(8, "little") + b'{"a":' * 40_000,
        b"PK\x03\x04" + b"\0" * 50,
        b"age,bmi\n1,2\n",
    ],
)
def test_what_is_not_a_release_is_refused(tmp_path, content):
    file = tmp_path / "other.sfumato"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"other\.sfumato"):
        sf.load(file)


class Bomb:
    def __reduce__(self):
        return (os._exit, (1,))


def test_a_pickle_is_refused_and_not_run(tmp_path):
    file = tmp_path / "bomb.sfumato"
    file.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(FileFormatError):
        sf.load(file)


def test_a_safetensors_file_of_others_is_refused(tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(pack({"weights": np.zeros(3)}))
    with pytest.raises(FileFormatError, match="not a sfumato release"):
        sf.load(file)


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match="not a plain file"):
        sf.load(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileFormatError, match=r"nowhere\.sfumato: there is no such file"):
        sf.load(tmp_path / "nowhere.sfumato")


def test_a_file_too_large_is_refused_unread(path, monkeypatch):
    monkeypatch.setattr(container, "LARGEST_FILE", 100)
    with pytest.raises(FileFormatError, match="too large"):
        sf.load(path)


# --- hostile documents ------------------------------------------------------------------------------------------


def put(*keys):
    """A change that puts a value at a place in the document."""
    *where, last, value = keys

    def change(document):
        for key in where:
            document = document[key]
        document[last] = value

    return change


def drop(*keys):
    *where, last = keys

    def change(document):
        for key in where:
            document = document[key]
        del document[last]

    return change


HUGE = "9" * 1000
HOSTILE = {
    "unknown version": put("version", 2),
    "version as text": put("version", "1"),
    "no version": drop("version"),
    "other format": put("format", "pickle"),
    "unknown kind": put("kind", "os.system"),
    "kind is a list": put("kind", ["function"]),
    "extra key": put("extra", 1),
    "missing target": drop("target"),
    "missing noise": drop("noise"),
    "box is null": put("box", None),
    "box is text": put("box", "all"),
    "no columns": put("box", "columns", []),
    "columns is text": put("box", "columns", "ab"),
    "column of unknown kind": put("box", "columns", 0, "kind", "magic"),
    "bounds swapped": put("box", "columns", 0, "low", 1e9),
    "bound is nan": put("box", "columns", 0, "low", float("nan")),
    "bound is infinite": put("box", "columns", 0, "high", float("inf")),
    "bound is huge": put("box", "columns", 0, "high", 10**400),
    "bound is text": put("box", "columns", 0, "high", "110"),
    "two columns of one name": put("box", "columns", 0, "name", "bmi"),
    "column without a name": put("box", "columns", 0, "name", ""),
    "column name is a number": put("box", "columns", 0, "name", 3),
    "max norm negative": put("box", "max_norm", -1),
    "max norm nan": put("box", "max_norm", float("nan")),
    "epsilon negative": put("guarantee", "epsilon", -1.0),
    "epsilon nan": put("guarantee", "epsilon", float("nan")),
    "epsilon infinite": put("guarantee", "epsilon", float("inf")),
    "epsilon text": put("guarantee", "epsilon", "1.0"),
    "epsilon true": put("guarantee", "epsilon", True),
    "epsilon missing": drop("guarantee", "epsilon"),
    "epsilon zero": put("guarantee", "epsilon", 0.0),
    "no amount at all": put("guarantee", "epsilon", None),
    "delta above one": put("guarantee", "delta", 7.0),
    "delta nan": put("guarantee", "delta", float("nan")),
    "rho nan": put("guarantee", "rho", float("nan")),
    "mu nan": put("guarantee", "mu", float("nan")),
    "unknown model": put("guarantee", "model", "magic"),
    "unknown neighbours": put("guarantee", "neighbours", "friends"),
    "unknown unit": put("guarantee", "unit", "household"),
    "unit without rows": put("guarantee", "unit", {"column": "id"}),
    "unit of zero rows": put("guarantee", "unit", {"column": "id", "max_rows": 0}),
    "confidence above one": put("guarantee", "confidence", 2),
    "confidence nan": put("guarantee", "confidence", float("nan")),
    "confidence text": put("guarantee", "confidence", "sure"),
    "guarantee with extra key": put("guarantee", "extra", 1),
    "guarantee is a list": put("guarantee", []),
    "assumptions is a number": put("guarantee", "assumptions", 3),
    "noise of unknown kind": put("noise", "kind", "cauchy"),
    "noise scale is a number": put("noise", "scale", 3),
    "noise scale negative": put("noise", "scale", "-3"),
    "noise scale zero": put("noise", "scale", "0"),
    "noise scale over zero": put("noise", "scale", "1/0"),
    "noise scale is an exponent": put("noise", "scale", "1e999999999"),
    "noise scale of a million digits": put("noise", "scale", "9" * 10**6),
    "noise scale beyond doubles": put("noise", "scale", HUGE),
    "noise scale with spaces": put("noise", "scale", " 3 "),
    "noise size wrong": put("noise", "size", 3),
    "noise size huge": put("noise", "size", 10**30),
    "noise exponent huge": put("noise", "exponent", 10**9),
    "noise exponent a float": put("noise", "exponent", 1.5),
    "noise exponent null": put("noise", "exponent", None),
    "certificate missing": drop("noise", "certificate"),
    "certificate with extra key": put("noise", "certificate", "extra", 1),
    "certificate bound negative": put("noise", "certificate", "bound", -1),
    "certificate bound nan": put("noise", "certificate", "bound", float("nan")),
    "certificate norm unknown": put("noise", "certificate", "norm", "l7"),
    "certificate exponent text": put("noise", "certificate", "exponent", "x"),
    "target is text": put("target", "black box"),
    "target has triples": put("target", [["a", "b", "c"]]),
    "content is null": put("content", None),
    "content is a list": put("content", [1, 2]),
    "unknown basis": put("content", "basis", "name", "os.system"),
    "degree negative": put("content", "basis", "degree", -1),
    "degree zero": put("content", "basis", "degree", 0),
    "degree other": put("content", "basis", "degree", 3),
    "degree huge": put("content", "basis", "degree", 10**30),
    "degree true": put("content", "basis", "degree", True),
    "degree text": put("content", "basis", "degree", "2"),
    "degree per axis missing one": put("content", "basis", "degree", [8]),
    "degree nested": put("content", "basis", "degree", [[2], [2]]),
    "degree a mapping": put("content", "basis", "degree", {"a": 2}),
    "order huge": put("content", "basis", "order", 10**6),
    "order zero": put("content", "basis", "order", 0),
    "derivatives negative": put("content", "derivatives", [-1, 0]),
    "derivatives huge": put("content", "derivatives", [10**9, 0]),
    "derivatives missing one": put("content", "derivatives", [0]),
    "derivatives empty": put("content", "derivatives", []),
    "derivatives of a step": lambda d: d["content"].update(basis={"name": "step", "degree": 2}, derivatives=[1, 0]),
    "smoothness unknown": put("content", "smoothness", {"name": "magic"}),
    "smoothness text": put("content", "smoothness", "yes"),
    "smoothness of odd order": put("content", "smoothness", {"name": "smooth", "derivatives": 3, "bound": 1.0}),
    "smoothness bound nan": put("content", "smoothness", {"name": "smooth", "derivatives": 2, "bound": float("nan")}),
    "box with extra key": put("box", "extra", 1),
    "column with extra key": put("box", "columns", 0, "extra", 1),
    "noise with extra key": put("noise", "extra", 1),
    "content with extra key": put("content", "extra", 1),
    "basis with extra key": put("content", "basis", "extra", 1),
    "smoothness with extra key": put("content", "smoothness", {"name": "linear", "extra": 1}),
}


@pytest.mark.few(40)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_refused(path, name):
    document, arrays = read(path)
    HOSTILE[name](document)
    write(path, document, arrays)
    with pytest.raises(FileFormatError, match=r"small\.sfumato"):
        sf.load(path)


def test_an_unknown_version_says_what_to_do(path):
    document, arrays = read(path)
    write(path, document | {"version": 99}, arrays)
    with pytest.raises(FileFormatError, match=r"version 99.*upgrade sfumato"):
        sf.load(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "3",
        '"sfumato"',
        "{",
        "NaN",
        "[" * 100_000 + "]" * 100_000,
        '{"format":' * 50_000 + "1" + "}" * 50_000,
        "9" * 100_000,
        '{"format": "sfumato", "version": ' + "9" * 5000 + "}",
        "\ud7ff\0",
    ],
)
def test_a_document_that_is_none_is_refused(path, text):
    _, arrays = read(path)
    path.write_bytes(pack(arrays, metadata={"sfumato": text}))
    with pytest.raises(FileFormatError):
        sf.load(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_coefficients_must_be_finite(path, bad):
    document, arrays = read(path)
    arrays["coefficients"] = np.full(9, bad)
    write(path, document, arrays)
    with pytest.raises(FileFormatError, match="finite"):
        sf.load(path)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "bool", "uint64"])
def test_coefficients_must_be_doubles(path, dtype):
    document, arrays = read(path)
    arrays["coefficients"] = np.ones(9, dtype=dtype)
    write(path, document, arrays)
    with pytest.raises(FileFormatError):
        sf.load(path)


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2", "F4", "C64", "X", ""])
def test_types_that_numpy_lacks_are_refused(path, dtype):
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = whole[8 : 8 + length].replace(b'"F64"', f'"{dtype}"'.encode())
    path.write_bytes(len(header).to_bytes(8, "little") + header + whole[8 + length :])
    with pytest.raises(FileFormatError):
        sf.load(path)


@pytest.mark.parametrize("shape", [(8,), (10,), (0,), (1,)])
def test_coefficients_must_be_as_many_as_the_basis_has(path, shape):
    document, _ = read(path)
    write(path, document, {"coefficients": np.ones(shape)})
    with pytest.raises(FileFormatError):
        sf.load(path)


def test_missing_and_unknown_arrays_are_refused(path):
    document, arrays = read(path)
    for wrong in ({}, {"other": arrays["coefficients"]}, {**arrays, "records": np.zeros(3)}):
        write(path, document, wrong)
        with pytest.raises(FileFormatError):
            sf.load(path)


def test_errors_are_value_errors_too(path):
    path.write_bytes(b"nonsense, but long enough")
    with pytest.raises(ValueError, match="small"):
        sf.load(path)


# --- writing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace", "open"])
def test_a_failed_write_leaves_the_old_file_and_no_other(path, monkeypatch, step):
    before = path.read_bytes()

    def fail(*arguments, **options):
        raise OSError("the disk is full")

    monkeypatch.setattr(codec.os, step, fail)
    with pytest.raises(OSError, match="full"):
        publish().save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_interrupted_write_leaves_the_old_file_and_no_other(path, monkeypatch):
    before = path.read_bytes()

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(codec.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        publish().save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_new_file_replaces_the_old_one(path):
    before = path.read_bytes()
    publish(basis=sf.Step(1)).save(path)
    assert path.read_bytes() != before
    assert sf.load(path).basis == sf.Step(1)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_missing_directory_is_an_error_of_the_system(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        publish().save(tmp_path / "nowhere" / "r.sfumato")


def test_a_directory_is_not_overwritten(tmp_path):
    (tmp_path / "sub").mkdir()
    with pytest.raises(OSError, match="sub"):
        publish().save(tmp_path / "sub")
    assert [file.name for file in tmp_path.iterdir()] == ["sub"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_release_is_public(path):
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_a_file_in_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    publish().save("here.sfumato")
    assert sf.load("here.sfumato").box == BOX
