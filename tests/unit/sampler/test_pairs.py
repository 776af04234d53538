"""Pairs of neighbours from any oracle, and how far apart two responses are."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.oracles import Oracle, stream
from sfumato.sampler.pairs import Respond, distance, draw_pair, replace_last, rows

BOX = sf.Box([(0, 1)])


def listed(records):
    """Any table as a list of records."""
    if isinstance(records, tuple):
        return list(zip(*map(listed, records), strict=True))
    if isinstance(records, pa.Table):
        records = records.to_pandas()
    if isinstance(records, pd.DataFrame | pl.DataFrame):
        records = records.to_numpy()
    return [tuple(np.ravel(record)) for record in records]


FORMS = {
    "numbers": lambda n, g: g.normal(size=n),
    "matrix": lambda n, g: g.normal(size=(n, 3)),
    "images": lambda n, g: g.normal(size=(n, 2, 2)),
    "list": lambda n, g: list(g.normal(size=n)),
    "pair": lambda n, g: (g.normal(size=(n, 2)), g.normal(size=n)),
    "pandas": lambda n, g: pd.DataFrame({"a": g.normal(size=n), "b": g.normal(size=n)}),
    "polars": lambda n, g: pl.DataFrame({"a": g.normal(size=n), "b": g.normal(size=n)}),
    "pyarrow": lambda n, g: pa.table({"a": g.normal(size=n), "b": g.normal(size=n)}),
}


# --- pairs -----------------------------------------------------------------------------------------------------------


@pytest.mark.few(16)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_neighbours_differ_in_the_last_record_alone(form, seeded, n):
    generator = np.random.default_rng(5)
    oracle = Oracle("made up", FORMS[form]) if seeded else lambda count: FORMS[form](count, generator)
    one, two = draw_pair(oracle, n, stream(3, 0))
    assert type(one) is type(two)
    first, second = listed(one), listed(two)
    assert len(first) == len(second) == n
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]


@pytest.mark.parametrize("form", FORMS)
def test_a_seeded_pair_is_the_same_whoever_draws_it(form):
    oracle = Oracle("made up", FORMS[form])
    for one, two in zip(*(draw_pair(oracle, 4, stream(3, 8)) for _ in range(2)), strict=True):
        assert listed(one) == listed(two)
    assert listed(draw_pair(oracle, 4, stream(3, 9))[0]) != listed(draw_pair(oracle, 4, stream(3, 8))[0])


@pytest.mark.parametrize("form", ["numbers", "matrix", "list", "pair"])
def test_a_response_that_writes_into_one_table_leaves_the_other(form):
    one, two = draw_pair(Oracle("made up", FORMS[form]), 4, stream(3, 0))
    before = listed(two)
    for part in one if isinstance(one, tuple) else (one,):
        part[:] = [99.0] * 4 if isinstance(part, list) else 99.0
    assert listed(two) == before


def test_records_that_are_objects_are_copied_too():
    for make in (lambda n: [{"a": [1.0]} for _ in range(n)], lambda n: np.array([{"a": [1.0]}] * n, dtype=object)):
        one, two = draw_pair(make, 3, None)
        one[0]["a"].append(2.0)
        assert two[0] == {"a": [1.0]}


def test_a_frame_that_a_response_changes_leaves_the_other_and_the_oracles():
    kept = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    one, two = draw_pair(lambda n: kept if n == 3 else kept[:1], 3, None)
    one.loc[:, "a"] = 99.0
    assert two["a"].tolist() == [1.0, 2.0, 1.0]
    assert kept["a"].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("form", FORMS)
def test_some_of_the_records(form):
    records = FORMS[form](6, np.random.default_rng(1))
    assert listed(rows(records, 2, 5)) == listed(records)[2:5]


# --- an oracle is public: what is wrong with it is said ------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0, 4, 7])
@pytest.mark.parametrize("form", FORMS)
def test_the_wrong_number_of_records_is_said(form, wrong):
    generator = np.random.default_rng(5)
    with pytest.raises(ParameterError, match=f"asked for 5 records and returned {wrong}"):
        draw_pair(lambda n: FORMS[form](wrong, generator), 5, generator)
    with pytest.raises(ParameterError, match=f"asked for 6 records and returned {wrong}"):
        draw_pair(Oracle("wrong", lambda n, g: FORMS[form](wrong, g)), 5, generator)


def test_one_record_alone_must_be_one():
    with pytest.raises(ParameterError, match="asked for 1 records and returned 5"):
        draw_pair(lambda n: np.zeros(5), 5, None)


def test_the_parts_of_a_pair_must_be_as_long_as_each_other():
    with pytest.raises(ParameterError, match="asked for 5 records and returned 4"):
        draw_pair(lambda n: (np.zeros(n), np.zeros(4)), 5, None)


@pytest.mark.parametrize("records", [3.0, None, iter([1]), np.float64(2)])
def test_what_has_no_length_is_no_table(records):
    with pytest.raises(ParameterTypeError, match=f"must return records .*got {type(records).__name__}"):
        draw_pair(lambda n: records, 1, None)


@pytest.mark.parametrize("make", [lambda n: dict.fromkeys(range(n)), lambda n: set(range(n)), lambda n: "a" * n])
def test_what_is_no_table_is_refused(make):
    with pytest.raises(ParameterTypeError, match=f"must return records .*got {type(make(1)).__name__}"):
        draw_pair(make, 3, None)


def test_records_must_have_one_shape():
    with pytest.raises(ParameterError, match=r"differ in shape: \(2,\) among n, \(3,\) alone"):
        draw_pair(lambda n: np.zeros((n, 2 if n > 1 else 3)), 5, None)


def test_tables_must_have_the_same_columns():
    with pytest.raises(ParameterError, match=r"differ in columns: \['a'\] and \['b'\]"):
        draw_pair(lambda n: pd.DataFrame({"a" if n > 1 else "b": np.zeros(n)}), 5, None)


@pytest.mark.parametrize("alone", [np.zeros(1), (np.zeros(1),), (np.zeros(1),) * 3])
def test_kinds_of_records_must_agree(alone):
    with pytest.raises(ParameterTypeError, match="different kinds of records"):
        replace_last((np.zeros(5), np.zeros(5)), alone)


# --- responses -----------------------------------------------------------------------------------------------------


def test_a_function_responds_with_what_it_returns():
    assert Respond(np.mean, None, None)(np.array([1.0, 3.0])) == 2.0
    assert Respond(lambda data: {"a": 1}, None, None)([]) == {"a": 1}


def test_a_returned_function_responds_with_its_values_on_the_lattice():
    respond = Respond(lambda data: lambda points: data.mean() + points[:, 0], BOX, sf.Bernstein(4))
    assert respond(np.array([1.0, 3.0])).tolist() == [2.0, 2.25, 2.5, 2.75, 3.0]


def test_a_target_responds_with_its_rehearsal():
    fit = lambda data: lambda points: data.mean() + points[:, 0]  # noqa: E731
    target = sf.BlackBox(fit, sensitivity=1.0)
    data = np.array([1.0, 3.0])
    assert Respond(target, BOX, sf.Bernstein(4))(data).tolist() == target.rehearse(data, BOX, sf.Bernstein(4)).tolist()
    assert Respond(sf.Statistic(np.mean, sensitivity=1.0), None, None)(data).tolist() == [2.0]


# --- distances -----------------------------------------------------------------------------------------------------

APART = np.array([[3.0, -4.0], [0.0, 0.0]])


@pytest.mark.parametrize(("norm", "far"), [("l1", 7.0), ("l2", 5.0), ("linf", 4.0)])
def test_distances_by_name(norm, far):
    assert distance(norm)(APART, np.zeros((2, 2))) == far
    assert distance(norm)(np.zeros((2, 2)), APART) == far
    assert distance(norm)(3, 1.5) == 1.5
    assert distance(norm)([], []) == 0.0


def test_a_norm_of_the_difference():
    assert distance(lambda d: 2 * np.abs(d).sum())(APART, np.zeros((2, 2))) == 14.0


def test_a_distance_of_both_responses():
    assert distance(lambda a, b: abs(len(a) - len(b)))("abcd", "ab") == 2.0


def test_arguments_with_defaults_do_not_count():
    assert distance(lambda d, weight=3.0: weight * abs(d))(2.0, 1.0) == 3.0
    assert distance(np.linalg.norm)(np.array([3.0, 4.0]), np.zeros(2)) == 5.0
    assert distance(np.max)(np.array([3.0, 4.0]), np.zeros(2)) == 4.0


def test_a_norm_that_does_not_say_its_arguments_is_of_the_difference():
    assert distance(float)(5.0, 2.0) == 3.0


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_functions_need_a_lattice(norm):
    with pytest.raises(ParameterTypeError, match=r"returns functions: give box= and basis=sf.Bernstein"):
        distance(norm)(lambda x: x, lambda x: x)


@pytest.mark.parametrize("response", [{"a": 1.0}, None, "text", object(), [1.0, [2.0]]])
def test_other_objects_need_a_norm(response):
    if response is None:
        assert np.isnan(distance("l1")(response, response))  # numpy reads None as not a number
        return
    with pytest.raises(ParameterTypeError, match=f"returned {type(response).__name__}, .*give norm="):
        distance("l1")(response, response)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_responses_must_have_one_shape(norm):
    with pytest.raises(ParameterError, match=r"differ in shape: \(2,\) and \(1,\)"):
        distance(norm)([1.0, 2.0], [1.0])
