"""Rules of a folder's own files with a real agent process, against the answers of `handrail permissions explain`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from handrail import Allow, Options, PermissionRequest, Session
from handrail.agent.models.script import Script, ToolUse, text, tool_use
from handrail.cli.permissions import app
from handrail.schema.content import ToolResultBlock
from handrail.schema.messages import UserMessage
from handrail.settings import accept, look, restrictions_of

AGENT = Path(sys.executable).with_name("handrail-agent")
LIMIT = 60
SETTINGS = {
    "permissions": {
        "allow": ["Bash(npm test)"],
        "deny": ["Bash(mkdir:*)", "Read(/secret/**)", "Edit(./locked.txt)"],
        "ask": ["Bash(touch:*)", "Write(/asked.txt)"],
    }
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Bash", {"command": "mkdir made"}),
    ("Bash", {"command": "touch touched"}),
    ("Bash", {"command": "rmdir empty"}),
    ("Read", {"file_path": "secret/a.txt"}),
    ("Read", {"file_path": "open.txt"}),
    ("Write", {"file_path": "locked.txt", "content": "x"}),
    ("Write", {"file_path": "asked.txt", "content": "x"}),
    ("Write", {"file_path": "new.txt", "content": "x"}),
]
EXPECTED = ["deny", "ask", "allow", "deny", "allow", "deny", "ask", "allow"]


class Project:
    """A folder with settings, and the config home of its user."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name in ("secret", "empty", ".claude"):
            (path / name).mkdir(parents=True)
        for name in ("secret/a.txt", "open.txt"):
            (path / name).write_text("text")
        self.write(json.dumps(SETTINGS))

    @property
    def home(self) -> str:
        return str(Path.home() / ".claude")

    def write(self, content: str) -> None:
        (self.path / ".claude" / "settings.json").write_text(content)

    def accept(self) -> None:
        accept(look(str(self.path), self.home).contents, self.home)

    @property
    def trusted(self) -> bool:
        return look(str(self.path), self.home).trusted


def untrusted(project: Project) -> None:
    pass


def trusted(project: Project) -> None:
    project.accept()


def changed_after_trust(project: Project) -> None:
    project.accept()
    permissions = {**SETTINGS["permissions"], "deny": [*SETTINGS["permissions"]["deny"], "WebFetch"]}
    project.write(json.dumps({"permissions": permissions}))


def partly_broken(project: Project) -> None:
    project.write(json.dumps({**SETTINGS, "env": "no object"}))


def cut_off(project: Project) -> None:
    project.write(json.dumps(SETTINGS)[:-1])


def emptied_after_trust(project: Project) -> None:
    project.accept()
    restrictions_of(str(project.path), project.home)  # a session was started while the file was valid
    project.write("")


STATES = {
    untrusted: False,
    trusted: True,
    changed_after_trust: False,
    partly_broken: True,
    cut_off: True,
    emptied_after_trust: True,
}
"""Whether the folder is trusted then. A broken file grants nothing, so there is nothing to accept."""


def as_explained(project: Project) -> list[str]:
    """What `handrail permissions explain` says about each call."""
    decisions: list[str] = []
    for tool, given in CALLS:
        command = ["explain", tool, json.dumps(given), "--cwd", str(project.path), "--mode", "acceptEdits", "--json"]
        decisions.append(json.loads(CliRunner().invoke(app, command).stdout)["decision"])
    return decisions


async def as_decided(project: Project) -> list[str]:
    """What a session decides about each call, started as the server starts it."""
    asked: set[str] = set()
    denied: dict[str, bool] = {}

    async def allow(request: PermissionRequest) -> Allow:
        asked.add(request.tool_use_id)
        return Allow()

    calls = [ToolUse(tool, _absolute(given, project), id=f"call{n}") for n, (tool, given) in enumerate(CALLS)]
    sources = ("user", "project", "local") if project.trusted else ("user",)
    restrictions = restrictions_of(str(project.path), project.home, cli_reads_folder=project.trusted)
    options = Options(
        cli_path=AGENT,
        cwd=project.path,
        env={"HANDRAIL_SCRIPT": Script.of(calls, text("done")).to_json().decode()},
        permission_mode="acceptEdits",
        setting_sources=sources,
        settings=restrictions.settings or None,
        can_use_tool=allow,
    )
    async with asyncio.timeout(LIMIT), Session(options) as session:
        async for message in await session.send("go"):
            for result in message.tool_results if isinstance(message, UserMessage) else ():
                denied[result.tool_use_id] = _is_denied(result)
    ids = [f"call{n}" for n in range(len(CALLS))]
    return ["ask" if id in asked else "deny" if denied[id] else "allow" for id in ids]


def _absolute(given: dict[str, Any], project: Project) -> dict[str, Any]:
    return {**given, "file_path": str(project.path / given["file_path"])} if "file_path" in given else given


def _is_denied(result: ToolResultBlock) -> bool:
    return bool(result.is_error) and "denied" in result.text


@pytest.mark.parametrize(("state", "is_trusted"), STATES.items(), ids=[state.__name__ for state in STATES])
async def test_session_decides_as_explained(tmp_path: Path, state: Callable[[Project], None], is_trusted: bool):
    project = Project(tmp_path / "project")
    state(project)
    assert project.trusted is is_trusted
    explained = as_explained(project)
    assert explained == EXPECTED
    assert await as_decided(project) == explained


async def test_deny_from_the_flag_wins_over_every_allow(tmp_path: Path):
    """Deny and ask rules of --settings have the same precedence as those of a file."""
    made = tmp_path / "made"
    for permissions, expected in (({"deny": ["Bash(mkdir:*)"]}, "denied"), ({"ask": ["Bash(mkdir:*)"]}, "asked")):
        asked: list[str] = []

        async def refuse(request: PermissionRequest, asked: list[str] = asked) -> Any:
            asked.append(request.tool_name)
            return {"behavior": "deny", "message": "no"}

        options = Options(
            cli_path=AGENT,
            cwd=tmp_path,
            env={"HANDRAIL_SCRIPT": Script.of(tool_use("Bash", command="mkdir made"), text("done")).to_json().decode()},
            permission_mode="acceptEdits",
            allowed_tools=["Bash(mkdir:*)", "Bash"],
            settings={"permissions": permissions},
            can_use_tool=refuse,
        )
        async with asyncio.timeout(LIMIT), Session(options) as session:
            await session.ask("go")
        assert ("asked" if asked else "denied") == expected
        assert not made.exists()
