"""Checkpoints: a crash anywhere loses nothing and doubles nothing, and what is no checkpoint is refused."""

import contextlib
import json
import os
import stat
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError, MissingFileError, ParameterError
from sfumato.local import Collector
from unit.local.support import BOX, RECORDS, P, filled, filled_of, same


def test_a_checkpoint_comes_back_bit_for_bit(tmp_path):
    collector = filled(2**14 - 20, 50)
    collector.add(b"x", user=1)
    collector.save(tmp_path / "c", position=1234)
    resumed, position = Collector.resume(tmp_path / "c", P)
    assert position == 1234
    assert same(resumed, collector)
    assert resumed.protocol == P
    assert resumed.release().masses.tobytes() == collector.release().masses.tobytes()


def test_an_empty_collector_can_be_saved(tmp_path):
    P.collector().save(tmp_path / "c")
    resumed, position = Collector.resume(tmp_path / "c", P)
    assert same(resumed, P.collector())
    assert position == 0


class CrashError(Exception):
    """The power fails."""


def collect(path, stream, size, collector, position, crash=None):
    """Read, add, save, again and again; the power fails before step ``crash``."""
    steps = iter(range(100))

    def step():
        if next(steps) == crash:
            raise CrashError

    while position < len(stream):
        step()
        part = stream[position : position + size]
        step()
        collector.add_batch(part)
        step()
        collector.save(path, position + len(part))
        step()
        position += len(part)
    return collector


@pytest.mark.parametrize("crash", range(16))
def test_a_crash_anywhere_loses_and_doubles_nothing(tmp_path, crash):
    """Resumed where the checkpoint says, it ends bit for bit as a run without a crash, twice crashed or not."""
    parts = [P.encode_many(RECORDS[i : i + 150], first_user=i) for i in range(0, 600, 150)]
    stream, size, path = b"".join(parts), len(parts[0]), tmp_path / "c"
    P.collector().save(path, 0)
    with pytest.raises(CrashError):
        collect(path, stream, size, P.collector(), 0, crash)
    with contextlib.suppress(CrashError):  # a short rest may be done before
        collect(path, stream, size, *Collector.resume(path, P), crash=7)
    finished = collect(path, stream, size, *Collector.resume(path, P))
    assert same(finished, filled_of(stream))
    assert same(Collector.resume(path, P)[0], filled_of(stream))


def test_a_crash_while_a_checkpoint_is_written_leaves_the_old_one(tmp_path, monkeypatch):
    collector = filled(0, 30)
    collector.save(tmp_path / "c", 1)
    collector.add_batch(P.encode_many(RECORDS[:30], first_user=30))

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(OSError, match="disk is full"):
        collector.save(tmp_path / "c", 2)
    monkeypatch.undo()
    resumed, position = Collector.resume(tmp_path / "c", P)
    assert (resumed.reports, position) == (30, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["c"]


def test_reading_the_same_input_again_doubles_nothing():
    collector = filled_of(P.encode_many(RECORDS))
    again = collector._state["bits"].copy()
    collector.add_batch(P.encode_many(RECORDS))
    assert np.array_equal(collector._state["bits"], again)


def rewritten(path, change):
    with safe_open(path, framework="numpy") as container:
        about = json.loads(container.metadata()["sfumato-collector"])
        arrays = {key: container.get_tensor(key) for key in container.keys()}  # noqa: SIM118
    change(about, arrays)
    path.write_bytes(pack(arrays, metadata={"sfumato-collector": json.dumps(about)}))


@pytest.mark.parametrize(
    "change",
    [
        lambda about, arrays: about.pop("protocol"),
        lambda about, arrays: about.pop("position"),
        lambda about, arrays: about.update(more=1),
        lambda about, arrays: about.update(rejected={"\x1b[2J": 1}),
        lambda about, arrays: about.update(position=[1]),
        lambda about, arrays: about.update(reports="many"),
        lambda about, arrays: arrays.pop("state.bits"),
        lambda about, arrays: arrays.update({"state.bits": np.zeros((3, 2), dtype=np.int64)}),
        lambda about, arrays: arrays.update({"state.bits": arrays["state.bits"].astype(np.float64)}),
        lambda about, arrays: arrays.update({"seen.bits": arrays["seen.bits"][:0]}),
        lambda about, arrays: arrays.update({"seen.bits": arrays["seen.bits"].astype(np.int64)}),
        lambda about, arrays: arrays.update({"more": np.zeros(3)}),
        lambda about, arrays: about.update(reports=51),
        lambda about, arrays: (about.update(reports=51), arrays["state.bits"].__iadd__([[1, 0]] + [[0, 0]] * 14)),
        lambda about, arrays: arrays["state.bits"].__iadd__([[60, 0], [-60, 0]] + [[0, 0]] * 13),
        lambda about, arrays: arrays["state.bits"].__iadd__([[2**62, 2**62], [2**62, 2**62]] + [[0, 0]] * 13),
        lambda about, arrays: arrays["seen.blocks"].__iadd__(2**10),  # persons beyond the protocol's
        lambda about, arrays: arrays["seen.bits"].fill(255),
    ],
)
def test_damaged_checkpoints_are_refused(tmp_path, change):
    filled().save(tmp_path / "c")
    rewritten(tmp_path / "c", change)
    with pytest.raises(FileFormatError, match="not a valid checkpoint"):
        Collector.resume(tmp_path / "c", P)


def test_truncated_checkpoints_are_refused(tmp_path):
    filled().save(tmp_path / "c")
    whole = (tmp_path / "c").read_bytes()
    for size in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "c").write_bytes(whole[:size])
        with pytest.raises(FileFormatError, match="not a valid checkpoint"):
            Collector.resume(tmp_path / "c", P)
    with pytest.raises(MissingFileError, match="no such file"):
        Collector.resume(tmp_path / "none", P)


@pytest.mark.parametrize(
    "change",
    [
        lambda about, arrays: about["protocol"].update(epsilon=50.0),
        lambda about, arrays: about["protocol"].update(version=1),
        lambda about, arrays: about["protocol"]["parameters"].update(lattice=5),
        lambda about, arrays: about.update(protocol=None),
    ],
)
def test_a_checkpoint_is_good_for_its_protocol_and_its_epsilon_only(tmp_path, change):
    filled().save(tmp_path / "c")
    rewritten(tmp_path / "c", change)
    with pytest.raises(ParameterError, match="is of another protocol, or another epsilon"):
        Collector.resume(tmp_path / "c", P)
    filled().save(tmp_path / "c")
    with pytest.raises(ParameterError, match="is of another protocol, or another epsilon"):
        Collector.resume(tmp_path / "c", replace(P, epsilon=50.0))


def test_sums_that_no_reports_add_up_to_are_refused(tmp_path):
    protocol = sf.local.Density(BOX, epsilon=1.0, lattice=2, seed=7, randomizer="likelihood")
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(RECORDS[:50]))
    collector.save(tmp_path / "c")
    assert same(Collector.resume(tmp_path / "c", protocol)[0], collector)
    rewritten(tmp_path / "c", lambda about, arrays: arrays["state.sums"].fill(2**40))
    with pytest.raises(FileFormatError, match="do not agree"):
        Collector.resume(tmp_path / "c", protocol)


def test_equal_keys_pipes_holes_and_endless_files_are_no_checkpoints(tmp_path, monkeypatch):
    filled().save(tmp_path / "c")
    whole = (tmp_path / "c").read_bytes()
    with safe_open(tmp_path / "c", framework="numpy") as container:
        text = container.metadata()["sfumato-collector"].replace("{", '{"reports": 50, ', 1)
    (tmp_path / "twice").write_bytes(pack(load(whole), metadata={"sfumato-collector": text}))
    with pytest.raises(FileFormatError, match="'reports' stands twice"):
        Collector.resume(tmp_path / "twice", P)
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "holes").open("wb") as file:
        file.write(whole)
        file.truncate(2**40)
    for name in ("pipe", "holes"):
        with pytest.raises(FileFormatError):
            Collector.resume(tmp_path / name, P)
    monkeypatch.setattr("sfumato.local.checkpoints._LARGEST_RECORD", -(2**27))
    with pytest.raises(FileFormatError, match="too large for a checkpoint of this protocol"):
        Collector.resume(tmp_path / "c", P)


def test_only_the_owner_reads_a_checkpoint(tmp_path):
    filled().save(tmp_path / "c")
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o600


def test_a_position_may_be_plain_data(tmp_path):
    filled().save(tmp_path / "c", {"a.bin": 3, "b.bin": [1, "x"]})
    assert Collector.resume(tmp_path / "c", P)[1] == {"a.bin": 3, "b.bin": [1, "x"]}
    for position in (-1, [1], "x" * 10, 2.5):
        with pytest.raises(ParameterError, match="counts are whole numbers"):
            filled().save(tmp_path / "c", position)
    with pytest.raises(ParameterError, match="too many for a checkpoint"):
        filled().save(tmp_path / "c", {"name": "x" * 2**25})
