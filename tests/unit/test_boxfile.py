"""Box files: what is read, what is refused and in which words, and templates that show nothing of the data."""

import gzip
import tomllib

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.boxfile import column_types, read_box, template
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError


@pytest.fixture
def box_of(tmp_path):
    def read(text):
        path = tmp_path / "columns.toml"
        path.write_text(text, "utf-8")
        return read_box(path)

    return read


def test_every_kind_of_column(box_of):
    box = box_of(
        """
        [columns.age]
        low = 0
        high = 110
        kind = "integer"
        [columns.hour]
        low = 0.0
        high = 24.0
        kind = "periodic"
        [columns."blood pressure"]
        low = 60
        high = 240
        kind = "interval"
        [columns.sex]
        categories = ["f", "m"]
        [columns.grade]
        categories = [1, 2.5]
        """
    )
    assert box == sf.Box(
        {
            "age": sf.Integer(0, 110),
            "hour": sf.Periodic(0, 24),
            "blood pressure": (60, 240),
            "sex": sf.Categorical(("f", "m")),
            "grade": sf.Categorical((1, 2.5)),
        }
    )
    assert box.named


def test_max_norm(box_of):
    assert box_of("max_norm = 2\n[columns.x]\nlow = -1\nhigh = 1").max_norm == 2.0


def test_a_file_in_utf8(box_of):
    assert box_of('[columns."größe"]\nlow = 0\nhigh = 1').names == ("größe",)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", SchemaError, "no columns"),
        ("columns = 3", SchemaError, "no columns"),
        ("[columns]", SchemaError, "no columns"),
        ("[columns.age", SchemaError, "not valid TOML"),
        ("[columns.a]\nlow=0\nhigh=1\n[columns.a]\nlow=0", SchemaError, "not valid TOML"),
        ("[column.age]\nlow=0\nhigh=1", ParameterError, "unknown key 'column'; allowed are columns, max_norm"),
        ("[columns]\nage = 3", ParameterTypeError, "column 'age': must be a table"),
        ("[columns]\n'a b' = 3", ParameterTypeError, r'\[columns."a b"\]'),
        ("[columns.age]", ParameterError, "column 'age': low and high missing"),
        ("[columns.age]\nlow = 0", ParameterError, "column 'age': high missing"),
        ("[columns.age]\nlow = 0\nhigh = 1\nmax = 3", ParameterError, "unknown key 'max'; allowed are low, high, kind"),
        ("[columns.x]\nlow = 0\nhigh = 1\nmax_norm = 3", ParameterError, "max_norm belongs above the first"),
        ("[columns.age]\nlow = 'a'\nhigh = 1", ParameterTypeError, "column 'age': low must be a number"),
        ("[columns.age]\nlow = true\nhigh = 1", ParameterTypeError, "low must be a number"),
        ("[columns.age]\nlow = 1979-05-27\nhigh = 1", ParameterTypeError, "low and high must both be dates"),
        ("[columns.age]\nlow = 0\nhigh = 1\nkind = 'date'", ParameterTypeError, "low and high must both be dates"),
        ("[columns.age]\nlow = '1979-05-27'\nhigh = '1980-01-01'", ParameterTypeError, "low must be a number"),
        ("[columns.age]\nlow = 1979-05-27\nhigh = 1970-01-01", ParameterError, "low must be below high"),
        ("[columns.age]\nlow = 1979-05-27\nhigh = 1980-01-01T00:00:00Z", ParameterError, "both have a time zone"),
        ("[columns.age]\nlow = 1979-05-27\nhigh = 1980-01-01\nkind = 'integer'", ParameterTypeError, "both be dates"),
        ("[columns.age]\nlow = 07:32:00\nhigh = 08:32:00", ParameterTypeError, "low must be a number"),
        ("[columns.age]\nlow = 0\nhigh = 1\nwhole = true", ParameterError, 'whole belongs to kind = "periodic"'),
        ("[columns.age]\nlow = 0\nhigh = 1.5\nkind = 'periodic'\nwhole = true", ParameterError, "whole=True needs"),
        ("[columns.age]\nlow = 0\nhigh = inf", ParameterError, "high must be finite"),
        ("[columns.age]\nlow = 2\nhigh = 1", ParameterError, "column 'age': low must be below high"),
        (
            "[columns.age]\nlow = 0\nhigh = 1\nkind = 'real'",
            ParameterError,
            "kind must be one of 'interval', 'integer'",
        ),
        ("[columns.age]\nlow = 0\nhigh = 1\nkind = 3", ParameterError, "kind must be one of"),
        ("[columns.age]\nlow = 0.2\nhigh = 0.8\nkind = 'integer'", ParameterError, "no whole number"),
        ("[columns.sex]\ncategories = ['f', 'm']\nlow = 0", ParameterError, "either categories or low and high"),
        ("[columns.sex]\ncategories = 'f'", ParameterTypeError, "column 'sex': categories must be a list"),
        ("[columns.sex]\ncategories = ['f', 1]", ParameterTypeError, "list of texts or a list of numbers"),
        ("[columns.sex]\ncategories = [true, false]", ParameterTypeError, "list of texts or a list of numbers"),
        ("[columns.sex]\ncategories = [nan, 1.0]", ParameterTypeError, "list of texts or a list of numbers"),
        ("[columns.sex]\ncategories = ['f', 'f']", ParameterError, "two or more different values"),
        ("[columns.sex]\ncategories = []", ParameterError, "two or more different values"),
        ("max_norm = 'a'\n[columns.x]\nlow = -1\nhigh = 1", ParameterTypeError, "max_norm must be a number"),
        ("max_norm = -1\n[columns.x]\nlow = -1\nhigh = 1", ParameterError, "max_norm must be positive"),
        ("max_norm = 1\n[columns.x]\nlow = 1\nhigh = 2", ParameterError, "bounds all contain 0"),
        ('[columns.""]\nlow = 1\nhigh = 2', ParameterError, "each with a name"),
    ],
)
def test_what_is_refused_names_the_file_and_the_reason(box_of, text, error, words):
    with pytest.raises(error, match=words) as caught:
        box_of(text)
    assert "columns.toml: " in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SchemaError, match="no such file"):
        read_box(tmp_path / "nothing.toml")
    with pytest.raises(SchemaError, match="cannot be read"):
        read_box(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="not valid TOML"):
        read_box(tmp_path / "bytes.toml")


def test_a_template_of_a_csv_file_has_its_names_and_nothing_else(tmp_path):
    path = tmp_path / "cohort.csv"
    path.write_text('age,"blood ""pressure"""\n77,secret\n88,hidden\n')
    columns = column_types(path)
    assert columns == [("age", "unknown"), ('blood "pressure"', "unknown")]
    text = template(columns, path.name)
    assert "types are unknown" in text
    for value in ("77", "88", "secret", "hidden"):
        assert value not in text
    assert tomllib.loads(text) == {"columns": {"age": {}, 'blood "pressure"': {}}}


def test_a_template_is_refused_until_it_is_filled_in(box_of):
    text = template([("age", "number"), ("sex", "text")], "cohort.parquet")
    with pytest.raises(ParameterError, match="column 'age': low and high missing"):
        box_of(text)
    filled = text.replace("# low =", "low = 0").replace("# high =", "high = 9")
    filled = filled.replace('# categories = ["...", "..."]', 'categories = ["f", "m"]')
    assert box_of(filled) == sf.Box({"age": (0, 9), "sex": sf.Categorical(("f", "m"))})


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".tsv.gz"])
def test_headers_of_all_text_files(tmp_path, ending):
    path = tmp_path / f"data{ending}"
    text = "age\tbmi\r\n1\t2\r\n" if "tsv" in ending else "\ufeffage,bmi\r\n1,2\r\n"
    content = text.encode()
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    assert [name for name, _ in column_types(path)] == ["age", "bmi"]


@pytest.mark.parametrize(
    "first",
    ["", "\n", "77,secret", "age,77", "age,", "age,age", "1970-01-01,secret", 'age,"secret\n77,88"', 'age,"b"c'],
)
def test_a_first_line_without_names_is_refused_and_not_quoted(tmp_path, first):
    path = tmp_path / "data.csv"
    path.write_text(first)
    with pytest.raises(SchemaError) as caught:
        column_types(path)
    told = str(caught.value).replace(str(path), "")
    assert "secret" not in told and "77" not in told


def test_types_of_a_parquet_file(tmp_path):
    path = tmp_path / "cohort.parquet"
    table = pa.table(
        {
            "age": np.array([77, 88]),
            "bmi": np.array([1.5, 2.5]),
            "smoker": [True, False],
            "sex": ["secret", "hidden"],
            "town": pa.array(["secret", "hidden"]).dictionary_encode(),
            "day": pa.array([1, 2], pa.date32()),
            "seen": pa.array([1, 2], pa.timestamp("us", "UTC")),
            "span": pa.array([1, 2], pa.duration("s")),
        }
    )
    parquet.write_table(table, path)
    columns = column_types(path)
    assert dict(columns) == {
        "age": "number",
        "bmi": "number",
        "smoker": "number",
        "sex": "text",
        "town": "text",
        "day": "date",
        "seen": "date",
        "span": "other",
    }
    text = template(columns, path.name)
    assert "unknown" not in text
    for value in ("77", "88", "1.5", "secret", "hidden", "1970"):
        assert value not in text
    assert "neither number nor text" in text
    assert "[columns.seen]\n# type: date or time\n# low =   # a date" in text


def test_dates_and_whole_circles(tmp_path):
    path = tmp_path / "columns.toml"
    path.write_text(
        "[columns.day]\nlow = 2020-01-01\nhigh = 2025-01-01\n"
        "[columns.seen]\nlow = 2020-01-01T08:00:00+02:00\nhigh = 2025-01-01T00:00:00Z\nkind = 'date'\n"
        "[columns.weekday]\nlow = 0\nhigh = 7\nkind = 'periodic'\nwhole = true\n"
    )
    columns = read_box(path).columns
    assert [column.bounds for column in columns[:2]] == [
        ("2020-01-01", "2025-01-01"),
        ("2020-01-01T06:00Z", "2025-01-01T00:00Z"),
    ]
    assert columns[2].whole


def test_parquet_files_without_usable_names(tmp_path):
    path = tmp_path / "twice.parquet"
    parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
    with pytest.raises(SchemaError, match="a name of its own"):
        column_types(path)


def test_tables_that_cannot_be_read(tmp_path):
    (tmp_path / "bad.parquet").write_text("no parquet")
    (tmp_path / "bad.csv.gz").write_text("no gzip")
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe")
    (tmp_path / "folder.csv").mkdir()
    for name in ("bad.parquet", "bad.csv.gz", "bad.csv", "folder.csv", "nothing.csv", "cohort.xlsx"):
        with pytest.raises(SchemaError, match=name):
            column_types(tmp_path / name)


@pytest.mark.parametrize(
    "name", ["a b", "größe", 'q"uote', "back\\slash", "new\nline", "del\x7f", "dot.ted", "\U0001f600"]
)
def test_any_name_survives_a_template(name):
    text = template([(name, "number")], f"source {name}")
    assert tomllib.loads(text) == {"columns": {name: {}}}


def test_records_in_another_encoding_do_not_hide_the_header(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"name,age\nJos\xe9,5\n")
    assert column_types(tmp_path / "t.csv") == [("name", "unknown"), ("age", "unknown")]
