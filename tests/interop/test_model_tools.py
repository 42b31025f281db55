"""Tools for background work, worktrees and deferred tools: one script, played with the real CLI and with ours.

Each scene returns facts about what the caller saw, what the model was sent and what is on disk. Both programs must have
the expected ones.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail import Options, Session, Turn
from handrail.schema.activity_messages import TaskNotificationMessage, TaskStartedMessage
from handrail.testing import (
    Endpoint,
    Lab,
    PlayedReply,
    Player,
    Script,
    ScriptedMessagesApi,
    hang,
    text,
    tool_use,
)
from tests.interop.scenario import LIMIT, bash, ended, everything_sent, of, results_seen, results_sent

AGENT = Path(sys.executable).with_name("handrail-agent")
Facts = dict[str, Any]
MANY_TOOLS = """
import json, sys
names = [f"tool_{number}" for number in range(40)]
def answer(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    id, method, given = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        about = {"name": "many", "version": "1"}
        answer(id, {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about})
    elif method == "tools/list":
        empty = {"type": "object", "properties": {}}
        answer(id, {"tools": [{"name": name, "description": name, "inputSchema": empty} for name in names]})
    elif method == "tools/call":
        answer(id, {"content": [{"type": "text", "text": "called " + given["name"]}]})
    elif id is not None:
        answer(id, {})
"""


class Improvised(Player):
    """A model whose replies may be functions of the results that it was sent.

    A request whose last message contains the words `apart` gets the reply of that name, out of turn.
    """

    def __init__(self, *replies: Any, apart: dict[str, Any] | None = None) -> None:
        super().__init__(Script(), label=secrets.token_hex(4))
        self._left, self._given, self._apart = list(replies), 0, apart or {}

    def is_main(self, request: dict[str, Any]) -> bool:
        return bool(request.get("tools"))

    def reply_to(self, request: dict[str, Any]) -> PlayedReply:
        last = json.dumps(request["messages"][-1])
        apart = [reply for words, reply in self._apart.items() if words in last]
        reply = apart[0] if apart else self._left.pop(0) if self._left and self.is_main(request) else text("Well.")
        self._given += 1
        chosen = reply(_results(request)) if callable(reply) else reply
        return Player(Script.of(chosen), label=f"{self.label}{self._given}").reply_to(request)


def _results(request: dict[str, Any]) -> str:
    blocks = [block for message in request["messages"] for block in message["content"] if isinstance(block, dict)]
    return "\n".join(json.dumps(block) for block in blocks if block.get("type") == "tool_result")


def task_id(results: str) -> str:
    """The id of the background command in these results."""
    return re.findall(r"background with ID: (\w+)", results)[-1]


def agent_id(results: str) -> str:
    """The first id of a subagent in these results."""
    return re.findall(r"\ba[0-9a-f]{16}\b", results)[0]


class Place:
    """A program to play a scene with."""

    def __init__(self, cli: Path, folder: Path) -> None:
        self._cli, self.lab = cli, Lab(folder)

    @asynccontextmanager
    async def session(
        self, *replies: Any, search: str = "false", apart: dict[str, Any] | None = None, **given: Any
    ) -> AsyncIterator[tuple[Session, Endpoint]]:
        async with asyncio.timeout(LIMIT), ScriptedMessagesApi() as api:
            endpoint = api.session(Improvised(*replies, apart=apart))
            variables = {"ENABLE_TOOL_SEARCH": search, "HANDRAIL_TRUST_FOLDER": "1", "ANTHROPIC_API_KEY": "loopback"}
            options: dict[str, Any] = {
                "cli_path": self._cli,
                "cwd": self.lab.project,
                "env": self.lab.environment(endpoint, **variables),
                "model": "claude-sonnet-5-5",
                "can_use_tool": lambda request: True,
            }
            async with Session(Options(**options | given)) as session:
                yield session, endpoint

    def git(self, *arguments: str, folder: str = "") -> str:
        words = ("git", "-c", "user.email=a@example.com", "-c", "user.name=n", *arguments)
        place = self.lab.project / folder
        return subprocess.run(words, cwd=place, check=True, capture_output=True, text=True).stdout.strip()

    def repository(self) -> None:
        (self.lab.project / "a.txt").write_text("one\n")
        self.git("init", "-q", "-b", "main", ".")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "First")


def errors_seen(messages: list[Any]) -> list[bool]:
    return [bool(result.is_error) for result in results_seen(messages)]


def _stop(results: str) -> Any:
    return tool_use("TaskStop", task_id=task_id(results))


async def stop_a_command(place: Place) -> Facts:
    os.mkfifo(place.lab.project / "pipe")
    start = bash("echo $$ > pipe; exec tail -f /dev/null", run_in_background=True)
    # The command is stopped only after it has begun.
    async with place.session(start, bash("cat pipe"), _stop, _stop, text("stopped")) as (session, api):
        turn = await session.send("run and stop it")
        messages = [message async for message in turn]
        await ended(int(results_seen(messages)[1].text))
    [task] = of(TaskStartedMessage, messages)
    notices = [notice.status for notice in of(TaskNotificationMessage, messages) if notice.task_id == task.task_id]
    sent = results_sent(api.main_requests[-1])
    return {
        "errors": errors_seen(messages),
        "said": turn.result.text,
        "statuses": notices,
        "model sees the id": task.task_id in sent[2],
    }


async def watch_a_command(place: Place) -> Facts:
    watch = tool_use("Monitor", command="echo ready", description="waits for it", timeout_ms=10_000)
    async with place.session(watch, text("watching"), text("seen")) as (session, api):
        turns = session.turns()
        asked = await session.send("watch it")
        messages = [message async for message in asked]
        assert await anext(turns) is asked
        event: Turn = await anext(turns)
        await event
        while len(api.main_requests) < 3:  # the command may have ended: its output and its end are told in one request
            event = await anext(turns)
            await event
    last = everything_sent(api.main_requests[2])
    origin = event.result.message.origin
    return {
        "errors": errors_seen(messages),
        "said": asked.result.text,
        "turn of the program": (event.from_cli, origin.kind if origin else ""),
        "model sees the event": "<event>ready</event>" in last,
        "model sees what is watched": "waits for it" in last,
    }


def _send(results: str) -> Any:
    return tool_use("SendMessage", to=agent_id(results), message="And the size?", summary="asks on")


async def continue_a_subagent(place: Place) -> Facts:
    start = tool_use(
        "Task",
        description="looks",
        prompt="look it up",
        subagent_type="general-purpose",
        run_in_background=False,
    )
    unknown = tool_use("SendMessage", to="a0123456789abcdef", message="Hello?", summary="asks no one")
    replies = [start, text("It is blue."), text("blue"), unknown, text("no one"), _send, text("asked")]
    apart = {"And the size?": [hang(), text("It is big.")]}  # so that it is not done before the turn is
    async with place.session(*replies, apart=apart) as (session, api):
        turns = session.turns()
        first = await session.send("which colour?")
        await first
        second = await session.send("ask someone else")
        await second
        third = await session.send("ask on")
        messages = [message async for message in third]
        await api.hanging()
        api.release()
        assert [await anext(turns) for _ in range(3)] == [first, second, third]
        report = await anext(turns)
        await report
    answers = [json.loads(result) for result in results_sent(api.main_requests[-1]) if result.startswith("{")]
    refusal, answer = answers
    [continued] = [
        everything_sent(request)
        for request in api.main_requests
        if "And the size?" in everything_sent(request) and "which colour?" not in everything_sent(request)
    ]
    return {
        "sent": (answer["success"], bool(agent_id(answer["resumedAgentId"]))),
        "not sent": refusal["success"],
        "errors": errors_seen(messages),
        "subagent still knows": "look it up" in continued and "It is blue." in continued,
        "report": (report.from_cli, "It is big." in everything_sent(api.main_requests[-1])),
    }


async def work_in_a_worktree(place: Place) -> Facts:
    place.repository()
    calls = [
        tool_use("EnterWorktree", name="side"),
        bash("pwd -P; git branch --show-current; echo two > b.txt"),
        tool_use("ExitWorktree", action="remove"),
        tool_use("ExitWorktree", action="keep"),
        bash("pwd -P"),
        tool_use("ExitWorktree", action="keep"),
    ]
    async with place.session(*calls, text("back")) as (session, api):
        messages = [message async for message in await session.send("work there")]
    folder, branch = results_sent(api.main_requests[-1])[1].splitlines()[:2]
    project = place.lab.project
    return {
        "errors": errors_seen(messages),
        "folder": str(Path(folder).relative_to(project)),
        "branch": branch,
        "back in": results_sent(api.main_requests[-1])[4].splitlines()[0] == str(project),
        "kept": (project / ".claude" / "worktrees" / "side" / "b.txt").exists(),
        "branches": sorted(place.git("branch", "--format=%(refname:short)").splitlines()),
    }


async def remove_a_worktree(place: Place) -> Facts:
    place.repository()
    calls = [
        tool_use("EnterWorktree", name="side"),
        bash("echo two > b.txt"),
        tool_use("ExitWorktree", action="remove", discard_changes=True),
    ]
    async with place.session(*calls, text("back")) as (session, _):
        messages = [message async for message in await session.send("try it")]
    return {
        "errors": errors_seen(messages),
        "left": (place.lab.project / ".claude" / "worktrees" / "side").exists(),
        "branches": place.git("branch", "--format=%(refname:short)").splitlines(),
    }


async def load_a_deferred_tool(place: Place) -> Facts:
    server = place.lab.root / "server.py"
    server.write_text(MANY_TOOLS)
    servers = {"many": {"type": "stdio", "command": sys.executable, "args": [str(server)]}}
    calls = [tool_use("ToolSearch", query="select:mcp__many__tool_7"), tool_use("mcp__many__tool_7")]
    async with place.session(*calls, text("done"), search="true", mcp_servers=servers) as (session, api):
        messages = [message async for message in await session.send("call it")]
    requests = api.main_requests
    found = [block for message in requests[1].messages for block in message["content"] if isinstance(block, dict)]
    [search] = [block["content"] for block in found if block.get("type") == "tool_result"]

    def offered(index: int) -> list[str]:
        tools = requests[index].body["tools"]
        return [tool["name"] for tool in tools if tool["name"].startswith("mcp__") and not tool.get("defer_loading")]

    return {
        "errors": errors_seen(messages),
        "search": search,
        "offered before": offered(0),
        "called": results_sent(requests[2])[-1],
    }


Scene = Callable[[Place], Awaitable[Facts]]
SCENES: dict[Scene, Facts] = {
    stop_a_command: {
        "errors": [False, False, False, True],
        "said": "stopped",
        "statuses": ["stopped"],
        "model sees the id": True,
    },
    watch_a_command: {
        "errors": [False],
        "said": "watching",
        "turn of the program": (True, "task-notification"),
        "model sees the event": True,
        "model sees what is watched": True,
    },
    continue_a_subagent: {
        "sent": (True, True),
        "not sent": False,
        "errors": [False],
        "subagent still knows": True,
        "report": (True, True),
    },
    work_in_a_worktree: {
        "errors": [False, False, True, False, False, True],
        "folder": ".claude/worktrees/side",
        "branch": "worktree-side",
        "back in": True,
        "kept": True,
        "branches": ["main", "worktree-side"],
    },
    remove_a_worktree: {"errors": [False, False, False], "left": False, "branches": ["main"]},
    load_a_deferred_tool: {
        "errors": [False, False],
        "search": [{"type": "tool_reference", "tool_name": "mcp__many__tool_7"}],
        "offered before": [],
        "called": "called tool_7",
    },
}


@pytest.mark.parametrize("program", ["the CLI", "ours"])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
async def test_one_script_has_the_same_effects(scene: Scene, program: str, cli: Path, tmp_path: Path):
    place = Place(cli if program == "the CLI" else AGENT, tmp_path)
    assert await scene(place) == SCENES[scene]
    assert place.lab.leftovers() == [], "processes were left behind"
