"""Words and numbers for reading."""

import pytest

from sfumato.faces.promise import _one_in
from sfumato.faces.words import above, number, plain


def test_names_become_one_printable_line():
    assert plain("a\nb\u202ec") == "a b\ufffdc"
    assert plain("\u0646\u200c\u0627") == "\u0646\u200c\u0627"  # some scripts need the joiners
    assert plain("x" * 61) == "x" * 59 + "…"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-0.00123, "−0.00123"),
        (123456.0, "123,000"),
        (0.00099996, "0.001"),
        (9.999e-5, "1\xa0×\xa010⁻⁴"),
        (1.234e-7, "1.23\xa0×\xa010⁻⁷"),
        (-9.99e12, "−9.99\xa0×\xa010¹²"),
    ],
)
def test_numbers_for_reading(value, words):
    assert number(value) == words


def test_rounding_never_flatters():
    assert above(1.00001) == "1.001"
    assert above(0.0) == "0"
    assert _one_in(3e-7) == "3,333,333"
    assert "10<sup>15</sup>" in _one_in(1e-15).__html__()
