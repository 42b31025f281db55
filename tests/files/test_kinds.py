"""Kinds of files."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from handrail.files.kinds import is_process_information, kind_of


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        (stat.S_IFREG | 0o644, "file"),
        (stat.S_IFDIR | 0o755, "directory"),
        (stat.S_IFIFO, "fifo"),
        (stat.S_IFSOCK, "socket"),
        (stat.S_IFCHR, "device"),
        (stat.S_IFBLK, "device"),
        (stat.S_IFLNK, "other"),
    ],
)
def test_kind_is_read_from_the_mode(mode: int, kind: str):
    assert kind_of(mode) == kind


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_process_information_is_recognized_by_its_file_system(tmp_path: Path):
    descriptor = os.open("/proc/self/status", os.O_RDONLY)
    try:
        assert is_process_information(descriptor)
    finally:
        os.close(descriptor)
    assert is_process_information("/proc/self")
    assert not is_process_information(str(tmp_path))
    assert not is_process_information(str(tmp_path / "missing"))


def test_systems_without_proc_have_no_process_information(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not is_process_information("/proc/self")
