"""An exact rule allows the same call again and no other; the permission engine decides both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.files.resolve import Disk
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide
from handrail.permissions.paths.matching import Anchors
from handrail.permissions.rules.rule import Rule
from handrail.permissions.updates.apply import apply
from handrail.permissions.updates.exact_rule import call_key, exact_rule, exact_update


def behavior(folder: Path, granted: tuple[str, dict[str, Any]], asked: tuple[str, dict[str, Any]]) -> str:
    """The engine's decision about `asked` in a session in which exactly `granted` is allowed."""
    anchors = Anchors(cwd=str(folder), project=str(folder), home="/nonexistent")
    world, update = Disk(anchors), exact_update(*granted)
    assert update is not None
    return decide(*asked, apply(Circumstances(anchors), update, world), world).behavior


@pytest.mark.parametrize(
    ("command", "others"),
    [
        ("rm -r one", ["rm -r two", "rm -r one two", "rm -rf one", "rm", "rm -r one; rm -r two", "sudo rm -r one"]),
        ("python -c 'print(1)'", ["python -c 'print(2)'", "python"]),
        ("curl -s http://127.0.0.1:9/ | sh", ["curl -s http://127.0.0.1:9/x | sh", "sh"]),
        ("echo a > b\necho c >> b", ["echo a > c\necho c >> b"]),
        ("echo \\(x\\)", ["touch x"]),
        ("make $X && make b", ["X=-f; make $X && make b", "make $X", "make b"]),
        ("for f in a b; do touch $f; touch c; done", ["for f in a c; do touch $f; touch c; done"]),
    ],
)
def test_command_rule_allows_this_command_only(tmp_path: Path, command: str, others: list[str]):
    granted = ("Bash", {"command": f" {command}\n", "description": "d", "timeout": 5})
    assert behavior(tmp_path, granted, ("Bash", {"command": command})) == "allow"
    for other in others:
        assert behavior(tmp_path, granted, ("Bash", {"command": other})) == "ask", other


@pytest.mark.parametrize("name", ["plain", "[id].tsx", "a*b", "what?", "!first", "end ", "(group)", "ünï"])
@pytest.mark.parametrize("tool", ["Edit", "MultiEdit", "Write", "NotebookEdit"])
def test_file_rule_allows_this_file_only(tmp_path: Path, tool: str, name: str):
    field = "notebook_path" if tool == "NotebookEdit" else "file_path"
    (tmp_path / name).touch()
    granted = (tool, {field: str(tmp_path / name), "content": "x"})
    assert behavior(tmp_path, granted, (tool, {field: str(tmp_path / name), "content": "y"})) == "allow"
    for other in ("other", f"{name}x", f"x{name}", "i", "axb", "whatx"):
        assert behavior(tmp_path, granted, (tool, {field: str(tmp_path / other)})) == "ask", other


def test_read_rule_does_not_allow_edits(tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").touch()
    call = ("Read", {"file_path": str(tmp_path / "outside"), "limit": 3})
    assert behavior(tmp_path / "work", call, call) == "allow"
    assert behavior(tmp_path / "work", call, ("Edit", call[1])) == "ask"
    assert behavior(tmp_path / "work", call, ("Read", {"file_path": str(tmp_path / "other")})) == "ask"


def test_fetch_rule_is_the_domain(tmp_path: Path):
    call = ("WebFetch", {"url": "https://docs.example.com/a?b", "prompt": "p"})
    assert exact_rule(*call) == Rule("WebFetch", "domain:docs.example.com")
    assert behavior(tmp_path, call, call) == "allow"
    assert behavior(tmp_path, call, ("WebFetch", {"url": "https://example.com/", "prompt": "p"})) == "ask"


@pytest.mark.parametrize(
    ("tool", "input"),
    [
        ("Bash", {}),
        ("Bash", {"command": 3}),
        ("Bash", {"command": " "}),
        ("Bash", {"command": "rm *.txt"}),
        ("Bash", {"command": "npm:*"}),
        ("Bash", {"command": "rm $X"}),
        ("Bash", {"command": "for f in a b; do touch $f; done"}),
        ("Bash", {"command": "echo a\u202eb"}),
        ("Bash", {"command": "echo \ud800"}),
        ("Bash", {"command": "echo " + "x" * 20_000}),
        ("Bash", {"command": "ls", "dangerouslyDisableSandbox": True}),
        ("Edit", {}),
        ("Edit", {"file_path": None}),
        ("Edit", {"file_path": 3}),
        ("Edit", {"file_path": "/a", "notebook_path": "/b"}),
        ("Edit", {"file_path": "a"}),
        ("Edit", {"file_path": "~/a"}),
        ("Edit", {"file_path": "/"}),
        ("Edit", {"file_path": "/a/../b"}),
        ("Edit", {"file_path": "/a\\b"}),
        ("Edit", {"file_path": "/a\u200bb"}),
        ("Edit", {"file_path": "/" + "a" * 5000}),
        ("Grep", {"path": "/w", "pattern": "x"}),
        ("WebFetch", {}),
        ("WebFetch", {"url": "https://a@b/"}),
        ("WebSearch", {"query": "x"}),
        ("mcp__db__query", {"sql": "select 1"}),
        ("Skill", {"skill": "deploy"}),
        ("Tomorrow", {}),
    ],
)
def test_other_calls_have_no_exact_rule(tool: str, input: dict[str, Any]):
    assert exact_rule(tool, input) is None
    assert exact_update(tool, input) is None


def test_update_is_for_the_session():
    update = exact_update("Bash", {"command": "make"})
    assert update is not None
    assert update.to_wire() == {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "make"}],
        "behavior": "allow",
        "destination": "session",
    }


def test_call_key_compares_tool_and_input():
    key = call_key("mcp__db__query", {"sql": "select 1", "limit": {"a": 1, "b": 2}})
    assert key == call_key("mcp__db__query", {"limit": {"b": 2, "a": 1}, "sql": "select 1"})
    assert key != call_key("mcp__db__query", {"sql": "select 2", "limit": {"a": 1, "b": 2}})
    assert key != call_key("mcp__db__other", {"sql": "select 1", "limit": {"a": 1, "b": 2}})
    assert call_key("T", {"a": 1}) != call_key("T", {"a": "1"})
    assert call_key("T", {"a": 1}) != call_key("T", {"a": 1, "b": None})


def test_call_key_ignores_the_description_of_a_command():
    assert call_key("Bash", {"command": "ls", "description": "a"}) == call_key("Bash", {"command": "ls"})
    assert call_key("Other", {"description": "a"}) != call_key("Other", {"description": "b"})
