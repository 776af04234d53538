"""What files hold: one text has one meaning, plain files and nothing else are read, and written whole."""

import json
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.codec import decode_box, encode_box, open_plain, read_json, read_plain, write_plain
from sfumato.errors import FileFormatError, MissingFileError, ParameterError, ParameterTypeError

SCALARS = st.none() | st.booleans() | st.integers(-(10**90), 10**90) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(SCALARS | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=20)

# --- JSON that says one thing -----------------------------------------------------------------------------


@given(VALUES, st.booleans(), st.booleans())
def test_it_reads_what_the_standard_reader_wrote(value, ascii_only, as_bytes):
    text = json.dumps(value, ensure_ascii=ascii_only)
    found = read_json(text.encode() if as_bytes else text)
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
        read_json(text)


def test_brackets_in_strings_do_not_nest():
    text = '["' + "[" * 100 + '", "\\"' + "{" * 100 + '", "\\\\", [[]]]'
    assert read_json(text) == json.loads(text)
    assert read_json("[" * 32 + "]" * 32) == json.loads("[" * 32 + "]" * 32)


def test_a_document_is_no_longer_than_agreed():
    assert read_json(" " * 98 + "[]", largest=100) == []
    for text in (" " * 99 + "[]", b" " * 99 + b"[]"):
        with pytest.raises(FileFormatError, match="101 bytes of JSON; at most 100"):
            read_json(text, largest=100)


@pytest.mark.few(3)
@pytest.mark.parametrize("text", ['"' + '\\"' * 10**6, '"' * 10**6, "\\" * 10**6, '"' + "\\" * 10**6, "]" * 10**6])
def test_hostile_text_is_refused_in_one_pass(text):
    """Each would take hours if a scan turned back; nothing is timed, the suite would not end."""
    with pytest.raises(FileFormatError, match="not JSON"):
        read_json(text)


def test_messages_do_not_repeat_the_text():
    with pytest.raises(FileFormatError) as error:
        read_json('{"secret-value": oops}')
    assert "secret" not in str(error.value)
    assert "oops" not in str(error.value)
    long = "k" * 10_000
    with pytest.raises(FileFormatError) as error:
        read_json(f'{{"{long}": 1, "{long}": 2}}')
    assert len(str(error.value)) < 100


# --- plain files ------------------------------------------------------------------------------------------


def test_what_was_written_is_read(tmp_path):
    write_plain(tmp_path / "a", b"content")
    assert read_plain(tmp_path / "a", 7, "a word") == b"content"
    with open_plain(str(tmp_path / "a")) as file:
        assert file.read() == b"content"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("path", [None, 3, b"bytes"])
def test_only_paths_are_paths(path):
    with pytest.raises(ParameterTypeError, match="path must be a file's path"):
        open_plain(path)
    with pytest.raises(ParameterTypeError, match="path must be a file's path"):
        write_plain(path, b"")


def test_pipes_folders_and_devices_are_refused_without_waiting(tmp_path):
    """Opening a pipe that nobody writes to would never return."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path, "/dev/zero"):
        with pytest.raises(FileFormatError, match="not a plain file"):
            read_plain(path, 10, "a word")
    with pytest.raises(MissingFileError, match="no such file"):
        open_plain(tmp_path / "none")


def test_a_file_that_becomes_a_pipe_is_refused_without_waiting(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "plain").write_bytes(b"x")
    seen = os.stat(tmp_path / "plain")
    monkeypatch.setattr("os.stat", lambda *_, **__: seen)
    with pytest.raises(FileFormatError, match="not a plain file"):
        open_plain(tmp_path / "pipe")


def test_files_that_are_too_long_or_have_holes_are_refused(tmp_path):
    (tmp_path / "long").write_bytes(b"x" * 11)
    with pytest.raises(FileFormatError, match=r"too large for a word \(11 bytes, at most 10\)"):
        read_plain(tmp_path / "long", 10, "a word")
    with (tmp_path / "holes").open("wb") as file:
        file.write(b"x")
        file.truncate(2**40)
    with open(tmp_path / "holes", "rb") as file:
        if os.lseek(file.fileno(), 0, os.SEEK_HOLE) == 2**40:
            pytest.skip("this file system does not know of holes")
    with pytest.raises(FileFormatError, match="has holes"):
        open_plain(tmp_path / "holes")


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    write_plain(tmp_path / "link", b"new")
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert not (tmp_path / "link").is_symlink() and (tmp_path / "link").read_bytes() == b"new"


@pytest.mark.parametrize(("mask", "private", "mode"), [(0o022, False, 0o644), (0o077, False, 0o600), (0, True, 0o600)])
def test_who_may_read(tmp_path, mask, private, mode):
    before = os.umask(mask)
    try:
        write_plain(tmp_path / "a", b"", private)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    write_plain(tmp_path / "a", b"old")

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(OSError, match="disk is full"):
        write_plain(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    with pytest.raises(MissingFileError, match="no such folder"):
        write_plain(tmp_path / "no" / "a", b"")


def test_a_file_like_another_has_its_mode(tmp_path):
    (tmp_path / "other").touch()
    for mode in (0o640, 0o600):
        os.chmod(tmp_path / "other", mode)
        write_plain(tmp_path / "a", b"new", like=str(tmp_path / "other"))
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_the_name_is_on_the_disk_too(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    write_plain(tmp_path / "a", b"new")
    assert synced == [False, True]  # the file, then its folder


def test_a_folder_that_may_only_be_written_to_is_enough(tmp_path, monkeypatch):
    really = os.open

    def refusing(path, *flags, **options):
        if os.fspath(path) == str(tmp_path):
            raise PermissionError(13, "Permission denied")
        return really(path, *flags, **options)

    monkeypatch.setattr("os.open", refusing)
    write_plain(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


# --- public types as plain data ---------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"kind": "interval "}, {"kind": "Integer"}, {"kind": None}, {"more": 1}])
def test_columns_of_an_unknown_kind_or_with_more_entries_are_refused(change):
    data = encode_box(sf.Box({"x": (0, 1)}))
    assert decode_box(data) == sf.Box({"x": (0, 1)})
    with pytest.raises(ParameterError, match=r"kind must be one of|a column of the box has unexpected"):
        decode_box({**data, "columns": [{**data["columns"][0], **change}]})


KINDS = sf.Box(
    {
        "a": (0, 1),
        "b": sf.Integer(0, 9),
        "c": sf.Periodic(0, 24),
        "d": sf.Periodic(0, 7, whole=True),
        "e": sf.Date("2024-01-01", "2024-02-01T12:00:00.000001"),
        "f": sf.Date("2024-01-01T00:00Z", "9999-12-31T23:59:59.999999Z"),
        "g": sf.Categorical(["x", "y"]),
    }
)


def test_every_kind_comes_back_from_json():
    again = decode_box(read_json(json.dumps(encode_box(KINDS))))
    assert again == KINDS
    assert [getattr(column, "zoned", None) for column in again.columns] == [None] * 4 + [False, True, None]


@pytest.mark.parametrize(
    ("column", "change"),
    [
        (4, {"low": 19723.0}),
        (4, {"low": "soon"}),
        (4, {"low": "2024-01-01T00:00Z"}),  # the other has no zone
        (4, {"zoned": True}),
        (4, {"high": "2023-01-01"}),
        (0, {"low": "2024-01-01"}),
        (0, {"whole": True}),
        (3, {"whole": 1}),
        (3, {"high": 7.5}),
        (2, {"whole": None}),
    ],
)
def test_a_column_that_contradicts_its_kind_is_refused(column, change):
    data = encode_box(KINDS)
    data["columns"][column] |= change
    with pytest.raises(ParameterError):
        decode_box(data)
