"""No file, however small, takes long to load or much memory; each refusal comes before anything is computed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError

HERE = Path(__file__).parent
GOLDEN = sorted((HERE.parents[1] / "golden").glob("*.sfumato"))
LINE = sf.Box({"t": (0.0, 1.0)})
GROUPS = sf.Box({"a": sf.Categorical([0, 1]), "b": sf.Categorical([0, 1, 2])})
ROWS = np.linspace(0, 1, 60)


def collected(protocol, records):
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(records))
    return collector.release()


def made():
    """Releases of the kinds, and with the entries, that no old file has."""
    one = sf.Privacy(epsilon=1.0)
    pair = (np.stack([ROWS, ROWS[::-1]], axis=1), np.where(ROWS > 0.4, "yes", "no"))
    plane = sf.Box({"a": (0, 1), "b": (0, 1)})
    sick = {"response": "ill", "classes": ["no", "yes"]}
    for mechanism in ("objective", "output"):
        machine = sf.KernelMachine("logistic", sf.RBF(0.5), 1.0, mechanism=mechanism, **sick)
        yield mechanism, sf.release(machine, pair, plane, sf.Privacy(epsilon=5.0), basis=sf.Landmarks(9))
    curve = sf.PriestleyChao(0.2, response="y", range=(0, 1))
    yield "gaps", sf.release(curve, (ROWS[:, None], ROWS), LINE, one)
    clipped = sf.BlackBox(lambda data: lambda p: p[:, 0], sensitivity=9.0, range=(0, 1))
    yield "clipped", sf.release(clipped, ROWS[:, None], LINE, one, basis=sf.Bernstein(3))
    yield "collected", collected(sf.local.Density(LINE, epsilon=1.0, lattice=5, seed=7), ROWS)
    yield "moments", collected(sf.local.SmoothQueries(LINE, epsilon=1.0, degree=4, seed=7), ROWS)
    codes = np.stack([ROWS > 0.3, ROWS * 3 // 1], axis=1).astype(float)
    yield "marginals", collected(sf.local.Marginals(GROUPS, epsilon=1.0, seed=7), codes)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    for name, release in made():
        release.save(folder / f"{name}.sfumato")
    return [str(file) for file in [*GOLDEN, *sorted(folder.iterdir())]]


def tried(how, files, seconds):
    command = [sys.executable, str(HERE / "loading_limits.py"), how, *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits are set as on Linux")
def test_no_number_in_any_file_takes_time_or_memory(files):
    found = tried("few", files, 300)
    assert found["failures"] == []
    assert found["tried"] > 1500


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits are set as on Linux")
def test_no_entry_of_any_file_takes_time_or_memory(files):
    found = tried("all", files, 3000)
    assert found["failures"] == []
    assert found["tried"] > 50_000


# --- structures that are large by their number of columns --------------------------------------------------------

MANY = 4000


def document_of(file):
    from safetensors import safe_open

    with safe_open(file, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


def numeric(count):
    return [{"name": f"x{i}", "kind": "interval", "low": 0, "high": 1} for i in range(count)]


def categorical(count):
    return [{"name": f"x{i}", "kind": "categorical", "categories": [0, 1]} for i in range(count)]


WIDE = {
    "a covariance": ("value-mean-v1", numeric, lambda c: c["summary"].update(statistic="covariance")),
    "one-way moments": ("summary-v1", numeric, lambda c: c["basis"].update(degree=1, interactions=MANY - 1)),
    "many-way moments": ("summary-v1", numeric, lambda c: c["basis"].update(degree=2, interactions=MANY - 1)),
    "a cross": ("summary-v1", numeric, lambda c: c["basis"].update(degree=1024, interactions="cross")),
    "a lattice": ("pure-v1", numeric, lambda c: c["basis"].update(degree=10**90)),
    "marginals": ("marginals", categorical, lambda c: c.update(ways=MANY - 1)),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WIDE)
def test_many_columns_take_no_time(files, name, tmp_path):
    kind, columns, change = WIDE[name]
    document, arrays = document_of(next(f for f in files if Path(f).stem == kind))
    document["box"]["columns"] = columns(MANY)
    change(document["content"])
    wide = tmp_path / "wide.sfumato"
    wide.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    code = (
        "import sys, resource, sfumato as sf; resource.setrlimit(resource.RLIMIT_CPU, (15, 15)); sf.load(sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(wide)], capture_output=True, text=True, timeout=120)
    assert "FileFormatError" in done.stderr.splitlines()[-1]


# --- what is no file at all --------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.sfumato")
    with pytest.raises(FileFormatError, match="a pipe or a device"):
        sf.load(tmp_path / "pipe.sfumato")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no such devices")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused_at_once(device):
    with pytest.raises(FileFormatError, match="a pipe or a device"):
        sf.load(device)


@pytest.mark.parametrize("size", [2**30, 2**40])
def test_a_sparse_file_that_is_too_long_is_refused_unread(tmp_path, size):
    file = tmp_path / "sparse.sfumato"
    with file.open("wb") as handle:
        handle.write((100).to_bytes(8, "little"))
        handle.truncate(size)
    with pytest.raises(FileFormatError, match="too large"):
        sf.load(file)


@pytest.mark.skipif(sys.platform != "linux", reason="not every file system has holes")
def test_a_large_file_of_holes_is_refused_unread(tmp_path):
    file, size = tmp_path / "sparse.sfumato", 2**28
    header = json.dumps({"coefficients": {"dtype": "F64", "shape": [size // 8], "data_offsets": [0, size]}}).encode()
    with file.open("wb") as handle:
        handle.write(len(header).to_bytes(8, "little") + header)
        handle.truncate(8 + len(header) + size)
    with pytest.raises(FileFormatError, match="mostly holes"):
        sf.load(file)


def test_a_sparse_file_without_a_header_is_refused(tmp_path):
    file = tmp_path / "sparse.sfumato"
    with file.open("wb") as handle:
        handle.truncate(2**24)
    with pytest.raises(FileFormatError, match=r"not a sfumato release|not JSON"):
        sf.load(file)


# --- JSON that says two things -----------------------------------------------------------------------------------


def test_equal_keys_in_the_document_are_refused(files, tmp_path):
    document, arrays = document_of(files[0])
    text = json.dumps(document).replace('"epsilon":', '"epsilon": 0.01, "epsilon":', 1)
    (tmp_path / "twice.sfumato").write_bytes(pack(arrays, metadata={"sfumato": text}))
    with pytest.raises(FileFormatError, match="'epsilon' stands twice"):
        sf.load(tmp_path / "twice.sfumato")


def test_equal_keys_in_the_container_are_refused(files, tmp_path):
    whole = Path(files[0]).read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = whole[8 : 8 + length].rstrip()
    doubled = b'{"__metadata__":{"sfumato":"{}"},' + header[1:]
    (tmp_path / "twice.sfumato").write_bytes(len(doubled).to_bytes(8, "little") + doubled + whole[8 + length :])
    with pytest.raises(FileFormatError, match="'__metadata__' stands twice"):
        sf.load(tmp_path / "twice.sfumato")


def test_metadata_that_nobody_reads_is_refused(files, tmp_path):
    document, arrays = document_of(files[0])
    (tmp_path / "more.sfumato").write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document), "more": "data"}))
    with pytest.raises(FileFormatError, match="unexpected metadata"):
        sf.load(tmp_path / "more.sfumato")
