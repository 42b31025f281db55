"""Deleting a session of handrail-agent leaves nothing of it in its home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail import Options, Session
from handrail.testing import Lab, Script, When, reply, text, tool_use
from handrail.transcripts import delete_session
from tests.contract.conftest import AGENT

LOOK = {"description": "looks it up", "prompt": "look it up", "subagent_type": "general-purpose"}
REPLIES = [
    tool_use("Read", file_path="kept.txt"),
    tool_use("Write", file_path="kept.txt", content="new"),
    tool_use("Bash", command="seq 1 20000"),
    tool_use("Task", **LOOK, run_in_background=False),
    reply(text("It is blue."), when=When(prompt="look it up")),
    tool_use("EnterPlanMode"),
    tool_use("ExitPlanMode", plan="SECRETPLAN"),
    tool_use("Task", **{**LOOK, "prompt": "look again"}),
    reply(text("It is still blue."), when=When(prompt="look again")),
    text("done"),
    reply(text("noted"), when=When(prompt="It is still blue.")),
]


def mentions(folder: Path, *words: str) -> list[Path]:
    """Files whose path or content has one of these words."""
    found = [path for path in folder.rglob("*") if any(word in str(path) for word in words)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return found + [path for path in files if any(word.encode() in path.read_bytes() for word in words)]


def parts_of(session_id: str, home: Path) -> set[str]:
    """The names in the session's own folder."""
    (folder,) = home.glob(f"projects/*/{session_id}")
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("variables", [{}, {"CLAUDE_CONFIG_DIR": "config"}], ids=["home", "CLAUDE_CONFIG_DIR"])
async def test_a_deleted_session_leaves_nothing_behind(lab: Lab, variables: dict[str, str]):
    script = lab.root / "script.json"
    script.write_bytes(Script.of(*REPLIES).to_json())
    (lab.project / "kept.txt").write_text("old")
    given = {name: str(lab.home / value) for name, value in variables.items()}
    home = Path(given.get("CLAUDE_CONFIG_DIR") or lab.home / ".claude")
    options: dict[str, Any] = {
        "cli_path": AGENT,
        "cwd": lab.project,
        "env": lab.environment(HANDRAIL_SCRIPT=str(script), **given),
        "enable_file_checkpointing": True,
        "can_use_tool": lambda _: True,
    }
    async with Session(Options(**options)) as session:
        turns = session.turns()
        await session.ask("go")
        await anext(turns)
        await (await anext(turns))  # the turn in which the background task reports
        await session.rename_session("A title")
    assert {"subagents", "tool-results", "plans"} <= parts_of(session.id, home)
    assert mentions(home / "file-history" / session.id, "@v1")
    delete_session(session.id, config_home=home)
    assert mentions(lab.home, session.id, "SECRETPLAN", "It is blue", "It is still blue") == []
    assert mentions(lab.temporary, session.id) == []
    delete_session(session.id, config_home=home, missing_ok=True)
