"""File suggestions found on disk."""

from __future__ import annotations

import os
from pathlib import Path

from handrail.bridge.commands.file_suggestions import MOST, files_like, ranked


def paths(found: list[dict[str, object]]) -> list[object]:
    return [one["path"] for one in found]


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def test_name_prefix_ranks_first_and_folders_are_marked(tmp_path: Path):
    make(tmp_path, "src/apple.py", "a/grapple.py", "docs/apple/x.md")
    assert files_like(str(tmp_path), "APPLE") == [
        {"path": "docs/apple/", "kind": "folder"},
        {"path": "src/apple.py", "kind": "file"},
        {"path": "a/grapple.py", "kind": "file"},
        {"path": "docs/apple/x.md", "kind": "file"},
    ]


def test_links_are_not_followed_and_closed_names_are_omitted(tmp_path: Path):
    make(tmp_path, "outside/secret.txt", "work/.ssh/id", "work/.git/HEAD", "work/.npmrc", "work/open.txt")
    (tmp_path / "work" / "link").symlink_to(tmp_path / "outside")
    assert paths(files_like(str(tmp_path / "work"), "")) == ["link", "open.txt"]


def test_names_with_quotes_or_unprintable_characters_are_omitted(tmp_path: Path):
    make(tmp_path, "a\nb", 'say "hi"', "plain")
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("x")
    assert paths(files_like(str(tmp_path), "")) == ["plain"]


def test_results_are_limited_and_empty_for_a_missing_folder(tmp_path: Path):
    assert len(ranked((f"file{n}" for n in range(MOST * 2)), "file")) == MOST
    assert files_like(str(tmp_path / "none"), "") == []
