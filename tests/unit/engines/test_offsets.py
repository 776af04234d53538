"""Nested columns of Parquet have 64-bit offsets: of narrow ones Arrow reads two gigabytes, and raises at more.

Once one record of a list of texts with as much as that in all (0.1 MB on disk) had a black box refused, unpaid, where
its neighbour was released. Two gigabytes are too much for a test; types are schema, and they decide.
"""

import base64
import contextlib

import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.engines import files, offsets
from sfumato.engines.tables import open_table
from sfumato.errors import SchemaError

AGE = sf.Box({"age": (0, 110)})
MAPS = pa.map_(pa.string(), pa.list_(pa.string()))
NESTED = {
    "list of texts": pa.array([["a", None], None], pa.list_(pa.string())),
    "list of bytes": pa.array([[b"a"], None], pa.list_(pa.binary())),
    "list of numbers": pa.array([[1.0], None], pa.list_(pa.float64())),
    "struct": pa.array(
        [{"a": "b", "c": [[1]]}, None], pa.struct({"a": pa.string(), "c": pa.list_(pa.list_(pa.int8()))})
    ),
    "maps": pa.array([[[("k", ["v"])]], None], pa.list_(MAPS)),
    "fixed length": pa.array([["a", "b"], None], pa.list_(pa.string(), 2)),
    "long name": pa.array([[{"n" * 200: "a"}], None], pa.list_(pa.struct({"n" * 200: pa.string()}))),
}
VIEWS = {"views": pa.array([["a"], None], pa.list_view(pa.string()))} if hasattr(pa, "list_view") else {}


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("column", [*NESTED.values(), *VIEWS.values()], ids=[*NESTED, *VIEWS])
def test_what_is_nested_is_read_with_wide_offsets(column, told, tmp_path):
    if not told and not files._without_dictionaries():
        pytest.skip("an older pyarrow cannot, and such a file is refused")
    path = str(tmp_path / "t.parquet")
    table = pa.table({"age": [1.0, 2.0], "beside": pa.array([1, 2], pa.duration("s")), "nested": column})
    parquet.write_table(table, path, store_schema=told)
    whole = open_table(path, AGE, "row").native
    assert not any(map(offsets.is_narrow, whole.schema.types))
    assert whole.schema == open_table(path, AGE, "row").schema.empty.schema
    assert whole.column("nested").to_pylist() == column.to_pylist()
    assert (whole.column("beside").type == pa.duration("s")) is told  # the rest of the schema stays
    assert open_table(path, AGE, sf.Person("beside", 1)).native.schema.types == whole.schema.types


def test_where_offsets_stay_narrow_a_file_is_refused_by_its_type(tmp_path, monkeypatch):
    path = str(tmp_path / "t.parquet")
    parquet.write_table(pa.table({"age": [1.0], "words": [["a"]]}), path, store_schema=False)
    monkeypatch.setattr(files, "_without_dictionaries", dict)
    with pytest.raises(SchemaError, match=r"column 'words' is of type list<.* as the values are"):
        open_table(path, AGE, "row")


@pytest.mark.parametrize("whole", [False, True], ids=["the schema", "the pair with its name"])
def test_a_record_may_hold_what_the_footer_says(whole, tmp_path):
    """Least and largest values of columns stand in the footer, too: a text like the schema had the file refused."""
    path = str(tmp_path / "t.parquet")

    def written(note):
        table = pa.table({"age": [1.0, 2.0], "note": [b"\x00", note], "nested": NESTED["list of texts"]})
        parquet.write_table(table, path)
        return open_table(path, AGE, "row").native

    usual = written(b"usual")
    told = parquet.read_metadata(path).metadata[b"ARROW:schema"]
    note = offsets._counted(b"ARROW:schema") + b"\x18" + offsets._counted(told) if whole else told
    found = written(note)
    assert offsets._footer(path).count(note) > whole  # or nothing was tried
    assert found.schema == usual.schema
    assert found.column("note").to_pylist() == [b"\x00", note]


@pytest.mark.parametrize("told", [b"not base64", base64.b64encode(b"no schema"), b""])
def test_a_schema_that_is_none_is_left_to_the_reader(told, tmp_path):
    path = str(tmp_path / "t.parquet")
    table = pa.table({"age": [1.0], "words": [["a"]]}).replace_schema_metadata({"ARROW:schema": told})
    parquet.write_table(table, path, store_schema=False)
    whole = None
    with contextlib.suppress(SchemaError):
        whole = open_table(path, AGE, "row").native
    assert whole is None or not any(map(offsets.is_narrow, whole.schema.types))


def test_text_that_is_not_nested_stays_as_it_is():
    for kind in (pa.string(), pa.binary(), pa.large_list(pa.large_string()), pa.list_(pa.int8(), 3), pa.float64()):
        assert not offsets.is_narrow(kind) and offsets.widened(kind) == kind
