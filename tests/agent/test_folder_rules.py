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
        "allow": ["Bash(./build.sh)"],
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
    ("Bash", {"command": "./build.sh"}),
]
EXPECTED = ["deny", "ask", "allow", "deny", "allow", "deny", "ask", "allow"]
"""The decisions in every state. The last call is allowed only if the allow rule of the folder counts."""


class Project:
    """A folder with settings, and the config home of its user."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name in ("secret", "empty", ".claude"):
            (path / name).mkdir(parents=True)
        for name in ("secret/a.txt", "open.txt"):
            (path / name).write_text("text")
        (path / "build.sh").write_text("#!/bin/sh\n")
        (path / "build.sh").chmod(0o755)
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


def trusted_in_cli(project: Project) -> None:
    answer = {"projects": {str(project.path): {"hasTrustDialogAccepted": True}}}
    (Path.home() / ".claude.json").write_text(json.dumps(answer))


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
    untrusted: (False, "ask"),
    trusted: (True, "allow"),
    trusted_in_cli: (True, "allow"),
    changed_after_trust: (False, "ask"),
    partly_broken: (True, "ask"),
    cut_off: (True, "ask"),
    emptied_after_trust: (True, "ask"),
}
"""Whether the folder is then trusted, and the decision about the last call. A broken file needs no trust: it grants
nothing."""


def as_explained(project: Project, *flags: str) -> list[str]:
    """What `handrail permissions explain` says about each call."""
    decisions: list[str] = []
    for tool, given in CALLS:
        place = ("--cwd", str(project.path), *flags)
        command = ["explain", tool, json.dumps(given), *place, "--mode", "acceptEdits", "--json"]
        decisions.append(json.loads(CliRunner().invoke(app, command).stdout)["decision"])
    return decisions


async def as_decided(project: Project, *flags: str, by_server: bool) -> list[str]:
    """What a session decides about each call.

    `by_server`: started as `handrail serve` starts it, else as a host that lets the agent read all sources.
    """
    asked: set[str] = set()
    denied: dict[str, bool] = {}

    async def allow(request: PermissionRequest) -> Allow:
        asked.add(request.tool_use_id)
        return Allow()

    calls = [ToolUse(tool, _absolute(given, project), id=f"call{n}") for n, (tool, given) in enumerate(CALLS)]
    reads_folder = project.trusted or not by_server
    sources = ("user", "project", "local") if reads_folder else ("user",)
    restrictions = restrictions_of(str(project.path), project.home, cli_reads_folder=reads_folder)
    options = Options(
        cli_path=AGENT,
        cwd=project.path,
        env={"HANDRAIL_SCRIPT": Script.of(calls, text("done")).to_json().decode()},
        permission_mode="acceptEdits",
        setting_sources=sources,
        settings=(by_server and restrictions.settings) or None,
        extra_args={flag.removeprefix("--"): None for flag in flags},
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


@pytest.mark.parametrize("by_server", [True, False], ids=["server", "host"])
@pytest.mark.parametrize("state", STATES, ids=[state.__name__ for state in STATES])
async def test_session_decides_as_explained(tmp_path: Path, state: Callable[[Project], None], by_server: bool):
    project = Project(tmp_path / "project")
    state(project)
    is_trusted, last = STATES[state]
    assert project.trusted is is_trusted
    explained = as_explained(project)
    assert explained == [*EXPECTED, last]
    assert await as_decided(project, by_server=by_server) == explained


async def test_session_that_trusts_the_folder_decides_as_explained(tmp_path: Path):
    project = Project(tmp_path / "project")
    explained = as_explained(project, "--trust-folder")
    assert explained == [*EXPECTED, "allow"]
    assert await as_decided(project, "--trust-folder", by_server=False) == explained
    assert not project.trusted


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
