"""The files that can be mentioned: git's ignore rules hold, and the scan is bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.files import project_files as module
from handrail.files.open import Root
from handrail.files.project_files import project_files


def listed(folder: Path, *paths: str, most: int = 1000, **ignore_files: str) -> set[str]:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("")
    for place, text in ignore_files.items():
        (folder / place.replace("_", "/") / ".gitignore").write_text(text)
    with Root(str(folder)) as root:
        return {path for path in project_files(root, most=most) if not path.endswith(".gitignore")}


def test_files_and_folders_are_listed(tmp_path: Path):
    assert listed(tmp_path, "a.txt", "src/b.py") == {"a.txt", "src/", "src/b.py"}


def test_tool_folders_credentials_and_links_are_left_out(tmp_path: Path):
    (tmp_path / "out").symlink_to("/etc")
    assert listed(tmp_path, "node_modules/x.js", ".git/config", ".env", "a.txt") == {"a.txt", "out"}


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ("*.log", {"a.txt", "src/", "src/b.py", "build/", "build/out.js"}),
        ("build/", {"a.txt", "x.log", "src/", "src/b.py", "src/y.log"}),
        ("/x.log", {"a.txt", "src/", "src/b.py", "src/y.log", "build/", "build/out.js"}),
        ("src/*.py", {"a.txt", "x.log", "src/", "src/y.log", "build/", "build/out.js"}),
        ("*\n!a.txt", {"a.txt"}),
        ("a.txt/", {"a.txt", "x.log", "src/", "src/b.py", "src/y.log", "build/", "build/out.js"}),
        ("# *.log\n\n[[:alpha:]]\n/", {"a.txt", "x.log", "src/", "src/b.py", "src/y.log", "build/", "build/out.js"}),
    ],
)
def test_ignored_files_are_left_out(tmp_path: Path, rules: str, left: set[str]):
    (tmp_path / ".gitignore").write_text(rules)
    assert listed(tmp_path, "a.txt", "x.log", "src/b.py", "src/y.log", "build/out.js") == left


def test_rules_of_a_folder_hold_below_it_and_override_those_above(tmp_path: Path):
    for place, rules in (("", "*.txt"), ("docs", "!keep.txt\n/top.md")):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / ".gitignore").write_text(rules)
    found = listed(tmp_path, "a.txt", "top.md", "docs/keep.txt", "docs/b.txt", "docs/top.md", "docs/sub/top.md")
    assert found == {"top.md", "docs/", "docs/keep.txt", "docs/sub/", "docs/sub/top.md"}


def test_excludes_of_the_repository_hold_too(tmp_path: Path):
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("scratch\n")
    assert listed(tmp_path, "scratch/x", "a.txt") == {"a.txt"}


def test_scan_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert len(listed(tmp_path, *(f"f{number}" for number in range(20)), "d/x", most=5)) == 5
    monkeypatch.setattr(module, "MOST_FOLDERS", 1)
    assert "d/x" not in listed(tmp_path)


def test_folder_that_cannot_be_read_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "gone").mkdir()
    entries = Root.entries

    def vanishing(self: Root, path: str = ".", **given: object):
        if path == "gone":
            (tmp_path / "gone").rmdir()
        return entries(self, path, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(Root, "entries", vanishing)
    assert listed(tmp_path, "a.txt") == {"a.txt", "gone/"}
