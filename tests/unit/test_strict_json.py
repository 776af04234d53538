"""One text, one meaning: what the strict reader refuses, and that it reads everything else as the standard one does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import strict_json
from sfumato.errors import FileFormatError

SCALARS = st.none() | st.booleans() | st.integers(-(10**90), 10**90) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(SCALARS | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=20)


@given(VALUES, st.booleans(), st.booleans())
def test_it_reads_what_the_standard_reader_wrote(value, ascii_only, as_bytes):
    text = json.dumps(value, ensure_ascii=ascii_only)
    found = strict_json.loads(text.encode() if as_bytes else text)
    assert found == json.loads(text)
    assert json.dumps(found) == json.dumps(json.loads(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"epsilon": 1, "epsilon": 50}', "the key 'epsilon' stands twice"),
        (r'{"epsilon": 1, "\u0065psilon": 50}', "the key 'epsilon' stands twice"),  # the same key, written otherwise
        ('{"a": [{"b": 1, "c": 2, "b": 1}]}', "the key 'b' stands twice"),
        ('{"\x7f\u202eb": 1, "\x7f\u202eb": 1}', r"the key '\\x7f\\u202eb' stands twice"),
        ("NaN", "NaN is not a number"),
        ('{"x": [-Infinity]}', "-Infinity is not a number"),
        ("1e999", "1e999 is too large"),
        ("-1.5e400", "-1.5e400 is too large"),
        ("1" * 101, "a whole number of 101 digits; at most 100"),
        ("1" * 5000, "a whole number of 5000 digits"),
        ("[" * 33 + "]" * 33, "nested deeper than 32"),
        ('{"a":' * 33 + "1" + "}" * 33, "nested deeper than 32"),
        ("[" * 1_000_000, "nested deeper than 32"),
        ("", "not JSON"),
        ('{"a": 1} {', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('"a\nb"', "not JSON"),
        (b"\xff", "not UTF-8"),
        ("{}".encode("utf-16"), "not UTF-8"),
        ("\ufeff{}".encode(), "not JSON"),
        ("\ufeff{}", "not JSON"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(text, said):
    with pytest.raises(FileFormatError, match=said):
        strict_json.loads(text)


def test_brackets_in_strings_do_not_nest():
    text = '["' + "[" * 100 + '", "\\"' + "{" * 100 + '", "\\\\", [[]]]'
    assert strict_json.loads(text) == json.loads(text)
    assert strict_json.loads("[" * 32 + "]" * 32) == json.loads("[" * 32 + "]" * 32)


def test_a_document_is_no_longer_than_agreed():
    assert strict_json.loads(" " * 98 + "[]", largest=100) == []
    for text in (" " * 99 + "[]", b" " * 99 + b"[]"):
        with pytest.raises(FileFormatError, match="101 bytes of JSON; at most 100"):
            strict_json.loads(text, largest=100)


@pytest.mark.parametrize("text", ['"' + '\\"' * 10**6, '"' * 10**6, "\\" * 10**6, '"' + "\\" * 10**6, "]" * 10**6])
def test_hostile_text_is_refused_in_one_pass(text):
    """Each would take hours if a scan turned back; nothing is timed, the suite would not end."""
    with pytest.raises(FileFormatError, match="not JSON"):
        strict_json.loads(text)


def test_messages_do_not_repeat_the_text():
    with pytest.raises(FileFormatError) as error:
        strict_json.loads('{"secret-value": oops}')
    assert "secret" not in str(error.value)
    assert "oops" not in str(error.value)
    long = "k" * 10_000
    with pytest.raises(FileFormatError) as error:
        strict_json.loads(f'{{"{long}": 1, "{long}": 2}}')
    assert len(str(error.value)) < 100
