"""Handrail's own files: private, whole, and worth nothing where others can write them."""

import os
from pathlib import Path

import pytest

from handrail.settings import private_file
from handrail.settings.private_file import LIMIT, PrivateFileError, forget, read_private, state_folder, write_private


def test_written_file_is_private_and_can_be_read(tmp_path: Path):
    path = state_folder(str(tmp_path)) / "kind" / "a.json"
    os.umask(os.umask(0))
    write_private(path, b"one")
    write_private(path, b"two")
    assert read_private(path) == b"two"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert path.parent.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(path.parent) == ["a.json"]


def test_missing_file_is_none(tmp_path: Path):
    assert read_private(tmp_path / "a") is None
    assert forget(tmp_path / "a") is False


def test_forgotten_file_is_removed(tmp_path: Path):
    write_private(tmp_path / "x" / "y" / "a", b"")
    assert (forget(tmp_path / "x" / "y" / "a"), read_private(tmp_path / "x" / "y" / "a")) == (True, None)


def test_a_file_that_others_can_write_does_not_count(tmp_path: Path):
    write_private(tmp_path / "x" / "y" / "a", b"")
    (tmp_path / "x" / "y" / "a").chmod(0o620)
    with pytest.raises(PrivateFileError, match="others can write it"):
        read_private(tmp_path / "x" / "y" / "a")


def test_a_secret_that_others_can_read_does_not_count(tmp_path: Path):
    path = tmp_path / "x" / "y" / "a"
    write_private(path, b"one")
    assert read_private(path, secret=True) == b"one"
    path.chmod(0o640)
    assert read_private(path) == b"one"
    with pytest.raises(PrivateFileError, match="others can read it"):
        read_private(path, secret=True)


def test_file_of_another_user_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_private(tmp_path / "x" / "y" / "a", b"")
    somebody = os.geteuid() + 1
    monkeypatch.setattr(private_file.os, "geteuid", lambda: somebody)
    with pytest.raises(PrivateFileError, match="others can write it"):
        read_private(tmp_path / "x" / "y" / "a")


def test_a_link_a_pipe_and_a_flood_do_not_count(tmp_path: Path):
    (tmp_path / "target").write_text("x")
    (tmp_path / "link").symlink_to("target")
    os.mkfifo(tmp_path / "pipe", 0o600)
    write_private(tmp_path / "x" / "y" / "flood", b" " * (LIMIT + 1))
    for path, problem in (
        (tmp_path / "link", "Too many levels"),
        (tmp_path / "pipe", "not a plain file"),
        (tmp_path / "x" / "y" / "flood", "larger than"),
    ):
        with pytest.raises(PrivateFileError, match=problem):
            read_private(path)


def test_failed_write_or_removal_is_reported(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(PrivateFileError, match="cannot write .*file/a/b"):
        write_private(tmp_path / "file" / "a" / "b", b"")
    with pytest.raises(PrivateFileError, match="cannot remove .*: Not a directory"):
        forget(tmp_path / "file" / "b")


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x" / "y" / "a"
    write_private(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(private_file.os, "fsync", full)
    with pytest.raises(PrivateFileError, match="No space left"):
        write_private(path, b"new")
    assert (read_private(path), os.listdir(path.parent)) == (b"old", ["a"])


def test_a_folder_in_its_place_does_not_count(tmp_path: Path):
    with pytest.raises(PrivateFileError, match="not a plain file"):
        read_private(tmp_path)
