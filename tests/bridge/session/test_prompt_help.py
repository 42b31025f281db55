"""The help that goes with a question: risks, and where a change would be in its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.bridge.session.prompt_help import LARGEST_CURRENT, prompt_help
from handrail.bridge.session.questions import Questions
from handrail.bridge.store.base import SessionRecord
from handrail.client.callbacks import PermissionRequest
from handrail.protocol import Request
from handrail.schema.view import read_view


def help_for(folder: Path, tool: str, **input: Any) -> dict[str, Any]:
    line = {"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": "t"}
    asked = read_view(PermissionRequest, msgspec.json.encode(line))
    return prompt_help(asked, SessionRecord(id="s", cwd=str(folder), created=1, changed=1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    return tmp_path


def test_risks_are_named_relative_to_the_folder(folder: Path):
    assert help_for(folder, "Bash", command="rm -r out")["risks"] == [{"kind": "deletes", "subjects": ["out"]}]


def test_edit_is_placed_with_the_lines_around_it(folder: Path):
    (place,) = help_for(folder, "Edit", file_path="a.txt", old_string="ne 5\nline", new_string="x")["places"]
    assert place == {
        "line": 5,
        "prefix": "li",
        "suffix": " 6",
        "before": ["line 2", "line 3", "line 4"],
        "after": ["line 7", "line 8", "line 9"],
        "matches": 1,
    }


def test_edits_at_both_ends_of_a_file(folder: Path):
    (folder / "b.txt").write_text("first\nlast")
    edits = [{"old_string": "first", "new_string": ""}, {"old_string": "last", "new_string": ""}]
    first, last = help_for(folder, "MultiEdit", file_path=str(folder / "b.txt"), edits=edits)["places"]
    assert (first["line"], first["before"], first["after"]) == (1, [], ["last"])
    assert (last["line"], last["before"], last["after"]) == (2, ["first"], [])


def test_every_match_is_counted(folder: Path):
    (place,) = help_for(folder, "Edit", file_path="a.txt", old_string="line", new_string="x", replace_all=True)[
        "places"
    ]
    assert (place["line"], place["matches"]) == (1, 10)


def test_text_that_is_not_in_the_file_has_no_place(folder: Path):
    assert help_for(folder, "Edit", file_path="a.txt", old_string="nowhere", new_string="x")["places"] == [None]
    assert help_for(folder, "Edit", file_path="a.txt", old_string="", new_string="x")["places"] == [None]
    assert "places" not in help_for(folder, "MultiEdit", file_path="missing.txt", edits="none")


def test_write_knows_what_it_replaces(folder: Path):
    assert help_for(folder, "Write", file_path="a.txt", content="")["current"] == (folder / "a.txt").read_text()
    assert help_for(folder, "Write", file_path="sub/new.txt", content="")["current"] is None


def test_files_that_are_not_to_be_read_are_left_alone(folder: Path):
    (folder / "large.txt").write_text("x" * (LARGEST_CURRENT + 1))
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    (folder / ".env").write_text("KEY=secret")
    (folder / "link").symlink_to("/etc/hostname")
    for path in ("large.txt", "binary", ".env", "link", "/etc/hostname", "../x", "", "a\0b", 7):
        assert "current" not in help_for(folder, "Write", file_path=path, content="x"), path


async def test_question_is_asked_without_help_if_that_fails():
    def fails(asked: PermissionRequest) -> dict[str, Any]:
        raise RuntimeError("no help")

    body = b'{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}'
    (asked,) = Questions(fails).ask(Request(id="r1", subtype="can_use_tool", body=body, raw=body), {})
    assert msgspec.json.decode(asked.data)["help"] == {}
