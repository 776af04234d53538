"""Who is protected: units, and which rows of a person count."""

import math

import numpy as np
import pytest

from sfumato.core.neighbours import RELATIONS, Person, rows_per_unit
from sfumato.errors import ParameterError, ParameterTypeError


def kept(identifiers, max_rows=2):
    return Person("id", max_rows).rows_kept(identifiers).tolist()


def test_the_first_rows_of_each_person_are_kept():
    assert kept(["a", "b", "a", "a", "b", "b", "c"]) == [True, True, True, False, True, False, True]


def test_one_persons_rows_do_not_depend_on_others():
    identifiers = list("abacabad")
    mine = [i for i, identifier in enumerate(identifiers) if identifier == "a"]
    others_changed = [identifier if identifier == "a" else "z" for identifier in identifiers]
    assert [kept(identifiers)[i] for i in mine] == [kept(others_changed)[i] for i in mine] == [True, True, False, False]


@pytest.mark.parametrize("nobody", [None, "", math.nan, np.float64("nan"), np.datetime64("NaT")])
def test_rows_of_nobody_are_dropped(nobody):
    assert kept([nobody, "a", nobody, nobody]) == [False, True, False, False]


@pytest.mark.parametrize("identifier", [0, 0.0, False, "0", b"x", ("a", 1), 10**400, math.inf, "\ud800", frozenset()])
def test_any_hashable_identifier_will_do(identifier):
    assert kept([identifier] * 3) == [True, True, False]


def test_no_rows_are_fine():
    result = Person("id", 1).rows_kept([])
    assert result.dtype == np.bool_
    assert result.shape == (0,)


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
