"""Files are streamed: opening one reads the schema, counting it takes one pass, and both give the same records."""

import csv
import gzip
import io
import math
import os
import subprocess
import sys
import tracemalloc
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import sfumato as sf
from effort import share
from opening import counted
from sfumato.engines import files, lines
from sfumato.engines.cells import Cells
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Counts
from sfumato.engines.tables import open_table
from sfumato.errors import SchemaError

AGE = sf.Box({"age": (0, 110)})
SEX = sf.Box({"sex": sf.Categorical(["f", "m"])})
BOTH = sf.Box({"age": (0, 110), "sex": sf.Categorical(["f", "m"])})


def count(data, box=AGE, shape=(11,), unit="row", **settings):
    rows, counts = counted(data, box, shape, unit, MemoryEngine(**settings))
    return rows, counts.tolist()


def write(path, columns, **settings):
    parquet.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **settings)
    return path


def spied(passes, name, method):
    def spy(self, *columns):
        passes.append((name, *columns[:1]))
        return method(self, *columns)

    return spy


@pytest.fixture
def reads(monkeypatch):
    """Which columns have been read, one entry for each pass over a file."""
    passes = []
    for kind in (files.CsvFile, files.ParquetFile):
        for name in ("batches", "whole", "stored", "rows"):
            monkeypatch.setattr(kind, name, spied(passes, name, getattr(kind, name)))
    return passes


# --- only what is needed is read --------------------------------------------------------------------------------


@pytest.fixture(params=["t.csv", "t.parquet"])
def path(request, tmp_path):
    ages, sexes, ids = [5.0, 15.0, 500.0, 25.0], ["f", "m", "x", "m"], ["a", "b", "a", "a"]
    if request.param == "t.parquet":
        return write(tmp_path / request.param, {"age": ages, "sex": sexes, "id": ids})
    lines = [f"{age},{sex},{name}" for age, sex, name in zip(ages, sexes, ids, strict=True)]
    (tmp_path / request.param).write_text("age,sex,id\n" + "\n".join(lines) + "\n")
    return tmp_path / request.param


def test_opening_a_file_reads_no_record(path, reads):
    table = open_table(path, BOTH, "row")
    assert reads == []
    assert repr(table).startswith("<private table of ")


def test_counting_takes_one_pass_over_the_columns_of_the_box(path, reads):
    records = MemoryEngine().open(path, AGE, "row")
    counts = MemoryEngine().fold(records, Counts(Cells(AGE, (11,))))
    assert counts.counts((11,)).tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert [tuple(entry[1]) for entry in reads] == [("age",)]
    assert records.rows == counts.rows == 4
    assert len(reads) == 1  # the rows have been counted on the way


def test_rows_are_counted_if_nobody_has_read_them(path, reads):
    table = open_table(path, AGE, "row")
    assert table.rows == table.rows == 4
    assert reads == [("rows",)]


def test_the_whole_is_read_once_and_cleaned(path, reads):
    table = open_table(path, BOTH, "row")
    assert table.native is table.native
    assert table.native["age"].to_pylist() == [5.0, 15.0, 110.0, 25.0]
    assert table.native["sex"].to_pylist() == ["f", "m", None, "m"]
    assert table.native["id"].to_pylist() == ["a", "b", "a", "a"]
    passes = len(reads)
    assert [name for name, *_ in reads].count("whole") == 1
    assert table.rows == 4
    assert len(reads) == passes


def test_a_pass_may_be_left_early(path):
    for _ in open_table(path, AGE, "row").batches(AGE, 1):
        break


@pytest.mark.parametrize("rows", [1, 2, 1000])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_persons_keep_so_many_rows(path, rows, most, reads):
    engine = MemoryEngine(chunk_rows=rows)
    opened = engine.open(path, BOTH, sf.Person("id", most))
    table = opened.whole()
    assert reads[0] == ("stored", "id")  # to tell them apart
    more = [names for _, names in reads[1:] if names != ["id"]]
    assert more == ([] if most == 3 else [("age", "sex")])  # once, if need be
    counts = engine.fold(opened, Counts(Cells(BOTH, (11, 2))))
    native = table.native
    assert counts.rows == table.rows == native.num_rows == 1 + most
    assert native["id"].to_pylist().count("a") == most and native["id"].to_pylist().count("b") == 1
    found = [place for place in zip(native["age"].to_pylist(), native["sex"].to_pylist(), strict=True) if place[1]]
    wanted = [[min(int(age / 10), 10), "fm".index(sex)] for age, sex in found]
    assert np.argwhere(counts.counts((11, 2))).tolist() == sorted(wanted)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_identifiers_that_are_no_text_stay_different(ending, tmp_path):
    lines = ["age,id", "5,M\xfcller", "15,M\xf6ller", '5,"M\xfcller"', "35,M\ufffdller", ""]
    (tmp_path / "t.csv").write_bytes(ending.join(lines).replace("\ufffd", "?").encode("latin-1"))
    assert records(tmp_path / "t.csv", AGE, sf.Person("id", 1)) == [(5.0,), (15.0,), (35.0,)]


def test_the_identifier_of_a_file_must_be_a_column(path):
    with pytest.raises(SchemaError, match="persons"):
        open_table(path, AGE, sf.Person("name", 1))


def test_a_box_of_other_columns_is_refused_when_counting(path):
    with pytest.raises(SchemaError, match="'x0'"):
        counted(path, sf.Box([(0, 1)]), (2,))


# --- Parquet ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.decimal128(5, 2), pa.decimal256(50, 2)),
    ],
    ids=str,
)
def test_parquet_numbers_of_any_type(kind, tmp_path):
    values = [Decimal(v) for v in (5, 15, 105)] if pa.types.is_decimal(kind) else [5, 15, 105]
    values = np.array(values, np.float16) if kind == pa.float16() else values
    column = pa.concat_arrays([pa.array(values, kind), pa.nulls(2, kind)])
    file = write(tmp_path / "t.parquet", {"age": column})
    assert count(file) == (5, [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    assert open_table(file, AGE, "row").native["age"].to_pylist()[:3] == [5.0, 15.0, 105.0]


def test_booleans_are_numbers(tmp_path):
    file = write(tmp_path / "t.parquet", {"age": [True, False, None, True]})
    assert count(file, sf.Box({"age": (0, 1)}), (2,)) == (4, [1, 2])


@pytest.mark.parametrize(
    "column",
    [["1", "2"], [date(2020, 1, 1)], [[1.0]], [{"x": 1.0}], [None], [b"1"], pa.array(["1"]).dictionary_encode()],
    ids=str,
)
def test_parquet_columns_that_are_not_numeric_are_refused_when_opened(column, tmp_path):
    with pytest.raises(SchemaError, match="'age' must be numeric"):
        open_table(write(tmp_path / "t.parquet", {"age": column}), AGE, "row")


@pytest.mark.parametrize("column", [[1], [True], [date(2020, 1, 1)], [None], [b"f"]], ids=str)
def test_parquet_columns_that_are_not_text_are_refused_when_opened(column, tmp_path):
    with pytest.raises(SchemaError, match="'sex' must hold text"):
        open_table(write(tmp_path / "t.parquet", {"sex": column}), SEX, "row")


def test_parquet_text_of_any_type(tmp_path):
    texts = pa.array(["m", "f", None, "x", "m"])
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        file = write(tmp_path / "t.parquet", {"sex": texts.cast(kind)}, row_group_size=2)
        assert count(file, SEX, (2,)) == (5, [1, 2])
        assert open_table(file, SEX, "row").native["sex"].to_pylist() == ["m", "f", None, None, "m"]


def test_hostile_numbers_in_a_parquet_file(tmp_path):
    values = [math.nan, math.inf, -math.inf, 1e308, -1e308, None, 5e-324, 110.0]
    assert count(write(tmp_path / "t.parquet", {"age": values})) == (8, [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3])


def test_a_folder_of_parquet_files(tmp_path):
    (tmp_path / "t.parquet").mkdir()
    write(tmp_path / "t.parquet" / "a.parquet", {"age": [5.0]})
    write(tmp_path / "t.parquet" / "b.parquet", {"age": [15.0, 5.0]})
    assert count(tmp_path / "t.parquet")[1][:2] == [2, 1]


def test_names_of_folders_are_not_read(tmp_path):
    """``age=30`` and ``age=unknown`` would let one record decide on the type of all."""
    for name in ("age=01", "age=1", "age=a"):
        (tmp_path / "t.parquet" / name).mkdir(parents=True)
        write(tmp_path / "t.parquet" / name / "a.parquet", {"bmi": [20.0]})
    with pytest.raises(SchemaError, match="'age'"):
        open_table(tmp_path / "t.parquet", AGE, "row")
    assert open_table(tmp_path / "t.parquet", sf.Box({"bmi": (10, 60)}), "row").native.column_names == ["bmi"]


@pytest.mark.parametrize("values", [[1.0], [1.5], [math.nan], [2.0**60]])
def test_files_of_a_folder_have_the_same_types(values, tmp_path):
    """Whether numbers can be cast to another file's type depends on them."""
    (tmp_path / "t.parquet").mkdir()
    write(tmp_path / "t.parquet" / "a.parquet", {"age": [1, 2]})
    write(tmp_path / "t.parquet" / "b.parquet", {"age": values})
    with pytest.raises(SchemaError, match="same columns, of the same types"):
        open_table(tmp_path / "t.parquet", AGE, "row")


def test_a_folder_streams(tmp_path, monkeypatch):
    """One piece of one file at a time; the whole is never asked for."""
    (tmp_path / "t.parquet").mkdir()
    for part in range(5):
        write(tmp_path / "t.parquet" / f"{part}.parquet", {"age": np.full(40, 10.0 * part)}, row_group_size=10)
    monkeypatch.setattr(files, "_BATCH", 16)
    monkeypatch.setattr(files.ParquetFile, "whole", lambda *_: pytest.fail("all of it was read at once"))
    batches = [columns[0].tolist() for columns in open_table(tmp_path / "t.parquet", AGE, "row").batches(AGE, 1000)]
    assert [len(batch) for batch in batches] == [16, 16, 8] * 5 and sum(map(sum, batches)) == 40 * 100
    assert count(tmp_path / "t.parquet") == (200, [40, 40, 40, 40, 40, 0, 0, 0, 0, 0, 0])


def test_a_folder_is_read_file_by_file_in_order(tmp_path):
    (tmp_path / "t.parquet" / "more").mkdir(parents=True)
    for name, ages in (("b", [15.0]), ("a", [5.0, 6.0]), ("more/c", [25.0])):
        write(tmp_path / "t.parquet" / f"{name}.parquet", {"age": ages})
    (tmp_path / "t.parquet" / "_SUCCESS").write_text("")
    assert [age for (age,) in records(tmp_path / "t.parquet", AGE)] == [5.0, 6.0, 15.0, 25.0]
    table = open_table(tmp_path / "t.parquet", AGE, "row")
    assert table.rows == 4
    assert table.native["age"].to_pylist() == [5.0, 6.0, 15.0, 25.0]
    (tmp_path / "empty.parquet").mkdir()
    with pytest.raises(SchemaError, match="no such file"):
        open_table(tmp_path / "empty.parquet", AGE, "row")


def test_two_parquet_columns_of_one_name_are_refused(tmp_path):
    both = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["age", "age"])
    with pytest.raises(SchemaError, match="same name"):
        open_table(write(tmp_path / "t.parquet", both), AGE, "row")


def test_a_file_that_breaks_off_is_an_error_wherever_it_is_read(tmp_path):
    file = write(tmp_path / "t.parquet", {"age": np.random.default_rng(0).normal(size=10_000)})
    content = bytearray(file.read_bytes())
    content[4:2000] = bytes(1996)  # the first page; the schema stands at the end
    file.write_bytes(content)
    target = sf.BlackBox(lambda data: lambda x: 0 * x[:, 0], sensitivity=1.0)
    for read in (
        lambda: count(file),
        lambda: open_table(file, AGE, "row").native,
        lambda: sf.release(target, file, AGE, sf.Privacy(epsilon=1.0), basis=sf.Bernstein(degree=2)),
    ):
        with pytest.raises(SchemaError, match="cannot be read"):
            read()


def test_a_compressed_csv_file_that_breaks_off_is_an_error(tmp_path):
    whole = gzip.compress(b"age\n" + b"".join(b"%d\n" % (i * i % 1009) for i in range(50_000)))
    (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SchemaError, match="cannot be read"):
        count(tmp_path / "t.csv.gz")


# --- CSV: blocks do not matter ----------------------------------------------------------------------------------

LINES = [
    *("5,f\n", "15,m\r\n", "x,f\n", ",\n", "\n", "torn\n", "1,2,3\n", '"7","m"\n', '"8\n",f\n', '9,"f"\n', "1e999,f\n"),
    *('"a,b",m\n', '"say ""hi""",f\n', "nan,f\n", "  30 ,m\n", "40,\xff\n"),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("block", [1, 48, 101, 2**20])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_blocks_do_not_matter(block, ending, start, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", block)
    chosen = np.random.default_rng(3).choice(LINES, 500)
    text = (start + "age,sex\n").encode() + "".join(chosen).encode("latin-1")
    file = tmp_path / f"t{ending}"
    file.write_bytes(gzip.compress(text) if ending == ".csv.gz" else text)
    times = {line: int((chosen == line).sum()) for line in LINES}
    rows, found = count(file, BOTH, (11, 2), chunk_rows=7)
    assert rows == len(open_table(file, BOTH, "row").native) == 500 + times['"8\n",f\n']  # that is two lines
    expected = np.zeros((11, 2), dtype=int)
    places = {"5,f\n": (0, 0), "15,m\r\n": (1, 1), '"7","m"\n': (0, 1), '9,"f"\n': (0, 0), "1e999,f\n": (10, 0)}
    for line, place in (places | {"  30 ,m\n": (3, 1)}).items():
        expected[place] += times[line]
    assert found == expected.tolist()


@given(st.lists(st.sampled_from([*LINES[:10], '"', '"\n', "a", ",", "\r"]), max_size=30))
def test_streaming_gives_the_records_of_the_whole(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("csv") / "t.csv"
    file.write_text("age,sex\n" + "".join(text), newline="")
    with pytest.MonkeyPatch.context() as patch:
        whole = open_table(file, BOTH, "row").native
        patch.setattr(lines, "BLOCK", 64)
        table = open_table(file, BOTH, "row")
        found = [np.zeros(0), *(columns[0] for columns in table.batches(BOTH, 5))]
    assert np.array_equal(AGE.columns[0].clean(np.concatenate(found)), whole["age"].to_numpy(), equal_nan=True)
    assert table.rows == open_table(file, BOTH, "row").rows == len(whole)


def records(file, box=BOTH, unit="row"):
    table = open_table(file, box, unit)
    return [record for columns in table.batches(box, 3) for record in zip(*map(_listed, columns), strict=True)]


def _listed(column):
    return column.to_pylist() if hasattr(column, "to_pylist") else [None if v != v else v for v in column.tolist()]


TORN = [
    *(b"torn", b"1,2,3", b"", b"\r", b",", b'"', b'"5', b'5,"open', b'5,"open\r', b'5,"a"b', b'"5,f', b"5,f,", b"\x00"),
    *(
        b"41,M,\xfcller",
        b"\xfc",
        b"\xff\xfe,\x00,",
        b'"\xfc',
        b"5\r,f,g",
        b'"a\rb',
        b"," * 5000,
        b'"' * 4999,
        b"x" * 9999,
    ),
]


@pytest.mark.few(24)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("line", TORN)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_torn_line_is_a_record_without_values_in_its_place(line, place, ending, tmp_path):
    """Refused, it would be a free answer; given elsewhere or left out, it would move all records after it."""
    others = [b"5,f", b"15,m", b"25,f", b"35,m"]
    content = ending.join([b"age,sex", *others[:place], line, *others[place:], b""])
    (tmp_path / "t.csv").write_bytes(content)
    found = records(tmp_path / "t.csv")
    rest = [(5.0, "f"), (15.0, "m"), (25.0, "f"), (35.0, "m")]
    assert found[:place] + found[place + 1 :] == rest
    assert found[place] == (None, "")
    table = open_table(tmp_path / "t.csv", BOTH, "row")
    assert table.rows == len(table.native) == 5
    assert table.native["age"].to_pylist()[:place] == [age for age, _ in rest[:place]]


def test_an_unclosed_quote_spoils_one_record(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex\n" + "5,f\n" * 500 + '5,"f\n' + "5,f\n" * 499)
    assert count(tmp_path / "t.csv", BOTH, (11, 2)) == (1000, [[999, 0], *[[0, 0]] * 10])


def test_a_byte_order_mark_is_skipped_nowhere_but_in_the_header(tmp_path, monkeypatch):
    """Arrow skips one at the start of what it is given, and what that is depends on the lengths of other records."""
    monkeypatch.setattr(lines, "BLOCK", 64)
    for length in range(0, 70, 70 // share(70)):
        content = [b"\xef\xbb\xbfage,sex", b"5,f" + b" " * length, *[b"\xef\xbb\xbf15,m"] * 20, b"25,f", b""]
        (tmp_path / "t.csv").write_bytes(b"\n".join(content))
        assert [age for age, _ in records(tmp_path / "t.csv")] == [5.0, *[None] * 20, 25.0]
        assert records(tmp_path / "t.csv", AGE, sf.Person("age", 1)) == [(5.0,), (None,), (25.0,)]


@pytest.mark.few(1)
@pytest.mark.parametrize("multiline", [False, True])
def test_which_record_is_too_long_does_not_depend_on_others(multiline, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 2**6)
    monkeypatch.setattr(lines, "LONGEST", 2**8)
    for size in (2**8 - 2, 2**8 - 1, 2**8, 2**8 + 1, 300, 383, 500):
        found = set()
        for length in range(1, 70, 70 // share(23)):
            (tmp_path / "t.csv").write_bytes(
                b"age,sex\n" + b"5,f".ljust(length) + b"\n" + b"15,m".ljust(size) + b"\n25,f\n"
            )
            _, middle, last = records(sf.Csv(tmp_path / "t.csv", multiline=multiline))
            assert last == (25.0, "f")
            found.add(middle[0])
        assert found == {15.0 if size < 2**8 else None}


def test_no_record_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 2**6)
    monkeypatch.setattr(lines, "LONGEST", 2**8)
    for long in (b"5,f" + b" " * 5000, b'"' + b"a," * 5000 + b'",f', b'"' * 10_001):
        for multiline in (False, True):
            (tmp_path / "t.csv").write_bytes(b"age,sex\n5,f\n" + long + b"\n15,m\n")
            file = sf.Csv(tmp_path / "t.csv", multiline=multiline)
            odd = multiline and long.count(b'"') % 2
            assert records(file) == [(5.0, "f"), (None, "")] + [(15.0, "m")] * (not odd)


@given(st.lists(st.binary(max_size=8).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.sampled_from([1, 2, 3]))
def test_each_line_is_read_as_if_it_were_alone(tmp_path_factory, content, cells):
    names = ["age", "sex", "other"][:cells]
    folder = tmp_path_factory.mktemp("csv")

    def read(chosen, name):
        (folder / name).write_bytes(b"\n".join([",".join(names).encode(), *chosen, b""]))
        return open_table(folder / name, sf.Box({"age": (0, 110)}), "row").native.cast(text).to_pylist()

    text = pa.schema([(name, pa.string()) for name in names])
    assert read(content, "all.csv") == [record for line in content for record in read([line], "one.csv")]


@given(st.lists(st.text('a1," \r', max_size=7), max_size=6), st.sampled_from([1, 2, 3]), st.booleans())
def test_lines_mean_what_the_standard_library_says(content, cells, ended):
    layout = lines.Layout(cells)
    content = content or ["a"]
    data = "\n".join(content).encode() + b"\n" * ended
    read = []
    for run in layout.runs(io.BytesIO(data)):
        regular, count = layout.regular(run)
        found = [row or [""] for row in csv.reader(io.StringIO(regular.decode(), newline=""), strict=True)]
        assert len(found) == count
        read += found
    whole = content if content[-1] or ended else content[:-1]
    assert read == [_standard(line, cells) for line in whole]


def _standard(line, cells):
    try:
        rows = list(csv.reader(io.StringIO(line + "\n", newline=""), strict=True))
    except csv.Error:
        return [""] * cells
    good = len(rows) == 1 and len(rows[0]) == cells
    return rows[0] if good else [""] * cells


def test_cells_span_lines_where_that_is_declared(tmp_path):
    text = 'age,sex\n5,"f\n"\n"15\n",m\n25,f\ntorn\n"1,\r\n",m\n35,"m"\n'
    (tmp_path / "t.csv").write_text(text, newline="")
    expected = [(5.0, "f\n"), (15.0, "m"), (25.0, "f"), (None, ""), (None, "m"), (35.0, "m")]
    for block in (1, 5, 2**20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lines, "BLOCK", block)
            found = records(sf.Csv(tmp_path / "t.csv", multiline=True))
            assert open_table(sf.Csv(tmp_path / "t.csv", multiline=True), BOTH, "row").rows == 6
        assert found == [(None if age == 15.0 else age, sex) for age, sex in expected]
    assert len(records(tmp_path / "t.csv")) == 9


def test_what_multiline_rests_on_is_said_in_the_guarantee(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex\n" + "5,f\n" * 20)
    for target in (sf.KDE(bandwidth=9.0), sf.Statistic("mean", "age"), sf.Statistic("median", "age")):
        for data, said in ((tmp_path / "t.csv", False), (sf.Csv(tmp_path / "t.csv", multiline=True), True)):
            release = sf.release(target, data, AGE, sf.Privacy(epsilon=1.0))
            assert any("span lines" in note for note in release.guarantee.assumptions) == said
            release.save(tmp_path / "r.sfumato")
            assert sf.load(tmp_path / "r.sfumato").guarantee == release.guarantee


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"path": 5}, sf.errors.ParameterTypeError, "path"),
        ({"path": "t.parquet"}, sf.errors.ParameterError, ".csv"),
        ({"path": "t.csv", "multiline": 1}, sf.errors.ParameterTypeError, "multiline"),
    ],
)
def test_a_csv_file_is_declared_with_a_path_and_a_truth_value(arguments, error, words):
    with pytest.raises(error, match=words):
        sf.Csv(**arguments)


@pytest.mark.parametrize("first", ["Zoe,47", "47,Zoe", "Zoe,f", "Zoe,Zoe", '"Zoe'])
def test_a_file_without_a_header_does_not_print_its_first_record(first, tmp_path):
    (tmp_path / "t.csv").write_text(f"{first}\n51,Yan\n")
    for box, unit in ((AGE, "row"), (BOTH, "row"), (AGE, sf.Person("id", 1))):
        with pytest.raises(SchemaError, match="first line must name the columns") as caught:
            open_table(tmp_path / "t.csv", box, unit)
        assert "Zoe" not in str(caught.value) and "47" not in str(caught.value)


def test_the_names_of_a_header_are_listed(tmp_path):
    (tmp_path / "t.csv").write_text("age,gender\n5,f\n")
    with pytest.raises(SchemaError, match="'gender'"):
        open_table(tmp_path / "t.csv", BOTH, "row")


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(SchemaError, match="cannot be read"):
        open_table(tmp_path / "t.csv", AGE, "row")


def test_every_line_is_a_record(tmp_path):
    # An empty one that was left out would change the number of records, which is public where one is replaced.
    (tmp_path / "t.csv").write_text("age,sex\n5,f\n\n6,m\n\n")
    assert count(tmp_path / "t.csv") == (4, [2] + [0] * 10)


@pytest.mark.parametrize("text", ["age\n", "\ufeffage\n", "age\r\n"])
def test_no_records(text, tmp_path):
    (tmp_path / "t.csv").write_text(text, newline="")
    assert count(tmp_path / "t.csv") == (0, [0] * 11)
    assert open_table(tmp_path / "t.csv", AGE, "row").rows == 0
    assert len(open_table(tmp_path / "t.csv", AGE, "row").native) == 0


def test_a_header_without_an_end_is_a_table_of_no_records(tmp_path):
    # Refused, it would tell that there are none, where their number is private.
    (tmp_path / "t.csv").write_text("age,sex")
    assert count(tmp_path / "t.csv") == (0, [0] * 11)
    (tmp_path / "t.csv").write_text("age," + "x" * 2**20)
    with pytest.raises(SchemaError, match="first line must name the columns"):
        open_table(tmp_path / "t.csv", AGE, "row")


def test_the_text_of_a_table_is_not_shown():
    with pytest.raises(SchemaError) as caught:
        open_table("age,sex\n5,Zoe\n", AGE, "row")
    assert "Zoe" not in str(caught.value)


def test_an_empty_line_of_one_column_is_a_missing_value(tmp_path):
    (tmp_path / "t.csv").write_text("age\n5\n\n15\n")
    assert count(tmp_path / "t.csv") == (3, [1, 1, *[0] * 9])


# --- memory -----------------------------------------------------------------------------------------------------


def test_an_array_is_not_copied():
    array = np.zeros(2_000_000)
    cells = Cells(sf.Box([(0, 1)]), (8,))
    tracemalloc.start()
    try:
        counted(array, cells.box, cells.shape)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


PEAK = """
import re, sys
import sfumato as sf
from sfumato.engines.cells import Cells
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Counts
box, engine = sf.Box({"x": (-4, 4)}), MemoryEngine()
counts = engine.fold(engine.open(sys.argv[1], box, "row"), Counts(Cells(box, (1000,))))
print(counts.rows, int(re.search("VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("kind", ["t.parquet", "one row group.parquet", "t.csv"])
def test_memory_does_not_grow_with_the_number_of_rows(kind, tmp_path):
    peaks = []
    for rows in (2_000_000, 20_000_000):
        file = tmp_path / kind
        if kind == "t.csv":
            file.write_text("x\n" + "0.123456789012\n-1.5\n" * (rows // 2))
        else:
            numbers = np.random.default_rng(0).normal(size=rows)
            write(file, {"x": numbers}, row_group_size=rows if "one" in kind else None)
            del numbers
        output = subprocess.run([sys.executable, "-c", PEAK, str(file)], capture_output=True, text=True, check=True)
        found, peak = output.stdout.split()
        assert int(found) == rows
        peaks.append(float(peak))
    assert peaks[1] - peaks[0] < 40  # MiB; the numbers alone are 137 MiB more
    print(kind, peaks)


# --- what Arrow reads from Parquet or not, as the values are ---------------------------------------------------------


def in_a_dictionary(*words):
    raw = pa.array(words, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers(), raw.null_count)
    return pa.DictionaryArray.from_arrays(pa.array(range(len(words)), pa.int8()), texts)


READ = pytest.mark.skipif(not files._without_dictionaries(), reason="an older pyarrow cannot")


@READ
@pytest.mark.parametrize("last", [b"m", b"\xff"])
def test_a_dictionary_that_holds_no_text_is_read_as_any_other(last, tmp_path):
    path = str(tmp_path / "words.parquet")
    parquet.write_table(pa.table({"age": [1.0, 2.0, 3.0], "sex": in_a_dictionary(b"f", b"m", last)}), path)
    assert count(path, SEX, (2,)) == (3, [1, 2 if last == b"m" else 1])
    assert count(path, unit=sf.Person("sex", 1))[0] == (2 if last == b"m" else 3)
    whole = open_table(path, AGE, "row").native  # also what nobody asked for
    assert whole["sex"].type == pa.large_string() and whole["sex"].cast(pa.large_binary())[2].as_py() == last


@READ
@pytest.mark.parametrize("last", [b"m", b"\xff"])
def test_dictionaries_inside_of_others_are_read(last, tmp_path):
    path, words = str(tmp_path / "words.parquet"), in_a_dictionary(b"f", last)
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), words)
    parquet.write_table(
        pa.table({"age": [1.0, 2.0], "l": lists, "s": pa.StructArray.from_arrays([words], ["a"])}), path
    )
    assert open_table(path, AGE, "row").native.num_rows == 2


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("values", [[], [None], [[]]])
def test_lists_of_no_values_are_refused_by_their_type(values, inside, tmp_path):
    path, kind = str(tmp_path / "lists.parquet"), pa.list_(pa.int64(), 0)
    column = pa.array(values, kind)
    column = pa.StructArray.from_arrays([column], ["a"]) if inside else column
    parquet.write_table(pa.table({"age": pa.array([1.0] * len(values)), "none": column}), path)
    with pytest.raises(SchemaError, match=r"column 'none' is of type .* as the values are"):
        open_table(path, AGE, "row")


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("last", [{"place": [3.0, 3.0]}, None])
def test_required_lists_of_fixed_length_inside_what_may_be_missing_are_refused_by_their_type(last, listed, tmp_path):
    path, place = str(tmp_path / "places.parquet"), pa.list_(pa.float64(), 2)
    kind = pa.struct([pa.field("place", place, nullable=False)])
    values = [{"place": [1.0, 1.0]}, last]
    column = pa.array([[value] for value in values], pa.list_(kind)) if listed else pa.array(values, kind)
    parquet.write_table(pa.table({"age": [1.0, 2.0], "where": column}), path)
    with pytest.raises(SchemaError, match=r"column 'where' is of type .* as the values are"):
        open_table(path, AGE, "row")
    kind = pa.struct([pa.field("place", place)])
    parquet.write_table(pa.table({"age": [1.0, 2.0], "where": pa.array(values, kind)}), path)
    assert open_table(path, AGE, "row").native.num_rows == 2  # as one that may be missing itself it is read


@pytest.mark.parametrize("last", [b"m", b"\xff"])
def test_an_older_pyarrow_refuses_dictionaries_by_their_type(last, tmp_path, monkeypatch):
    path = str(tmp_path / "words.parquet")
    parquet.write_table(pa.table({"age": [1.0, 2.0], "sex": in_a_dictionary(b"f", last)}), path)
    monkeypatch.setattr(files, "_without_dictionaries", dict)
    with pytest.raises(SchemaError, match="column 'sex' is of type dictionary"):
        open_table(path, AGE, "row")


# --- containers that are read for some values only ------------------------------------------------------------------


def write_decimals(path, values, kind):
    """Bytes in a Parquet file that says of them that they are decimals."""
    write(path, {"x": pa.array(values, kind)}, store_schema=False)
    whole = path.read_bytes()
    size = int.from_bytes(whole[-8:-4], "little")
    foot = whole[-8 - size : -8].replace(b"\x18\x01x", b"\x18\x01x" + bytes([0x25, 0x0A, 0x15, 4, 0x15, 20]), 1)
    path.write_bytes(whole[: -8 - size] + foot + len(foot).to_bytes(4, "little") + b"PAR1")
    return path


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, None], pa.binary(17)),
        ([None, (300).to_bytes(17, "big")], pa.binary(17)),
        ([b"\0\x64", b"\1\x2c"], pa.binary()),
        ([b"\0\x64", bytes(15) + b"\1\x2c"], pa.binary()),
    ],
)
def test_decimals_that_arrow_reads_for_some_values_are_refused_whatever_they_are(values, kind, tmp_path):
    """Once the first and the third were read, and their neighbours refused."""
    path = write_decimals(tmp_path / "t.parquet", values, kind)
    with pytest.raises(SchemaError, match="column 'x' is of type decimal in a"):
        files.ParquetFile(str(path))


@pytest.mark.parametrize("kind", [pa.decimal128(9, 2), pa.decimal128(38, 2), pa.decimal256(76, 2)])
def test_other_decimals_are_read(kind, tmp_path):
    path = write(tmp_path / "t.parquet", {"age": pa.array([Decimal(5), None], kind)})
    assert count(path) == (2, [1, *[0] * 10])
    short = write_decimals(tmp_path / "s.parquet", [(300).to_bytes(16, "big")], pa.binary(16))
    assert files.ParquetFile(str(short)).whole({}).column("x").to_pylist() == [Decimal(3)]


def test_a_damaged_gzip_is_no_table(tmp_path):
    """Once it was an error of zlib's."""
    whole = bytearray(gzip.compress(b"age\n" + b"".join(b"%d\n" % (i * 7919 % 1000) for i in range(20_000))))
    whole[len(whole) // 2] ^= 0xFF
    (tmp_path / "t.csv.gz").write_bytes(bytes(whole))
    with pytest.raises(SchemaError, match="cannot be read as a table"):
        count(tmp_path / "t.csv.gz")


def test_torn_lines_of_a_wide_file_are_written_anew_in_portions():
    """Each grows to as many cells as there are names: once without a bound."""
    layout = lines.Layout(2**16)
    runs = list(layout.runs(io.BytesIO(b"\n" * 5000)))
    assert b"".join(runs) == b"\n" * 5000
    assert max(map(len, runs)) * layout.cells <= lines.GROWN
    assert len(layout.regular(runs[0])[0]) <= lines.GROWN


@pytest.mark.parametrize("multiline", [False, True])
def test_portions_are_whole_records(multiline, monkeypatch):
    monkeypatch.setattr(lines, "GROWN", 4)
    given = b'1,"a\n2,b"\n' * 3 + b"3,c\n" * 3
    runs = list(lines.Layout(2, multiline=multiline).runs(io.BytesIO(given)))
    assert b"".join(runs) == given
    assert [run.count(b"\n") for run in runs] == ([4, 3, 2] if multiline else [2, 2, 2, 2, 1])


def test_a_function_is_given_a_csv_file_in_one_piece(tmp_path, monkeypatch):
    """Once where pieces ended told how long other records were."""
    monkeypatch.setattr(lines, "BLOCK", 8)
    (tmp_path / "t.csv").write_bytes(b"age,note\n" + b"1,a\n2,longer\n" * 5)
    whole = open_table(str(tmp_path / "t.csv"), AGE, "row").native
    assert whole.column("age").num_chunks == whole.column("note").num_chunks == 1
    assert whole.num_rows == 10
