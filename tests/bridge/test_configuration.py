"""Defaults of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge.configuration import default_data_folder, default_roots


def test_sessions_may_work_where_the_server_was_started_and_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert default_roots() == (tmp_path, tmp_path / "home")
    assert default_data_folder() == tmp_path / "home" / ".handrail" / "bridge"


def test_the_whole_disk_is_never_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir("/")
    assert default_roots() == (Path.home(),)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert default_roots() == (Path.home(),)
