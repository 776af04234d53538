"""Certificates: what they accept, and how they grow with the protected unit."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.certificate import Certificate, certify_sum
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError, ParameterTypeError

ROW = Certificate("linf", 0.5, "replace", "stated", "bernstein", None, ("it holds",))


def test_a_real_bound_is_a_float_and_an_exact_one_an_int():
    assert isinstance(Certificate("l1", 1, "replace", "proved", "page").bound, float)
    assert isinstance(Certificate("l1", 1, "replace", "proved", "page", exponent=-4).bound, int)


@pytest.mark.parametrize("bound", [0, -1, math.inf, math.nan])
def test_bound_must_be_positive_and_finite(bound):
    with pytest.raises(ParameterError, match="bound"):
        Certificate("l1", bound, "replace", "proved", "page")


@pytest.mark.parametrize("bound", [1.5, 2.0, "3", None])
def test_an_exact_bound_must_be_whole(bound):
    with pytest.raises(ParameterTypeError, match="bound"):
        Certificate("l1", bound, "replace", "proved", "page", exponent=0)


@pytest.mark.parametrize(
    ("changed", "value"), [("norm", "l3"), ("relation", "swap"), ("known", "hoped"), ("norm", None), ("known", 3)]
)
def test_words_must_be_known(changed, value):
    words = {"norm": "l1", "relation": "replace", "known": "proved"} | {changed: value}
    with pytest.raises(ParameterError, match=changed):
        Certificate(words["norm"], 1.0, words["relation"], words["known"], "page")


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("rows", [3, 7, 10, 11])
def test_an_exact_bound_stays_exact_for_a_person(norm, rows):
    row = Certificate(norm, 2**40 + 1, "replace", "enforced", "page", exponent=-8)
    assert row.for_unit(Privacy(epsilon=1, unit=Person("id", rows))).bound == rows * (2**40 + 1)


@pytest.mark.parametrize("rows", [3, 7, 10, 11, 1000])
@pytest.mark.parametrize("bound", [0.1, 1 / 3, 1e-300, 5e-324, 1e300])
def test_the_bound_of_a_person_is_never_rounded_down(bound, rows):
    person = Certificate("linf", bound, "replace", "stated", "page").for_unit(
        Privacy(epsilon=1, unit=Person("id", rows))
    )
    assert Fraction(person.bound) >= rows * Fraction(bound)


@pytest.mark.parametrize(
    ("known", "confidence"), [("sampled", 1.0), ("sampled", 0.0), ("proved", 0.9), ("stated", 2.0)]
)
def test_only_a_sampled_bound_has_a_confidence_below_one(known, confidence):
    with pytest.raises(ParameterError, match="confidence"):
        Certificate("l1", 1.0, "replace", known, "page", confidence=confidence)


def test_one_row_is_left_as_it_is():
    assert ROW.for_unit(Privacy(epsilon=1)) is ROW


def test_a_person_moves_the_coefficients_as_often_as_it_has_rows():
    person = ROW.for_unit(Privacy(epsilon=1, unit=Person("id", 3)))
    assert 1.5 <= person.bound <= 1.5 * (1 + 1e-15)  # from above
    assert (person.norm, person.relation, person.known, person.proof) == ("linf", "replace", "stated", "bernstein")


def test_replacing_a_person_says_what_it_assumes():
    person = ROW.for_unit(Privacy(epsilon=1, unit=Person("id", 3)))
    first, second = person.assumptions
    assert first == "it holds"
    assert second.startswith("a person is replaced by one with the same number of rows")


def test_adding_a_person_assumes_nothing_more():
    row = Certificate("l1", 0.5, "add-remove", "stated", "page")
    assert row.for_unit(Privacy(epsilon=1, neighbours="add-remove", unit=Person("id", 3))).assumptions == ()


@pytest.mark.parametrize(
    ("neighbours", "unit", "bound"),
    [
        ("replace", "row", 200),
        ("add-remove", "row", 100),
        ("replace", Person("id", 5), 1000),
        ("add-remove", Person("id", 5), 500),
    ],
)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_sum_moves_by_two_records_when_one_is_replaced(neighbours, unit, bound, norm):
    certificate = certify_sum(norm, 100, -8, Privacy(epsilon=1, neighbours=neighbours, unit=unit))
    assert certificate.bound == bound
    assert (certificate.norm, certificate.exponent, certificate.known) == (norm, -8, "enforced")
    assert (certificate.relation, certificate.proof) == (neighbours, "rounding")


def test_an_exact_l2_bound_need_not_be_whole():
    assert Certificate("l2", 1.5, "replace", "enforced", "page", exponent=-4).bound == 1.5


def test_an_exact_bound_is_one_of_pythons_integers():
    assert type(Certificate("l1", np.int64(3), "replace", "proved", "page", exponent=-4).bound) is int


def test_certificates_compare_by_content():
    assert Certificate("linf", 0.5, "replace", "stated", "bernstein", None, ("it holds",)) == ROW
    assert Certificate("linf", 0.6, "replace", "stated", "bernstein", None, ("it holds",)) != ROW


def test_a_norm_of_the_users_own_is_known_as_that():
    own = Certificate("user", 0.5, "replace", "sampled", "sampler", confidence=0.9)
    assert own.norm == "user"
    assert isinstance(own.bound, float)


def test_a_flow_is_of_whole_numbers():
    """Rounding would change the sum, which is a part of the norm."""
    flow = Certificate("flow", 3, "replace", "enforced", "zero-sum", 0)
    assert (flow.norm, flow.bound) == ("flow", 3)
    with pytest.raises(ParameterError, match="'flow' is for whole numbers"):
        Certificate("flow", 3.0, "replace", "proved", "zero-sum")


# --- blocks ---------------------------------------------------------------------------------------------------------


def test_a_bound_on_blocks_says_which_they_are():
    found = certify_sum("l1-linf", 7, -3, Privacy(epsilon=1.0), (4, 1))
    assert (found.bound, found.blocks, found.proof) == (14, (4, 1), "blocks")
    person = Privacy(epsilon=1.0, neighbours="add-remove", unit=Person("id", 3))
    assert certify_sum("l1-linf", 7, -3, person, (4, 1)).bound == 21
    assert certify_sum("l1", 7, -3, Privacy(epsilon=1.0)).blocks == ()


def test_blocks_are_pythons_integers_and_are_not_printed():
    """There may be thousands."""
    found = Certificate("l1-linf", 2, "replace", "enforced", "blocks", 0, blocks=[np.int64(4), 1])
    assert found.blocks == (4, 1) and {type(size) for size in found.blocks} == {int}
    assert "blocks=" not in repr(found)


@pytest.mark.parametrize("blocks", [(), (0,), (2, -1), (1.5,), ("2",)])
def test_blocks_are_positive_whole_numbers_and_there_are_some(blocks):
    with pytest.raises(ParameterError, match="block"):
        Certificate("l1-linf", 2, "replace", "enforced", "blocks", 0, blocks=blocks)


def test_no_other_bound_has_blocks_and_blocks_are_of_integers():
    with pytest.raises(ParameterError, match="blocks"):
        Certificate("l1", 2, "replace", "enforced", "rounding", 0, blocks=(2,))
    with pytest.raises(ParameterError, match="blocks of integers"):
        Certificate("l1-linf", 2.0, "replace", "proved", "blocks", blocks=(2,))
