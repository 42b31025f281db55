"""Defaults of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge.configuration import default_data_folder, default_roots


def test_default_roots_are_the_working_folder_and_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert default_roots() == (tmp_path, tmp_path / "home")
    assert default_data_folder() == tmp_path / "home" / ".handrail" / "bridge"


def test_file_system_root_and_deleted_folders_are_not_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir("/")
    assert default_roots() == (Path.home(),)
    deleted = tmp_path / "deleted"
    deleted.mkdir()
    monkeypatch.chdir(deleted)
    deleted.rmdir()
    assert default_roots() == (Path.home(),)
