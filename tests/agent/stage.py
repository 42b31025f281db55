"""An agent in this process, connected to a fake host over an in-memory wire.

async with stage(tmp_path, script) as host:
    result = await host.turn("Hi")
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from handrail.agent.arguments import read_arguments
from handrail.agent.conversation.history import size_of
from handrail.agent.engine import Engine
from handrail.agent.host.wire import Wire
from handrail.agent.models.player import Player
from handrail.agent.models.script import Script
from handrail.agent.models.scripted import ScriptedModel
from handrail.agent.start import make_engine
from handrail.transport.base import TransportClosed
from handrail.transport.memory import MemoryTransport, memory_pair
from tests.shapes import line_problems

JsonObject = dict[str, Any]
Answering = Callable[[JsonObject], JsonObject | None]
STREAMING = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
ASKING = ("--permission-prompt-tool", "stdio")
LIMIT = 30


class RecordingModel(ScriptedModel):
    """Plays a script and records the requests. With `counts` it reports realistic input tokens."""

    def __init__(self, script: Script | Player, *, counts: bool = False) -> None:
        super().__init__(script)
        self.asked: list[JsonObject] = []
        self._counts = counts

    def play(self, *replies: Any) -> None:
        """Continue with these replies, which may use ids from the lines so far."""
        self._player = Player(Script.of(*replies), label=f"script{len(self.asked)}")

    def _ask(self, request: Any) -> Any:
        messages = json.loads(json.dumps(list(request.messages)))
        asked = {"messages": messages, "system": list(request.system), "tools": list(request.tools)}
        self.asked.append({"model": request.model, **asked})
        played = super()._ask(request)
        if not self._counts:
            return played
        usage = {"input_tokens": size_of(messages), "output_tokens": 20}
        return replace(played, reply=replace(played.reply, usage=usage))


class StagedHost:
    """The host. `answers` maps subtypes to functions that answer requests of the agent; None leaves them open."""

    def __init__(self, transport: MemoryTransport, engine: Engine, model: RecordingModel) -> None:
        self._transport, self.engine, self.model = transport, engine, model
        self.lines: list[JsonObject] = []
        self.shape_problems: list[str] = []
        self.answers: dict[str, Answering] = {"can_use_tool": lambda request: {"behavior": "allow"}}
        self.session: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._changed = asyncio.Condition()
        self._asked = 0

    async def write(self, line: JsonObject | bytes, *, end: bytes = b"\n") -> None:
        """Send a line to the agent."""
        await self._transport.send((line if isinstance(line, bytes) else json.dumps(line).encode()) + end)

    async def say(self, content: Any, **fields: Any) -> None:
        """Send a prompt."""
        await self.write({"type": "user", "message": {"role": "user", "content": content}, **fields})

    async def turn(self, content: Any, **fields: Any) -> JsonObject:
        """Send a prompt and wait for its result."""
        seen = len(self.of("result"))
        await self.say(content, **fields)
        return await self.result(seen)

    async def result(self, index: int = 0) -> JsonObject:
        """Wait for the result with this index."""
        return await self.until(lambda: next(iter(self.of("result")[index:]), None))

    async def control(self, subtype: str, **fields: Any) -> JsonObject:
        """Send a control request and wait for its answer."""
        self._asked += 1
        id = f"host-{self._asked}"
        await self.write({"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}})
        return await self.until(
            lambda: next((line["response"] for line in self.of("control_response") if _id(line) == id), None)
        )

    async def answer(self, request: JsonObject, payload: JsonObject) -> None:
        """Answer a request that was left open."""
        response = {"subtype": "success", "request_id": request["request_id"], "response": payload}
        await self.write({"type": "control_response", "response": response})

    async def until(self, found: Callable[[], Any]) -> Any:
        """Wait until `found` returns a true value, and return it."""
        async with asyncio.timeout(LIMIT), self._changed:
            while not (value := found()):
                await self._changed.wait()
            return value

    async def until_line(self, type: str, subtype: str = "") -> JsonObject:
        """Wait for the first line of a type."""
        return await self.until(lambda: next(iter(self.of(type, subtype)), None))

    def of(self, type: str, subtype: str = "") -> list[JsonObject]:
        """The lines of a type so far."""
        found = [line for line in self.lines if line["type"] == type]
        return [line for line in found if subtype in ("", line.get("subtype"), _asked(line).get("subtype"))]

    def requests(self, subtype: str) -> list[JsonObject]:
        """The control requests of the agent so far."""
        return [line["request"] for line in self.of("control_request", subtype)]

    def results_of_tools(self) -> list[JsonObject]:
        """All tool_result blocks so far."""
        return [
            block
            for line in self.of("user")
            for block in line["message"]["content"]
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ]

    async def exit_code(self) -> int:
        """Wait until the agent has exited."""
        async with asyncio.timeout(LIMIT):
            return await asyncio.shield(self.session)

    async def end_input(self) -> None:
        """Close the input of the agent."""
        await self._transport.end_input()

    async def listen(self) -> None:
        """Read lines until the agent has exited."""
        rest = b""
        while data := await self._transport.receive():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                await self._take(json.loads(line))

    async def _take(self, line: JsonObject) -> None:
        self.shape_problems += line_problems(line)
        async with self._changed:
            self.lines.append(line)
            self._changed.notify_all()
        answer = self.answers.get(_asked(line).get("subtype", ""))
        if answer and (payload := answer(line["request"])) is not None:
            await self.answer(line, payload)


def _asked(line: JsonObject) -> JsonObject:
    return line.get("request") or {}


def _id(line: JsonObject) -> str:
    return line["response"]["request_id"]


@asynccontextmanager
async def stage(
    folder: Path,
    script: Script | Player,
    *flags: str,
    environment: dict[str, str] | None = None,
    asks: bool = True,
    counts: bool = False,
) -> AsyncGenerator[StagedHost]:
    """A session in `folder/project`, with its home in `folder/home`."""
    host_end, agent_end = memory_pair()
    wire, model = Wire(agent_end), RecordingModel(script, counts=counts)
    engine = staged_engine(folder, model, *flags, environment=environment, asks=asks, wire=wire)
    host = StagedHost(host_end, engine, model)
    session = host.session = asyncio.create_task(wire.run(engine))
    listening = asyncio.create_task(host.listen())
    try:
        yield host
    finally:
        try:
            await host.end_input()
            async with asyncio.timeout(LIMIT):
                await session
        except (TimeoutError, TransportClosed):
            session.cancel()
        await asyncio.gather(session, listening, return_exceptions=True)
    assert not host.shape_problems, f"lines differ from their views in handrail.schema: {host.shape_problems}"


def staged_engine(
    folder: Path,
    model: RecordingModel,
    *flags: str,
    environment: dict[str, str] | None = None,
    asks: bool = True,
    wire: Wire,
) -> Engine:
    """Make an engine, with a project and a home folder."""
    project, home = folder / "project", folder / "home"
    project.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    variables = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", **(environment or {})}
    arguments = read_arguments([*STREAMING, *(ASKING if asks else ()), *flags])
    return make_engine(arguments, variables, str(project), output=wire.output, host=wire, model=model)


def assert_calls_are_answered(messages: list[JsonObject]) -> None:
    """Check what the API requires: roles alternate, and every call has a result in the next message."""
    roles = [message["role"] for message in messages]
    assert all(first != second for first, second in pairwise(roles)), roles
    for index, message in enumerate(messages):
        calls = {block["id"] for block in message["content"] if block["type"] == "tool_use"}
        after = messages[index + 1]["content"] if index + 1 < len(messages) else []
        results = [block["tool_use_id"] for block in after if block["type"] == "tool_result"]
        assert calls <= set(results), (calls, results)
        assert len(results) == len(set(results))


def hooks_for(*events: str, **more: Any) -> JsonObject:
    """Hooks for the initialize request; the callback id of each event is its name."""
    return {event: [{"matcher": None, "hookCallbackIds": [event], **more}] for event in events}
