"""Fingerprints: the same for the same data, another for others, and nothing of the data in an error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from harness.hostile import OBJECTS

from sfumato.accounting.binding import fingerprint
from sfumato.errors import ParameterError, ParameterTypeError

SALT, OTHER = "0a" * 32, "0b" * 32
COLUMNS = {"age": [1.5, 2.5, 3.5], "name": ["a", "b", "c"]}


def test_the_same_table_however_it_is_held():
    table = pa.table(COLUMNS)
    halves = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    turned = table.select(["name", "age"])
    found = {fingerprint(one, SALT) for one in (COLUMNS, table, halves, turned, table.slice(0))}
    assert len(found) == 1
    assert fingerprint(pl.DataFrame(COLUMNS), SALT) == fingerprint(pl.DataFrame(COLUMNS), SALT)
    assert fingerprint(pd.DataFrame(COLUMNS), SALT) == fingerprint(pd.DataFrame(COLUMNS), SALT)


def test_others_are_told_apart(tmp_path):
    (tmp_path / "a.csv").write_text("age\n1\n")
    (tmp_path / "b.csv").write_text("age\n2\n")
    array = np.arange(6.0)
    several = [
        tmp_path / "a.csv", tmp_path / "b.csv", array, array.reshape(2, 3), array + 1, array.astype(np.float32),
        COLUMNS, {**COLUMNS, "age": [1.5, 2.5, 3.25]}, {"age": COLUMNS["age"]}, {"ages": COLUMNS["age"]},
    ]  # fmt: skip
    assert len({fingerprint(one, SALT) for one in several}) == len(several)
    assert not {fingerprint(one, SALT) for one in several} & {fingerprint(one, OTHER) for one in several}


def _objects(values):
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found


HELD = {
    "a frame": lambda values: pd.DataFrame({"a": pd.Series(_objects(values), dtype=object)}),
    "a dict": lambda values: {"a": list(values)},
    "an array": _objects,
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_no_value_raises_and_none_is_overlooked(held, capfd):
    """A library finds a type for all objects of a column or raises: one value would decide on that."""
    found = [fingerprint(held(["a", "b", value]), SALT) for value in OBJECTS]
    assert len({*found}) > 0.6 * len(OBJECTS)  # some say nothing of themselves, or what others do
    assert fingerprint(held(["a", 1, 10**5000]), SALT) == fingerprint(held(["a", 1, 10**5000]), SALT)
    assert capfd.readouterr() == ("", "")


def test_no_label_raises():
    for value in OBJECTS:
        fingerprint(pd.DataFrame({"a": [1, 2]}, index=pd.Index(_objects(["a", value]), dtype=object)), SALT)


def test_errors_tell_nothing_of_the_data(tmp_path):
    with pytest.raises(ParameterError, match="cannot be read"):
        fingerprint(tmp_path / "none.csv", SALT)
    with pytest.raises(ParameterTypeError, match="must be a file's path, an array or a table") as caught:
        fingerprint({"secret": 5}, SALT)
    assert "secret" not in str(caught.value)


def _pieces_of_dictionaries(*entries):
    """A column of which each piece has a dictionary of its own, with 8-bit places."""
    made = [pa.DictionaryArray.from_arrays(pa.array(range(len(own)), pa.int8()), own) for own in entries]
    return pa.table({"a": pa.chunked_array(made)})


def test_dictionaries_need_not_fit_together():
    """Whether Arrow can put them into one depends on what they hold: how many entries, whether one is missing."""
    first = pa.array([f"a{place}" for place in range(100)])
    others = [pa.array([f"b{place}" for place in range(count)]) for count in (20, 100)] + [pa.array(["a", None])]
    found = [fingerprint(_pieces_of_dictionaries(first, other), SALT) for other in others]
    assert len({*found}) == len(others)
    assert found == [fingerprint(_pieces_of_dictionaries(first, other), SALT) for other in others]
    stream = _pieces_of_dictionaries(first, others[1]).to_reader()
    assert fingerprint(stream, SALT) == found[1]


def test_an_array_of_moments():
    moments = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[us]")
    assert len({fingerprint(one, SALT) for one in (moments, moments[::-1], moments[:0], moments.view(np.int64))}) == 4
