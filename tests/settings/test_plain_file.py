"""Plain files of an untrusted author: read whole, up to a limit, and nothing but plain files."""

import os
from pathlib import Path

import pytest

from handrail.settings import plain_file
from handrail.settings.plain_file import Unreadable, read_bytes


def test_a_file_is_read_up_to_its_limit(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bytes(str(tmp_path / "a"), 5) == b"12345"
    with pytest.raises(Unreadable, match="larger than 0 KiB"):
        read_bytes(str(tmp_path / "a"), 4)


def test_missing_file_is_none(tmp_path: Path):
    assert read_bytes(str(tmp_path / "a")) is None


def test_file_in_place_of_a_folder_is_reported(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(Unreadable, match="Not a directory"):
        read_bytes(str(tmp_path / "a" / "b"))


def test_a_file_swapped_for_a_pipe_after_the_first_look_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a"
    path.write_bytes(b"")
    look = os.stat

    def look_and_swap(name: str) -> os.stat_result:
        found = look(name)
        path.unlink()
        os.mkfifo(path)
        return found

    monkeypatch.setattr(plain_file.os, "stat", look_and_swap)
    with pytest.raises(Unreadable, match="a pipe, where a plain file is expected"):
        read_bytes(str(path))
