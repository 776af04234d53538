"""Plain files and nothing else: pipes, devices, folders, holes and over-long files are refused before they are read."""

import os
import stat

import pytest

from sfumato.errors import FileFormatError, MissingFileError, ParameterTypeError
from sfumato.plain_files import open_plain, read_plain, write_plain


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
