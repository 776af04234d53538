"""Nothing private leaves by a side door: neighbouring tables in every container are told apart by nothing unpaid.

``harness.differential`` says what is compared. Nothing here is a matter of chance: tables come from seeds. Each hole
that was once found is put back below, and must be found again.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from harness import hostile, reading
from harness.containers import ARRAYS, TABLES
from harness.differential import CHANGES, Tally, Watch, differences, fuzz
from harness.doors import DOORS

import sfumato as sf
from sfumato import dates, instants, values
from sfumato.cli.local import people as local_people
from sfumato.core.box import Interval
from sfumato.engines import cells, columns, contents, files, frames, lines, memory, persons, sparse, tables
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError
from sfumato.estimators import inputs, responses
from sfumato.local import records
from sfumato.targets.machine import examples


def quick(container: str) -> list:
    return [door for door in DOORS if door.kind == "table" and door.weight >= 2 and container in door.containers()]


def check(tally: Tally) -> None:
    assert not tally.failures, "\n".join(map(str, tally.failures))


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_every_door(door):
    tally = fuzz(16 if door.weight >= 0.5 else 4, seed=11, doors=[door], changes=4)
    check(tally)
    assert tally.released[door.name], "it was never open"


@pytest.mark.parametrize("container", [*TABLES, *ARRAYS])
def test_every_container(container):
    check(fuzz(2 * CHANGES, seed=12, doors=quick(container), container=container))


def test_neighbours_cannot_be_told_apart():
    check(fuzz(300, seed=13))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "seed"), [(1000, 13), *((10_000, seed) for seed in range(100, 110))])
def test_neighbours_cannot_be_told_apart_for_long(count, seed):
    check(fuzz(count, seed=seed))


@pytest.mark.few(1)
@pytest.mark.parametrize("block", [1, 7, 64])
def test_where_blocks_of_a_file_end(block):
    """Lines lie across the ends of blocks, and some are longer than any record may be."""
    with mock.patch.multiple(lines, BLOCK=block, LONGEST=max(80, block), GROWN=block):
        check(fuzz(4 * CHANGES, seed=14, doors=[*OWN, *named("count")], container="csv"))


def test_where_batches_end():
    """After so many people, wherever blocks of the file do."""
    with _short_blocks():
        check(fuzz(2 * CHANGES, seed=14, doors=named("command local encode")))


def test_where_chunks_of_a_table_end():
    with mock.patch("sfumato.engines.engine.MemoryEngine", functools.partial(MemoryEngine, 2)):
        check(fuzz(4 * CHANGES, seed=15, doors=quick("pandas")))


def test_where_blocks_of_features_end():
    """What is kept of a full block is packed, and a pass reads it again."""
    learners = ("ridge", "PrivateRidge", "PrivateKernelRegressor", "logistic regression", "support vectors")
    with _few_features():
        check(fuzz(4 * CHANGES, seed=17, doors=named(*learners)))


def test_what_a_neighbour_may_change():
    """The watch itself: the numbers that are paid for may differ by as much as was certified, and by no more."""
    box, privacy, watch = sf.Box({"x": (0, 10)}), sf.Privacy(epsilon=1.0), Watch()

    def mean(*values: float) -> object:
        watch.outcome = type(watch.outcome)()
        sf.release(sf.Statistic("mean", "x"), np.array(values)[:, None], box, privacy)
        return watch.outcome

    with watch.standing_in():
        base, other, two = mean(0, 5, 5), mean(10, 5, 5), mean(10, 10, 10)
    assert not differences(base, other)
    assert "private numbers are" in differences(base, two)[0]


# --- every hole, put back ---------------------------------------------------------------------------------------

Hole = Callable[[], contextlib.AbstractContextManager]


def named(*names: str) -> list:
    return [door for door in DOORS if door.name in names]


def _few_features() -> contextlib.AbstractContextManager:
    return mock.patch.object(examples, "BLOCK", 2)


def _regular(changed: Callable[[lines.Layout, list[bytes]], list[bytes]]) -> Hole:
    """A reader that does something else with the lines that are no records."""
    real = lines.Layout.regular

    def regular(self: lines.Layout, run: bytes) -> tuple[bytes, int]:
        found = changed(self, real(self, run)[0].split(b"\n")[:-1])
        return b"".join(line + b"\n" for line in found), len(found)

    return lambda: mock.patch.object(lines.Layout, "regular", regular)


def _torn_last(self: lines.Layout, found: list[bytes]) -> list[bytes]:
    torn = self.empty[:-1]
    return [line for line in found if line != torn] + [torn] * found.count(torn)


def _torn_dropped(self: lines.Layout, found: list[bytes]) -> list[bytes]:
    return [line for line in found if line != self.empty[:-1]]


def _undecodable() -> contextlib.AbstractContextManager:
    real = lines.Layout._mended

    def mended(self: lines.Layout, record: bytes) -> bytes:
        try:
            record.decode()
        except UnicodeDecodeError as error:
            raise SchemaError(f"cannot be read as a table ({error})") from None
        return real(self, record)

    return mock.patch.object(lines.Layout, "_mended", mended)


def _quotes_span_lines() -> contextlib.AbstractContextManager:
    return mock.patch.object(files, "Layout", lambda width, comma, _: lines.Layout(width, comma, True))


def _header_shown() -> contextlib.AbstractContextManager:
    def check_header(file, needed) -> None:
        if not set(needed) & set(file.names):
            raise SchemaError(f"{file.path}: the first line must name the columns, it has {file.names}")

    return mock.patch.object(tables, "check_header", check_header)


def _too_many_rows() -> contextlib.AbstractContextManager:
    real = MemoryEngine.fold

    def counted(self, records, one):
        if records.rows >= 4:
            raise ParameterError("so many records do not fit 64 bits: use a coarser grid")
        return real(self, records, one)

    return mock.patch.object(MemoryEngine, "fold", counted)


@contextlib.contextmanager
def _wrapped_sums() -> Iterator[None]:
    real = Watch._publish

    def publish(self, private, privacy, noise="auto"):
        found = real(self, private, privacy, noise)
        norm, bound, numbers = self.outcome.vectors[-1]
        self.outcome.vectors[-1] = norm, bound, np.fmod(numbers, 3.5 * bound)
        return found

    with mock.patch.object(Watch, "_publish", publish):
        yield


def _real_numbers(values, *_):
    """numpy's reading of a list: one value decides on the type of all."""
    array = np.asarray(values)
    if array.dtype.kind not in "iufb" or array.dtype.itemsize > 8:
        raise ParameterTypeError(f"values must be real numbers of at most 64 bits, got dtype {array.dtype}")
    return array


def _type_chooses_noise() -> contextlib.AbstractContextManager:
    from sfumato import noise

    real = noise._add

    def add(values, norm, bound, privacy, kind, integer):
        return real(values, norm, bound, privacy, kind, integer or np.asarray(values).dtype.kind in "iu")

    return mock.patch.object(noise, "_add", add)


def _surrogates() -> contextlib.AbstractContextManager:
    real = responses.declared_texts

    def declared_texts(values, column):
        for value in values:
            str(value).encode() if isinstance(value, str) else None
        return real(values, column)

    return mock.patch.object(responses, "declared_texts", declared_texts)


def _decimal_categories() -> contextlib.AbstractContextManager:
    real = columns.clean_series

    def clean_series(series, kind):
        if not isinstance(kind, Interval) and series.implementation.is_polars() and series.dtype.is_decimal():
            pa.array([value for value in series.to_list() if value in kind.categories], pa.float64(), from_pandas=False)
        return real(series, kind)

    return mock.patch.object(tables, "clean_series", clean_series)


def _identifiers_as_objects() -> contextlib.AbstractContextManager:
    return mock.patch.multiple(
        tables,
        coded=lambda series: [(series.to_list(), np.arange(len(series)))],
        arrow_coded=lambda values: [(values.to_pylist(), np.arange(len(values)))],
    )


def _names_as_text() -> contextlib.AbstractContextManager:
    """Bytes that are no UTF-8 are replaced, and persons become one."""
    return mock.patch.object(
        files.CsvFile, "stored", lambda self, name: (batch.column(name) for batch in self.batches([name], {}))
    )


def _hashed() -> contextlib.AbstractContextManager:
    def coded(series):
        keys = series.to_list() if series.dtype == "Object" else [str(value) for value in series.to_list()]
        return [(keys, np.arange(len(keys)))]

    return mock.patch.object(tables, "coded", coded)


def _owners_are_mixed() -> contextlib.AbstractContextManager:
    real = persons._order
    return mock.patch.object(persons, "_order", lambda owners, *hashes: real(*hashes))


def _rows_in_turn() -> contextlib.AbstractContextManager:
    """A row is hashed with its place in the table, which others move."""
    real = persons._absorb

    def absorb(first, second, asked, kinds, read):
        real(first, second, asked, kinds, read)
        first ^= np.flatnonzero(asked).astype(np.uint64) << np.uint64(40)
        first[:] = persons.stirred(first)

    return mock.patch.object(persons, "_absorb", absorb)


def _text_is_text() -> contextlib.AbstractContextManager:
    real = cells._arrow_positions

    def positions(values, categories):
        pc.cast(pc.cast(values, pa.large_binary()), pa.large_string())
        return real(values, categories)

    return mock.patch.object(cells, "_arrow_positions", positions)


def _warned() -> contextlib.AbstractContextManager:
    stack = contextlib.ExitStack()  # two nets: what warns, and what keeps it silent
    stack.enter_context(mock.patch.object(columns, "array_doubles", lambda values: values.astype(np.float64)))
    stack.enter_context(mock.patch("sfumato.pipeline.silently", contextlib.nullcontext))
    return stack


def _printed() -> contextlib.AbstractContextManager:
    real = Interval.clean

    def clean(self, values):
        if np.isnan(values).any():
            sys.stderr.write("some values are missing\n")
        return real(self, values)

    return mock.patch.object(Interval, "clean", clean)


def _sorted_rows() -> contextlib.AbstractContextManager:
    real = files.CsvFile.whole
    return mock.patch.object(files.CsvFile, "whole", lambda self, declared: real(self, declared).sort_by("x"))


def _gaps_are_others() -> contextlib.AbstractContextManager:
    return mock.patch.object(records, "column", np.asarray)


def _frames_are_arrays() -> contextlib.AbstractContextManager:
    return mock.patch.object(values, "parts_of", return_value=None)


def _columns_are_arrays() -> contextlib.AbstractContextManager:
    return mock.patch.object(values, "column", lambda given: np.asarray(type(given).__array__(given)))


def _rows_have_a_form() -> contextlib.AbstractContextManager:
    def row(readers, names, record):
        found = list(record) if np.iterable(record) and not isinstance(record, str | bytes) else [record]
        if len(found) != len(names):
            raise SchemaError(f"a record must have {len(names)} values, got {len(found)}")
        return [read(value) for read, value in zip(readers, found, strict=True)]

    return mock.patch.object(records, "_row", row)


def _rows_are_read_whole() -> contextlib.AbstractContextManager:
    def rows_of(rows, width):
        found = np.full((len(rows), width), np.nan)
        for place, row in enumerate(rows):
            read = values.doubles(row if type(row) is not range or row.stop < 2**60 else list(row))
            found[place] = read if read.shape == (width,) else np.nan
        return found

    return mock.patch.object(inputs, "rows_of", rows_of)


@contextlib.contextmanager
def _short_blocks() -> Iterator[None]:
    with mock.patch.object(lines, "BLOCK", 16), mock.patch.object(local_people, "AT_ONCE", 4):
        yield


@contextlib.contextmanager
def _batches_end_with_blocks() -> Iterator[None]:
    def read_people(path, box):
        for found in tables.open_table(str(path), box, "row").batches(box, 4):
            yield local_people.People(box.names, tuple(map(np.asarray, found)))

    with _short_blocks(), mock.patch.object(local_people, "read_people", read_people):
        yield


def _keys(made: dict[type, Callable], names: str = "object") -> Hole:
    """Other keys of some types, where persons are mostly told apart by such objects."""

    @contextlib.contextmanager
    def hole():
        families = [family for family in hostile.ALIASES if type(family[0]) in made]
        usual = ("float64", "category", "arrow text")
        objects = [kind for kind in hostile.PANDAS if kind.name in usual or kind.name.startswith(names)]
        with (
            mock.patch.multiple(reading, ALIASES=families or hostile.ALIASES, PANDAS=objects),
            mock.patch.dict(columns._KEYS, made),
        ):
            yield

    return hole


def _told_apart(value):
    return type(value).__name__, repr(value)


def _confined(caught: type[BaseException] = BaseException, warned: bool = False, printed: bool = False) -> Hole:
    """Code of a value's own, which is not kept from something."""

    def confined(default, function, *given):
        with contextlib.suppress(caught), contextlib.ExitStack() as stack:
            if not warned:
                stack.enter_context(values.silently())
            if not printed:
                stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            return function(*given)
        return default

    @contextlib.contextmanager
    def hole():
        wrapped = values.doubles.__wrapped__
        with mock.patch.object(values, "confined", confined), mock.patch("sfumato.noise.doubles", wrapped):
            yield

    return hole


def _types_are_asked() -> contextlib.AbstractContextManager:
    known = {int, float, str, bool, type(None)}

    def asked(value, default, function, *given):
        if type(value) not in known:
            return values.confined(default, function, *given)
        with contextlib.suppress(Exception):
            return function(*given)
        return default

    return mock.patch.object(values, "asked", asked)


@contextlib.contextmanager
def _pieces_end_with_blocks() -> Iterator[None]:
    real = files.CsvFile.whole

    def whole(self, declared):
        found = list(self.batches(self.names, declared))
        return pa.Table.from_batches(found) if found else real(self, declared)

    with _short_blocks(), mock.patch.object(files.CsvFile, "whole", whole):
        yield


def _types_from_values() -> contextlib.AbstractContextManager:
    return mock.patch.object(columns, "_type_of", lambda series: series.dtype)


def _labels_looked_at() -> contextlib.AbstractContextManager:
    stack = contextlib.ExitStack()  # two nets: what takes labels off, and what does not ask narwhals, who looks at them
    stack.enter_context(mock.patch.object(tables, "tabular", lambda data: data))
    stack.enter_context(_types_from_values())
    return stack


def _dictionaries_are_read() -> contextlib.AbstractContextManager:
    return mock.patch.multiple(
        files, _without_dictionaries=dict, _fails_for_some_values=lambda kind: "[0]" in str(kind)
    )


def _polars_makes_texts() -> contextlib.AbstractContextManager:
    real = columns._polars_identifiers

    def found(native):
        return native.to_list() if native.dtype in (pl.String, pl.Categorical) else real(native)

    return mock.patch.multiple(columns, _polars_identifiers=found, _OF_POLARS=set())


def _polars_makes_objects() -> contextlib.AbstractContextManager:
    real = values.column

    def column(given):
        return real(given.to_list() if isinstance(given, pl.Series) and given.dtype == pl.String else given)

    return mock.patch.object(values, "column", column)


def _dates_are_objects() -> contextlib.AbstractContextManager:
    """By way of Python's calendar, which ends in the year 9999."""
    real = columns.arrow_days

    def arrow_days(given):
        return dates.days_of_array(np.array(given.to_pylist(), dtype=object)) if len(given) else real(given)

    return mock.patch.object(columns, "arrow_days", arrow_days)


def _first_date_decides() -> contextlib.AbstractContextManager:
    """How dates are written is inferred, as pandas does."""

    def text_days(given):
        texts = [str(text) for text in pc.cast(given, pa.large_binary()).to_pylist()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return dates.days_of_array(pd.to_datetime(pd.Series(texts).str[2:-1], errors="coerce", utc=True).to_numpy())

    return mock.patch.object(columns, "_text_days", text_days)


def _gaps_make_doubles() -> contextlib.AbstractContextManager:
    """A gap among whole numbers makes doubles of the others, which do not hold nanoseconds."""

    def counted(counts, unit):
        found = counts.to_numpy() if isinstance(counts, pa.ChunkedArray) else counts.to_numpy(False)
        whole = np.where(np.isnan(found), np.iinfo(np.int64).min, found) if found.dtype.kind == "f" else found
        with np.errstate(all="ignore"):
            return dates.days_of_counts(whole.astype(np.int64), unit)

    return mock.patch.object(columns, "_counted_days", counted)


def _extensions_are_read() -> contextlib.AbstractContextManager:
    return mock.patch.object(values, "_OF_POLARS", {*values._OF_POLARS, "Extension"})


@contextlib.contextmanager
def _targets_packed() -> Iterator[None]:
    """What is mostly 0 is kept as compressed rows, also if passes do not take it so."""
    real = memory._packed

    def packed(given: list) -> list:
        return [part for one in given for part in real([one])]

    with _few_features(), mock.patch.object(memory, "_packed", packed):
        yield


def _beyond_the_matrix() -> contextlib.AbstractContextManager:
    def written(matrix, start, stop):
        bounds = matrix.indptr[start : stop + 1].astype(np.int64)
        part = slice(int(bounds[0]), int(bounds[-1]))
        return np.diff(bounds), matrix.indices[part].astype(np.int64), matrix.data[part]

    return mock.patch.object(sparse, "_written", written)


OWN, NOISE = named("a caller's statistic"), named("noise", "whole noise")
DATED = named("a caller's statistic of dates")
REPORTS = [door for door in DOORS if door.kind == "reports"]
ESTIMATORS = named("PrivateLogisticRegression", "PrivateRidge", "PrivateKernelDensity")
HOLES: dict[str, tuple[Hole, list, str]] = {
    "a torn line that is no UTF-8 raises": (_undecodable, named("mean"), "csv"),
    "a torn line is given last": (_regular(_torn_last), OWN, "csv"),
    "a torn line is dropped": (_regular(_torn_dropped), named("mean"), "csv"),
    "an unclosed quote swallows lines": (_quotes_span_lines, named("count"), "csv"),
    "the first record of a file without a header is shown": (_header_shown, named("mean"), "csv without a header"),
    "a private number of rows is refused": (_too_many_rows, named("mean", "sum"), "pandas"),
    "a private number of rows wraps around": (_wrapped_sums, named("sum", "count"), "arrow"),
    "a value's type decides on the noise": (_type_chooses_noise, NOISE, "numbers"),
    "a value's type is refused by noise": (
        lambda: mock.patch("sfumato.noise.doubles", lambda v: _real_numbers(v).astype(np.float64)), NOISE, "numbers"),
    "a value's type is refused by a choice": (
        lambda: mock.patch("sfumato.selection.doubles", _real_numbers), named("select"), "numbers"),
    "a list of rows is read as an array": (
        lambda: mock.patch.object(inputs, "rows_of", _real_numbers), ESTIMATORS, "lists"),
    "half of a surrogate pair raises": (_surrogates, named("PrivateNaiveBayes"), "lists"),
    "categories that are decimals are printed": (_decimal_categories, named("black box"), "polars"),
    "identifiers are Python's objects": (_identifiers_as_objects, named("mean"), "arrow"),
    "identifiers are Python's objects, in polars": (_identifiers_as_objects, named("mean"), "polars"),
    "identifiers are Python's objects, in files": (_identifiers_as_objects, named("mean"), "parquet"),
    "identifiers in another encoding become one": (_names_as_text, OWN, "csv"),
    "the labels of rows are looked at": (_labels_looked_at, named("black box", "summary"), "pandas"),
    "identifiers that cannot be compared raise": (_hashed, named("mean"), "pandas"),
    "rows of persons are sorted with those of others": (_owners_are_mixed, OWN, "pandas"),
    "where others stand decides which rows count": (_rows_in_turn, OWN, "arrow"),
    "text that is no UTF-8 raises": (_text_is_text, named("proportions"), "arrow"),
    "a warning depends on values": (_warned, named("mean"), "array"),
    "a printed line depends on values": (_printed, named("mean"), "pandas"),
    "rows are sorted": (_sorted_rows, OWN, "csv"),
    "a gap is read as somebody else's value": (_gaps_are_others, REPORTS, "arrow"),
    "a column is asked for an array": (_columns_are_arrays, NOISE, "series"),
    "a frame is asked for an array": (_frames_are_arrays, NOISE, "frames of numbers"),
    "a row of another form is refused": (_rows_have_a_form, REPORTS, "lists"),
    "a row is read before its length is": (_rows_are_read_whole, ESTIMATORS, "lists"),
    "batches end where blocks of bytes do": (_batches_end_with_blocks, named("command local encode"), "csv"),
    "identifiers of pandas' own types are nobody's": (
        _keys({pd.Timestamp: lambda _: None}, "object moments"), OWN, "pandas"),
    "a structured identifier is as many persons as rows": (
        _keys({np.void: lambda value: value.item()}), named("count", "sum"), "pandas"),
    "an identifier compares as it likes": (
        _keys({pd.Interval: lambda value: value}, "object intervals"), named("count", "sum"), "pandas"),
    "an identifier is asked for its zone": (
        _keys({datetime.datetime: instants.instant, datetime.time: columns._clock}), named("count", "sum"), "pandas"),
    "extensions of polars are names": (_extensions_are_read, named("mean"), "polars"),
    "extensions of polars are numbers": (_extensions_are_read, NOISE, "series"),
    "a row that is a column is taken apart": (
        lambda: mock.patch.object(records, "is_array", return_value=False), REPORTS, "lists"),
    "decimals that are stored as bytes are read": (
        lambda: mock.patch.object(files.ParquetFile, "_check_decimals"), OWN, "parquet"),
    "a value exits": (_confined(Exception), NOISE, "numbers"),
    "a value exits from a row": (_confined(Exception), ESTIMATORS, "lists"),
    "a value exits from a report": (_confined(Exception), REPORTS, "lists"),
    "a value warns": (_confined(warned=True), NOISE, "numbers"),
    "a value prints": (_confined(printed=True), NOISE, "numbers"),
    "a value's type is asked": (_types_are_asked, NOISE, "numbers"),
    "a table has pieces where blocks of bytes end": (_pieces_end_with_blocks, OWN, "csv"),
    "the type of a column is sought among its values": (_types_from_values, named("proportions", "count"), "pandas"),
    "a dictionary in a file is read as one": (_dictionaries_are_read, named("proportions", "mean"), "parquet"),
    "a dictionary that nobody asked for is read as one": (_dictionaries_are_read, OWN, "parquet"),
    "lists of no values are read": (
        lambda: mock.patch.object(files, "_fails_for_some_values", return_value=False), OWN, "parquet"),
    "polars makes texts of bytes": (_polars_makes_texts, named("proportions"), "polars"),
    "polars makes names of bytes": (_polars_makes_texts, named("mean"), "polars"),
    "polars makes objects of bytes": (_polars_makes_objects, NOISE, "frames of numbers"),
    "who is masked is somebody": (
        lambda: mock.patch.object(tables, "array_coded", lambda names, hidden: columns.array_coded(names)),
        named("a caller's statistic of numbers"), "array"),
    "views are picked": (
        lambda: mock.patch.object(tables, "_without_views", lambda frame: frame), named("mean", "count"), "pandas"),
    "numbers that are no letters raise": (
        lambda: mock.patch.object(records, "letters", lambda given: given), named("reports of a category"), "texts"),
    "dates are Python's objects": (_dates_are_objects, named("mean of dates"), "arrow"),
    "dates in a file are Python's objects": (_dates_are_objects, named("mean of dates"), "parquet"),
    "the first date decides how all are written": (_first_date_decides, DATED, "csv"),
    "a gap among dates makes doubles of the others": (_gaps_make_doubles, DATED, "arrow"),
    "letters of dates are not looked at": (
        lambda: mock.patch.object(dates, "letters", lambda given: given), named("mean of dates"), "dict"),
    "numbers that are no letters raise in a column": (
        lambda: mock.patch.object(records, "letters", lambda given: given), named("reports of a category"), "dict"),
    "a list among columns is read as an array": (
        lambda: mock.patch.object(tables, "objects", np.asarray), named("mean", "a caller's statistic"), "dict"),
    "Arrow finds a type for the objects of a table that an account is bound to": (
        lambda: mock.patch.object(contents, "as_frame", lambda data: frames.as_frame(pa.table(data))),
        named("data of an account"), "pandas"),
    "pandas finds a type for an array of objects": (
        lambda: mock.patch.object(columns, "_as_series", lambda data, _: pd.Series(data)),
        named("proportions", "mean of dates"), "dict"),
    "responses in the middle of a range are left out": (_targets_packed, named("ridge", "PrivateRidge"), "array"),
    "a value beyond a sparse array is another record's": (
        _beyond_the_matrix, named("a caller's statistic of numbers", "mean"), "sparse"),
    "an entry that no dictionary has is looked for": (
        lambda: mock.patch.object(values, "entries_of", lambda places, _: places), named("proportions"), "arrow"),
    "identifiers are as many persons as units": (
        _keys({np.datetime64: _told_apart, datetime.datetime: _told_apart}), named("count", "sum"), "pandas"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a panic of polars leaves another error
@pytest.mark.few(5)
@pytest.mark.parametrize("name", HOLES)
def test_a_hole_that_is_put_back_is_found(name):
    hole, doors, container = HOLES[name]
    check(fuzz(2 * CHANGES, seed=16, doors=doors, container=container))  # as it is, nothing is found
    with hole():
        assert fuzz(6000, seed=16, doors=doors, container=container).failures  # it ends with the first
