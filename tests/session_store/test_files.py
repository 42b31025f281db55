"""The keys of transcripts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.session_store import key_of_path, project_key_for_directory

ID = "11111111-2222-4333-8444-555555555555"


@pytest.mark.parametrize(
    ("path", "project", "subpath"),
    [
        (f"/home/me/.claude/projects/-work/{ID}.jsonl", "-work", None),
        (f"/container/config/projects/-a-b/{ID}.jsonl", "-a-b", None),
        (f"/projects/x/projects/-work/{ID}.jsonl", "-work", None),
        (f"projects/-work/{ID}.jsonl", "-work", None),
        (f"/c/projects/-work/{ID}/subagents/agent-1.jsonl", "-work", "subagents/agent-1"),
        (f"/c/projects/-work/{ID}/subagents/workflows/w.1/agent-2.jsonl", "-work", "subagents/workflows/w.1/agent-2"),
        (f"/c/projects/-work/{ID}/notes/x.txt", "-work", "notes/x.txt"),
    ],
)
def test_path_of_a_transcript_has_a_key(path: str, project: str, subpath: str | None):
    key = {"project_key": project, "session_id": ID, **({} if subpath is None else {"subpath": subpath})}
    assert key_of_path(path) == key


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/elsewhere/notes.jsonl",
        "/c/projects/-work/notes.jsonl",
        f"/c/projects/{ID}.jsonl",
        f"/c/projects/-work/{ID}.json",
        f"/c/projects/-work/{ID}/",
        f"/c/projects/-work/{ID}/../x.jsonl",
        f"/c/projects/-work/{ID}/subagents//x.jsonl",
        f"/c/projects/-work/{ID}.jsonl\n",
        f"/c/myprojects/-work/{ID}.jsonl",
    ],
)
def test_other_path_has_no_key(path: str):
    assert key_of_path(path) is None


def test_project_key_is_the_folder_of_the_transcripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.b").mkdir()
    monkeypatch.chdir(tmp_path / "a.b")
    key = project_key_for_directory()
    assert key == project_key_for_directory(str(tmp_path / "a.b")) == project_key_for_directory(Path("../a.b"))
    assert key == "".join(letter if letter.isalnum() else "-" for letter in os.path.realpath(tmp_path / "a.b"))
