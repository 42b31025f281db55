"""Putting back files that a command in the sandbox must not change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from handrail.agent.tools import protected_files
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.protected_files import take_snapshot


def fill(project: Path) -> None:
    (project / ".git" / "hooks").mkdir(parents=True)
    (project / ".git" / "config").write_text("[core]\n")
    (project / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    (project / ".git" / "hooks" / "pre-commit").chmod(0o755)
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").symlink_to("../settings.json")


def state(project: Path) -> dict[str, tuple[int, str]]:
    def content(path: Path) -> str:
        return os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else ""

    return {str(path): (path.lstat().st_mode, content(path)) for path in sorted(project.rglob("*"))}


def rewrite(project: Path) -> None:
    (project / ".git" / "config").write_text("[core]\n\tpager = evil\n")


def add(project: Path) -> None:
    (project / ".git" / "hooks" / "post-commit").write_text("evil")
    (project / ".mcp.json").write_text("{}")
    (project / ".vscode" / "deep").mkdir(parents=True)


def link(project: Path) -> None:
    shutil.rmtree(project / ".git" / "hooks")
    (project / ".git" / "hooks").symlink_to(project)


def remove(project: Path) -> None:
    shutil.rmtree(project / ".git" / "hooks")
    shutil.rmtree(project / ".claude")
    (project / ".git" / "config").unlink()


def exchange(project: Path) -> None:
    (project / ".git" / "config").unlink()
    (project / ".git" / "config").mkdir()
    (project / ".claude" / "settings.json").unlink()
    (project / ".claude" / "settings.json").write_text("{}")


def change_mode(project: Path) -> None:
    (project / ".git" / "hooks" / "pre-commit").chmod(0o644)


@pytest.mark.parametrize("change", [rewrite, add, link, remove, exchange, change_mode])
def test_changes_are_undone(tmp_path: Path, change: object):
    fill(tmp_path)
    before = state(tmp_path)
    snapshot = take_snapshot([str(tmp_path)])
    assert callable(change)
    change(tmp_path)
    assert snapshot.restore()
    assert state(tmp_path) == before
    assert snapshot.restore() == []


def test_other_files_keep_their_changes(tmp_path: Path):
    fill(tmp_path)
    snapshot = take_snapshot([str(tmp_path)])
    (tmp_path / "new").write_text("x")
    (tmp_path / ".git" / "index").write_text("x")
    assert snapshot.restore() == []
    assert (tmp_path / "new").exists()


@pytest.mark.parametrize(("name", "limit"), [("_MOST_FILES", 3), ("_MOST_BYTES", 10)])
def test_too_much_to_protect_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: int):
    fill(tmp_path)
    monkeypatch.setattr(protected_files, name, limit)
    with pytest.raises(ToolFailed, match="Install bubblewrap"):
        take_snapshot([str(tmp_path)])
