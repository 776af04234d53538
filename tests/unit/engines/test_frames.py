"""What a function of the caller's sees of the rows that count, and nothing of those that do not."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines.cells import positions
from sfumato.engines.columns import arrow_coded, arrow_days, arrow_identifiers, clean_series, identifiers
from sfumato.engines.frames import used_categories, used_entries, without_mask
from sfumato.engines.tables import open_table
from sfumato.errors import SchemaError
from sfumato.values import of_entries

LINE = sf.Box({"x": (0, 1)})
ONE = sf.Person("id", 1)


def crowd(count):
    """Two persons, and one who has so many rows, each with a category of its own."""
    names = ["a", "b", *(f"c{place}" for place in range(count))]
    return pd.DataFrame({"id": [1, 2] + [9] * count, "x": 0.5, "c": pd.Series(names, dtype="category")})


@pytest.mark.parametrize("made", [lambda frame: frame, dict, pa.Table.from_pandas, pl.from_pandas, nw.from_native])
def test_rows_that_do_not_count_leave_no_trace(made):
    one, many = (open_table(made(crowd(count)), LINE, ONE).native for count in (1, 50))
    assert len(one["c"]) == len(many["c"]) == 3
    for table in (one, many):
        column = table["c"]
        if isinstance(column, pd.Series):
            assert len(column.cat.categories) == 3 and column.index.equals(pd.RangeIndex(3))
        elif isinstance(column, pl.Series):
            assert column.n_chunks() == 1
        else:
            assert len(column.chunk(0).dictionary) == 3


def test_labels_of_rows_do_not_tell_how_many_there_were():
    frame = pd.concat([pd.DataFrame({"id": [9] * 100, "x": 0.5}), crowd(0)[["id", "x"]]], ignore_index=True)
    assert open_table(frame, LINE, ONE).native.index.equals(pd.RangeIndex(3))
    assert open_table(nw.from_native(frame.set_index("id", drop=False)), LINE, "row").native.index[0] == 0


@pytest.mark.parametrize("ordered", [False, True])
def test_used_entries_are_in_the_order_of_the_rows(ordered):
    codes, texts = pa.array([2, None, 0, 2], pa.int8()), pa.array(["a", "b", "c"])
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, texts, ordered=ordered)] * 2)
    found = used_entries(column)
    assert found.type == column.type and found.to_pylist() == column.to_pylist()
    assert found.chunk(0).dictionary.to_pylist() == ["c", "a"]


def test_text_is_never_made_a_number():
    for text in ("3", "somebody's secret"):
        with pytest.raises(SchemaError, match="its dtype is text") as refused:
            list(open_table((np.array([["1"], [text]]), np.zeros(2)), LINE, "row").batches(LINE, 9))
        assert "secret" not in str(refused.value) and "<U" not in str(refused.value)


def test_masked_whole_numbers_stay_whole():
    found = without_mask(np.ma.array([2**53, 2**53 + 1, 5], mask=[False, False, True]))
    assert found.tolist() == [2**53, 2**53 + 1, None]
    assert np.isnat(without_mask(np.ma.array(np.array(["2024-01-01"], "M8[D]"), mask=[True])))[0]
    table = {"id": np.ma.array([2**53, 2**53 + 1], mask=False), "x": np.array([0.2, 0.8])}
    assert open_table(table, LINE, ONE).rows == 2


@pytest.mark.parametrize("extra", [[], ["p"], [pd.Timestamp("2020-01-01 00:00:00.000000001")]])
def test_categories_are_keys_one_by_one(extra):
    """One more of them changes the type of all, and may not change what they are."""
    column = pd.Series([pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02"), *extra], dtype=object).astype(
        "category"
    )
    found = list(identifiers(nw.from_native(column, series_only=True)))
    assert found[:2] == [("moment", 1577836800 * 10**18), ("moment", 1577923200 * 10**18)]


def test_dictionaries_are_not_expanded():
    """All rows together hold two gigabytes of text, and as a plain column would not fit."""
    rows, long = 2**14, "x" * 2**17
    array = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([long, "a"]))
    assert (positions(array, sf.Categorical(["a", "b"])) == -1).all() and np.isnan(arrow_days(array)).all()
    assert set(arrow_identifiers(array)) == {long}
    assert of_entries(array[:0], lambda entries: [1] * len(entries), 0).tolist() == []


def test_identifiers_of_any_length_of_text():
    ((keys, places),) = arrow_coded(pa.chunked_array([["a", "b"], ["a", None]]))
    assert [keys[place] for place in places] == ["a", "b", "a", None]


def test_cleaned_text_is_in_as_many_pieces_as_it_takes(monkeypatch):
    series = nw.from_native(pa.chunked_array([["a", "?", "b"] * 3]), series_only=True)
    found = clean_series(series, sf.Categorical(["a", "b"])).to_native()
    assert found.to_pylist() == ["a", None, "b"] * 3 and found.type == pa.string()


def test_what_pandas_writes_into_a_table_is_not_handed_over(tmp_path):
    frame = crowd(9)[["id", "x"]]
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
    for data in (pa.Table.from_pandas(frame), tmp_path / "t.parquet"):
        assert open_table(data, LINE, ONE).native.schema.metadata is None


def test_an_array_of_text_does_not_tell_how_long_all_texts_were():
    table = {"id": np.array([1, 2, 2]), "x": np.array([0.1, 0.2, 0.2]), "c": np.array(["a", "b", "a long one"])}
    assert open_table(table, LINE, ONE).native["c"].dtype == object


NESTED = [
    pa.StructArray.from_arrays([pa.array(["a", "b"]).dictionary_encode()], ["d"]),
    pa.array([["a"], ["b"]], pa.list_view(pa.string())),
    pa.array([{"v": ["a"]}, None], pa.struct([("v", pa.large_list_view(pa.string()))])),
]


@pytest.mark.parametrize("column", NESTED, ids=lambda column: str(column.type))
def test_types_that_keep_what_other_rows_hold_are_refused(column):
    table = pa.table({"id": [1, 2], "x": [0.1, 0.2], "o": column})
    with pytest.raises(SchemaError, match="rows cannot be picked"):
        open_table(table, LINE, ONE)
    assert open_table(table, LINE, "row").rows == 2


def test_columns_may_have_any_name():
    frame = crowd(2)
    frame["self"] = ["a", "b", "c", "d"]
    assert open_table(frame, LINE, ONE).native["self"].tolist()[:2] == ["a", "b"]


@pytest.mark.parametrize("made", ["table", "folder"])
@pytest.mark.parametrize("others", [0, 1, 9])
def test_ends_of_chunks_do_not_tell_where_rows_of_nobody_were(made, others, tmp_path):
    ages = [*range(5), *range(90, 90 + others), *range(5, 10)]
    names = ["a"] * 5 + [None] * others + ["b"] * 5
    table = pa.table({"x": pa.array(ages, pa.float64()), "id": names, "who": pa.array([f"p{age}" for age in ages])})
    pieces = [table.slice(start, 4) for start in range(0, len(ages), 4)]
    folder = tmp_path / "people.parquet"
    folder.mkdir()
    for number, piece in enumerate(pieces):
        pq.write_table(piece, folder / f"{number:02d}.parquet")
    data = pa.concat_tables(pieces) if made == "table" else str(folder)
    found = open_table(data, sf.Box({"x": (0, 99)}), sf.Person("id", max_rows=5)).native
    assert [len(batch) for batch in found.to_batches()] == [10]
    assert found.column("x").to_pylist() == list(range(10))


@pytest.mark.parametrize("held", [lambda frame: frame, dict])
def test_the_order_of_categories_does_not_tell_of_rows_that_do_not_count(held):
    def codes(other):
        words = pd.Categorical([other, "a", "a", "b"], categories=pd.unique(np.array([other, "a", "a", "b"], object)))
        frame = pd.DataFrame({"x": [9.0, 1.0, 2.0, 3.0], "id": ["q", "q", "p", "r"], "w": words})
        frame.loc[0, "id"] = None
        return open_table(held(frame), sf.Box({"x": (0, 10)}), sf.Person("id", max_rows=1)).native

    one, two = (pd.DataFrame(codes(other)) for other in ("a", "b"))
    assert list(one["w"]) == list(two["w"]) == ["a", "a", "b"]
    assert one["w"].cat.codes.tolist() == two["w"].cat.codes.tolist() == [0, 0, 1]
    assert one["w"].cat.categories.tolist() == two["w"].cat.categories.tolist() == ["a", "b"]


def test_ordered_categories_keep_their_order():
    words = pd.Categorical(["c", "a", "b"], categories=["a", "b", "c", "d"], ordered=True)
    found = used_categories(words)
    assert found.ordered and found.categories.tolist() == ["a", "b", "c"] and list(found) == ["c", "a", "b"]


@pytest.mark.parametrize("index", [0, 2, 99, -2, -50])
def test_an_entry_that_is_not_in_its_dictionary_is_missing(index):
    codes = np.array([0, 1, index], dtype=np.int32)
    arrow = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["a", "b"]), safe=False)
    pandas = pd.Series(pd.Categorical.from_codes(codes, categories=["a", "b"], validate=False))
    third = "a" if index == 0 else None
    kind = sf.Categorical(["a", "b"])
    assert positions(arrow, kind).tolist()[:2] == [0, 1]
    assert (positions(arrow, kind)[2] == 0) == (third == "a")
    assert list(identifiers(nw.from_native(pandas, series_only=True))) == ["a", "b", third]
    assert used_entries(pa.chunked_array([arrow])).to_pylist() == ["a", "b", third]
    assert used_categories(pandas.array).tolist()[:2] == ["a", "b"]
