"""Who is protected: units of data."""

import numpy as np
import pytest

from sfumato.core.neighbours import RELATIONS, Person, rows_per_unit
from sfumato.errors import ParameterError, ParameterTypeError


@pytest.mark.parametrize("max_rows", [0, -1])
def test_max_rows_must_be_positive(max_rows):
    with pytest.raises(ParameterError, match=f"max_rows={max_rows}"):
        Person("id", max_rows)


@pytest.mark.parametrize("max_rows", [1.5, "3", None, True])
def test_max_rows_must_be_whole(max_rows):
    with pytest.raises(ParameterTypeError, match="max_rows"):
        Person("id", max_rows)


@pytest.mark.parametrize("column", [None, 1.5, True, ["id"]])
def test_column_must_be_a_name_or_a_position(column):
    with pytest.raises(ParameterTypeError, match="column"):
        Person(column, 1)


def test_rows_per_unit():
    assert rows_per_unit("row") == 1
    assert rows_per_unit(Person("id", 7)) == 7


def test_person_is_immutable():
    with pytest.raises(AttributeError):
        Person("id", 1).max_rows = 2


def test_the_rows_of_a_person_are_counted_by_one_of_pythons_integers():
    assert type(Person("id", np.int64(7)).max_rows) is int


def test_there_are_two_relations():
    assert RELATIONS == ("replace", "add-remove")
