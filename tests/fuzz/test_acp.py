"""Damaged JSON-RPC lines of an editor: each is answered or ignored, and the sessions of the editor go on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import msgspec
import pytest

from handrail.acp.editors.agent import EditorAgent
from handrail.acp.editors.base import EditorListener, Opening
from handrail.acp.rpc import RpcError
from handrail.bridge_client.base import Listener
from handrail.client.callbacks import Allow, Deny, PermissionRequest
from handrail.protocol.lines import LineSplitter
from handrail.schema.acp import messages as acp
from handrail.schema.handshake import Model, SlashCommand
from handrail.schema.messages import read_message
from handrail.schema.result_message import ResultMessage
from handrail.transport.memory import memory_pair
from tests.fuzz.wire import KEY, VALUE, Mutator, Seed, _spans

LINES = 3000
RESULT = read_message("result", "success", b'{"type":"result","subtype":"success","is_error":false,"uuid":"u"}')
TEXT = {"type": "text", "text": "hello"}
LINK = {"type": "resource_link", "uri": "file:///w/../../etc/passwd", "name": "a"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///b", "text": "b"}}
SERVER = {"name": "s", "command": "/bin/s", "args": ["a"], "env": [{"name": "A", "value": "b"}]}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}, "terminal": True}}),
    ("authenticate", {"methodId": "x"}),
    ("session/new", {"cwd": "/w", "mcpServers": [SERVER], "additionalDirectories": ["/a"]}),
    ("session/load", {"sessionId": "s0", "cwd": "/w", "mcpServers": []}),
    ("session/resume", {"sessionId": "s1", "cwd": "/w", "mcpServers": []}),
    ("session/fork", {"sessionId": "s1", "cwd": "/w"}),
    ("session/list", {"cwd": "/w", "cursor": "0"}),
    ("session/close", {"sessionId": "s1"}),
    ("session/delete", {"sessionId": "s1"}),
    ("session/prompt", {"sessionId": "s0", "prompt": [TEXT, LINK, RESOURCE]}),
    ("session/set_mode", {"sessionId": "s0", "modeId": "plan"}),
    ("session/set_config_option", {"sessionId": "s0", "configId": "model", "value": "default"}),
    ("session/cancel", {"sessionId": "s0"}),
    ("$/cancel_request", {"requestId": 3}),
]


ANSWERS: list[dict[str, Any]] = [
    {"result": {"outcome": {"outcome": "selected", "optionId": "allow"}}},
    {"result": {"outcome": {"outcome": "cancelled"}}},
    {"error": {"code": -32603, "message": "the window was closed", "data": {"details": "x"}}},
]


class StillSession:
    """A session whose turns ask one question and end."""

    mode, model, may_bypass = "default", "default", False
    models: Sequence[Model] = (Model(value="default"),)
    commands: Sequence[SlashCommand] = ()

    def __init__(self, session_id: str, cwd: str, listener: Listener) -> None:
        self.id, self.cwd, self._listener = session_id, cwd, listener

    async def prompt(self, blocks: Sequence[Mapping[str, Any]]) -> ResultMessage:
        asked = PermissionRequest(tool_name="Bash", input={"command": "ls"}, tool_use_id="toolu_1")
        with suppress(RpcError):
            assert isinstance(await self._listener.permission(asked), Allow | Deny)
        assert isinstance(RESULT, ResultMessage)
        await self._listener.received(RESULT, stored=False)
        return RESULT

    async def interrupt(self) -> None:
        return

    async def set_permission_mode(self, mode: str) -> None:
        self.mode = mode

    async def set_model(self, model: str) -> None:
        self.model = model

    async def close(self) -> None:
        return


class StillSource:
    """Opens such sessions."""

    def __init__(self) -> None:
        self._count = 0

    async def open(self, opening: Opening, listener: EditorListener) -> StillSession:
        self._count += 1
        return StillSession(opening.session or f"new{self._count}", opening.cwd, listener)

    async def list(self, cwd: str | None, start: int, limit: int) -> Sequence[acp.SessionInfo]:
        return []

    async def delete(self, session_id: str) -> None:
        return


class Lines:
    """Messages to damage."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        lines = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
        self.seeds = [Seed(line, _spans(KEY, line), _spans(VALUE, line)) for line in lines]
        self.keys = sorted({line[start:end] for line, keys, _ in self.seeds for start, end in keys})


def request_lines() -> Lines:
    """Requests and notifications of an editor, and answers to nothing."""
    requests = [
        {"method": method, "params": params, **({} if "cancel" in method else {"id": at})}
        for at, (method, params) in enumerate(REQUESTS)
    ]
    return Lines([*requests, {"id": 0, "result": {}}, {"id": 0, "error": {"code": 1}}])


class Caller:
    """The editor's end: sends lines and reads answers. It answers questions with a damaged line and a good one."""

    def __init__(self, transport: Any, random: Random) -> None:
        self._transport, self._random = transport, random
        self.refused = 0
        self._answered: dict[Any, asyncio.Future[dict[str, Any]]] = {}

    async def send(self, line: bytes) -> None:
        await self._transport.send(line + b"\n")

    async def ask(self, number: str, method: str, **params: Any) -> dict[str, Any]:
        waiting = self._answered[number] = asyncio.get_running_loop().create_future()
        await self.send(msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return await waiting

    async def read(self) -> None:
        """Read answers and updates; each must be what JSON-RPC and the protocol say."""
        splitter = LineSplitter()
        while data := await self._transport.receive():
            for line in splitter.feed(data):
                assert isinstance(line, bytes)
                message = json.loads(line)
                if message.get("method") == "session/update":
                    msgspec.convert(message["params"], acp.SessionNotification)
                elif "id" in message and "method" in message:
                    await self._answer(message["id"])
                elif "method" not in message:
                    assert ("result" in message) != ("error" in message)
                    self.refused += "error" in message
                    waiting = self._answered.pop(json.dumps(message["id"]).strip('"'), None)
                    if waiting is not None:
                        waiting.set_result(message)

    async def _answer(self, number: int) -> None:
        damaged = Mutator(Lines([{"id": number, **answer} for answer in ANSWERS]), self._random)  # type: ignore[arg-type]
        await self.send(damaged.line().replace(b"\n", b" "))
        await self.send(msgspec.json.encode({"jsonrpc": "2.0", "id": number, **ANSWERS[1]}))


@pytest.mark.parametrize("seed", range(3))
async def test_damaged_lines_are_refused_and_the_session_lives(seed: int):
    ours, theirs = memory_pair()
    agent = asyncio.create_task(EditorAgent(theirs, StillSource()).run())
    caller = Caller(ours, Random(seed))
    reading = asyncio.create_task(caller.read())
    mutator = Mutator(request_lines(), Random(seed))  # type: ignore[arg-type]
    async with asyncio.timeout(60):
        session = (await caller.ask("open", "session/new", cwd="/w", mcpServers=[]))["result"]["sessionId"]
        for number in range(LINES):
            await caller.send(mutator.line().replace(b"\n", b" "))
            if number % 100 == 0:
                listed = await caller.ask(f"check{number}", "session/list")
                assert listed["result"] == {"sessions": []}
        answer = await caller.ask("last", "session/prompt", sessionId=session, prompt=[TEXT])
        assert answer["result"]["stopReason"] == "end_turn"
        await ours.close()
        await agent
        await reading
    assert caller.refused > LINES // 10
