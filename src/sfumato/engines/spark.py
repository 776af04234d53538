"""The engine that works on Spark: its frames, handed over as Arrow batches, and files that workers read themselves."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from sfumato.core.box import Box, Column
from sfumato.core.neighbours import Person, Unit
from sfumato.engines.clusters import Scattered, attempt, checked, open_scattered
from sfumato.engines.contents import Contents, contents_of_parts
from sfumato.engines.passes import Pass
from sfumato.engines.shuffle import SentRows, chosen_batches, columns_sent, split_batches
from sfumato.engines.table import Columns
from sfumato.engines.totals import Totals
from sfumato.engines.workers import (
    VERSIONS,
    Answer,
    BatchPart,
    Kept,
    Piece,
    Stream,
    added,
    answer_batch,
    check_versions,
    feature_batches,
    fold_all,
)
from sfumato.errors import NOTHING_LOST, EngineError, ParameterTypeError
from sfumato.extras import need, need_version

_SENT = 2**24  # numbers that all answers to a pass together may hold: 128 MiB, or twice that
_KEPT = 2**24  # numbers of features that one machine keeps; a cluster keeps all
_JAVA = 17
_PATIENCE = 30.0  # seconds within which a server of Spark Connect must answer

Parts = Callable[[Iterator[Any]], Iterable[Any]]  # what a worker makes of the batches that it gets


@dataclass(frozen=True)
class Spark:
    """Folds passes where Spark has the records, by ``mapInArrow``.

    Parameters
    ----------
    session
        A ``SparkSession``, of Spark Connect or not; None: the frame's own, else the one that is active, else a new one
        on this machine.

    ``data`` are a Spark DataFrame, a path, or a list of paths; workers read files themselves, so that they need the
    same paths. Sums are the same, bit by bit, as in memory.
    """

    session: Any = None

    def __post_init__(self) -> None:
        need_version("pyspark", "spark", (4, 0))
        if self.session is not None and not hasattr(type(self.session), "createDataFrame"):
            raise ParameterTypeError.of("session", f"must be a SparkSession or None, got {type(self.session).__name__}")

    def open(self, data: Any, box: Box, unit: Unit, columns: Columns = None) -> Scattered:
        """Open the data and check their schema; ``columns`` are those that must be there, by default the box's."""
        return open_scattered("Spark", (data, box, unit, columns), self.fold, _empty)

    def fold(self, records: Scattered, one: Pass) -> Totals:
        """What a pass adds up over all records."""
        records.check(one)
        tasks, kept = max(1, _SENT // max(1, one.size)), self._features(records, one)
        source, parts = (kept, _kept) if kept is not None else self._parts(records, list(one.box.names), tasks)
        answers = _answers(source.coalesce(tasks), _answering(fold_all, parts, one))
        return records.accept(added(answers, one.size, one.largest), one)

    def contents(self, data: Any, salt: bytes) -> Contents:
        """What a Spark DataFrame holds; its records stay where they are."""
        names = _attempt(lambda: data.columns)
        source = _columns(data, names)
        work = _answering(contents_of_parts, partial(_batchwise, names=names), names, salt)
        answer = checked(added(_answers(source, work), 0, 1))
        return Contents(tuple(sorted(names)), answer.rows, answer.mark)

    def _features(self, records: Scattered, one: Pass) -> Any:
        """The frame of features that executors keep; None where a pass needs none, or they are made again each time.

        On one machine they are what they were; another machine could round them differently.
        """
        wanted = one.features
        if wanted is None or (wanted not in records.kept and self._alone() and records.rows * wanted.width > _KEPT):
            return None
        if wanted not in records.kept:
            source, parts = self._parts(records, list(wanted.box.names))
            work = _sending(feature_batches, parts, wanted)
            records.kept[wanted] = _persisted(records, lambda: source.mapInArrow(work, "kind byte, numbers binary"))
        return records.kept[wanted]

    def _parts(self, records: Scattered, names: list[str], tasks: int = _SENT) -> tuple[Any, Parts]:
        """A frame, and what makes parts of the records of what a worker gets of it."""
        unit = records.scheme.unit
        if isinstance(unit, Person):
            return self._persons(records, unit), partial(_sent, kinds=records.scheme.kinds)
        return self._given(records, names, partial(_streamed, names=names), tasks)

    def _given(self, records: Scattered, names: list[str], parts: Parts, tasks: int = _SENT) -> tuple[Any, Parts]:
        """The same before any rows of persons are left out; of files, as numbers, one in each partition."""
        if not isinstance(records.parts, list):
            return _columns(records.parts, names), parts
        count = min(tasks, len(records.parts))
        numbers = _attempt(lambda: self._spark().range(0, count, 1, count))
        return numbers, partial(_taken, pieces=records.parts, tasks=count)

    def _persons(self, records: Scattered, unit: Person) -> Any:
        """The rows that count: each person's go to one worker, who chooses among them."""
        if unit not in records.kept:
            kinds, person = records.scheme.kinds, str(unit.column)
            names = [*dict.fromkeys([*kinds, person])]
            source, parts = self._given(records, names, partial(_batchwise, names=names))
            work, choose = _sending(split_batches, parts, person, kinds), _sending(chosen_batches, iter, unit, kinds)
            columns = columns_sent(kinds)

            def kept() -> Any:
                sent = source.mapInArrow(work, f"place int, who binary, {columns}")
                return sent.repartition("place").mapInArrow(choose, f"trouble byte, {columns}")

            records.kept[unit] = _persisted(records, kept)
        return records.kept[unit]

    def _spark(self) -> Any:
        return self.session if self.session is not None else session_at(None)

    def _alone(self) -> bool:
        """Whether all workers are on one machine."""
        try:
            return str(self._spark().conf.get("spark.master", "")).startswith("local")
        except Exception:  # a server of Spark Connect may not say
            return False


# --- what is sent to workers ----------------------------------------------------------------------------------------


def _answering(function: Callable[..., Answer], parts: Parts, *rest: Any) -> Parts:
    asking = _asking(parts)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        yield answer_batch(function(asking(batches), *rest))

    return work


def _sending(function: Callable[..., Iterator[Any]], parts: Parts, *rest: Any) -> Parts:
    asking = _asking(parts)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        yield from function(asking(batches), *rest)

    return work


def _asking(parts: Parts) -> Parts:
    """The same on a worker with the versions that are here; else an error for whoever takes the first part."""
    versions = VERSIONS

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        check_versions(versions)
        yield from parts(batches)

    return work


def _kept(batches: Iterator[Any]) -> list[Kept]:
    return [Kept(batches)]


def _streamed(batches: Iterator[Any], names: list[str]) -> list[Stream]:
    return [Stream(_named(batches, names), names)]


def _sent(batches: Iterator[Any], kinds: Mapping[str, Column]) -> list[SentRows]:
    return [SentRows(batches, kinds)]


def _batchwise(batches: Iterator[Any], names: list[str]) -> Iterator[BatchPart]:
    return map(BatchPart, _named(batches, names))


def _named(batches: Iterator[Any], names: list[str]) -> Iterator[Any]:
    """Batches whose columns have the names of the frame again."""
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, names=names)


def _taken(batches: Iterator[Any], pieces: list[Piece], tasks: int) -> Iterator[Piece]:
    """The pieces of a worker, by the numbers that it got."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from pieces[number::tasks]


def _answers(source: Any, work: Parts) -> list[Answer]:
    found = _attempt(lambda: source.mapInArrow(work, "answer binary").collect())
    return [Answer.from_bytes(bytes(row[0])) for row in found]


def _persisted(records: Scattered, make: Callable[[], Any]) -> Any:
    """A frame that executors keep as long as the records are open: Spark itself would never let go of it."""
    kept = _attempt(lambda: make().persist())
    weakref.finalize(records, _forget, kept).atexit = False
    return kept


def _forget(frame: Any) -> None:
    with suppress(Exception):  # the session may be gone, and all that it kept
        frame.unpersist()


def _columns(frame: Any, names: list[str]) -> Any:
    """Some columns of a frame as c0, c1, ...: in a name that is looked up, dots, backticks and cases mean something."""

    def plain() -> Any:
        places = {name: f"c{place}" for place, name in enumerate(frame.columns)}
        wanted = frame.toDF(*places.values()).select(*(places[name] for name in names))
        return wanted.toDF(*(f"c{place}" for place in range(len(names))))

    return _attempt(plain)


# --- sessions -------------------------------------------------------------------------------------------------------


def session_at(master: str | None) -> Any:
    """The session that is active, or a new one: at a master, or on this machine, where its own files are encrypted.

    ``sc://...`` is the address of a server of Spark Connect.
    """
    sql = need("pyspark.sql", "spark")
    if master is not None and master.startswith("sc://"):  # Java runs there, not here
        need("grpc", "spark")
        return _started(lambda: _connected(master), master)
    active = sql.SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    _check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take any Python of the machine
    builder = sql.SparkSession.builder.appName("sfumato").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    local = master is None or master.startswith("local")
    if local:
        builder = builder.config("spark.io.encryption.enabled", "true")
        for option in ("spark.driver.host", "spark.driver.bindAddress"):  # nobody else need reach it
            builder = builder.config(option, "127.0.0.1")
    made = _started(lambda: builder.master(master or "local[*]").getOrCreate(), master or "local[*]")
    if local:  # what it logs of a frame that fails may hold values
        made.sparkContext.setLogLevel("OFF")
    return made


def _started(start: Callable[[], Any], master: str) -> Any:
    """A session, or an error that says where there is none: no data were touched yet."""
    try:
        return start()
    except Exception as error:
        kind = type(error).__name__
    raise EngineError(
        f"no session of Spark could be started at {master!r} ({kind}): {NOTHING_LOST}; is that a master or a server, "
        "is it there, and has it the same version of Spark?"
    )


def _connected(address: str) -> Any:
    """A session of Spark Connect, whose own client would ask a server that is not there for many minutes."""
    channel = need("pyspark.sql.connect.client", "spark").DefaultChannelBuilder(address).toChannel()
    try:
        need("grpc", "spark").channel_ready_future(channel).result(timeout=_PATIENCE)
    finally:
        channel.close()
    return need("pyspark.sql", "spark").SparkSession.builder.remote(address).getOrCreate()


def _check_java() -> None:
    """Say that there is no Java, or which one there is: Spark itself says only that it could not start."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    mend = f"install Java {_JAVA} or later (Debian: apt-get install openjdk-{_JAVA}-jre-headless), or set JAVA_HOME"
    try:
        said = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60).stderr  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        raise EngineError(f"Spark needs Java {_JAVA} or later, and none was found: {mend}; {NOTHING_LOST}") from None
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None or int(found.group(1)) < _JAVA:
        got = f"Java {found.group(1)}" if found else "another program"
        raise EngineError(f"Spark needs Java {_JAVA} or later, got {got} ({java}): {mend}; {NOTHING_LOST}")


class _Calls(threading.local):
    """Whether this thread asks Spark for something of ours: what PySpark logs of an error then quotes values."""

    ours = False

    def filter(self, record: Any) -> bool:
        """Whether somebody else's line is logged."""
        return not self.ours


_calls = _Calls()


def _attempt(run: Callable[[], Any]) -> Any:
    loggers = need("pyspark.logger", "spark").PySparkLogger
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        loggers.getLogger(name).addFilter(_calls)  # once, however often
    before, _calls.ours = _calls.ours, True
    try:
        return attempt("Spark", run)
    finally:
        _calls.ours = before


def _empty(data: Any) -> Any:
    """A frame's columns as an Arrow table without records; by the type of the data alone."""
    ours = any(one.__module__.startswith("pyspark.sql") and one.__name__ == "DataFrame" for one in type(data).__mro__)
    return _attempt(lambda: data.limit(0).toArrow()) if ours else None
