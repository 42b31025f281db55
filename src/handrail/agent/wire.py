"""The agent on a wire. In: a transport. Out: an engine that is told what the host says, and an exit code.

Prompts go to the queue, control requests to their table; the end of the input ends the session when its work is done.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any, cast

from handrail.agent.controls import handlers
from handrail.agent.engine import Engine
from handrail.agent.host import Host
from handrail.agent.intake import read_line
from handrail.agent.lifetime import catch_signals, live
from handrail.agent.output import LinesOutput
from handrail.agent.queue import Prompt
from handrail.connection import Connection, Handler
from handrail.protocol import BadLine, Message
from handrail.transcripts.entry import decode
from handrail.transport.base import Ending, Transport

__all__ = ["Wire"]

JsonObject = dict[str, Any]


class Wire(Host):
    """A host at the other end of a transport."""

    listens = True

    def __init__(self, transport: Transport) -> None:
        self._handlers: dict[str, Handler] = {}
        self._engine: Engine | None = None
        self._stopped: asyncio.Future[int] | None = None
        self.connection = Connection(
            transport,
            on_messages=self._take,
            handlers=self._handlers,
            on_end=self._input_ended,
            on_bad_line=self._bad_line,
            read_line=read_line,
            stays_open=True,
        )
        self.output = LinesOutput(self.connection)

    async def ask(self, subtype: str, fields: JsonObject, *, timeout: float | None = None) -> JsonObject:
        answer = await self.connection.request(subtype, fields, timeout=timeout)
        return _fields(answer.body)

    def unanswered(self, subtype: str) -> list[JsonObject]:
        return [_fields(one.raw) for one in self.connection.peer.waiting.values() if one.subtype == subtype]

    async def run(self, engine: Engine, *, signals: bool = False) -> int:
        """Serve the host until it has gone and all work is done. Out: the exit code. `signals`: the process is ours."""
        self._engine = engine
        self._stopped = asyncio.get_running_loop().create_future()
        self._handlers |= handlers(engine)
        engine.on_end = self.stop
        if signals:
            self._catch_signals(engine)
        await self.connection.start()
        try:
            return await live(engine, self._stopped)
        finally:
            await self.connection.close()

    def stop(self, code: int) -> None:
        """End now, as a signal would: what runs is ended, and has no result."""
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(code)

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            if message.type == "user":
                self._take_user(message)
            elif message.type == "update_environment_variables":
                self._take_variables(message)

    def _take_user(self, message: Message) -> None:
        assert self._engine is not None
        fields = _fields(message.raw)
        said = fields.get("message")
        role = cast("JsonObject", said).get("role") if isinstance(said, dict) else None
        if role != "user":
            return self._fail(f"Error: Expected message role 'user', got '{role or 'undefined'}'")
        content = cast("JsonObject", said).get("content")
        uuid = fields.get("uuid")
        prompt = Prompt(
            _content(content),
            uuid=uuid if isinstance(uuid, str) else "",
            priority=str(fields.get("priority") or "next"),
            asks=fields.get("shouldQuery") is not False,
        )
        if self._engine.put(prompt) and prompt.uuid:
            self._engine.later(self._engine.tell_lifecycle(prompt.uuid, "queued"))

    def _take_variables(self, message: Message) -> None:
        assert self._engine is not None
        fields = _fields(message.raw)
        variables = fields.get("variables")
        if isinstance(variables, dict):
            self._engine.desk.environment.update(
                {str(name): str(value) for name, value in cast("JsonObject", variables).items()}
            )

    def _bad_line(self, line: BadLine) -> None:
        self._fail(line.reason)

    def _fail(self, why: str) -> None:
        print(why, file=sys.stderr, flush=True)
        self.stop(1)

    def _input_ended(self, ending: Ending) -> None:
        if self._engine is not None:
            self._engine.queue.end()

    def _catch_signals(self, engine: Engine) -> None:
        catch_signals(self.stop)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted, engine)

    def _interrupted(self, engine: Engine) -> None:
        """The turn that runs ends with its result, then the process with 0."""
        engine.forgiving = True
        if not engine.interrupt():
            self.stop(0)
        engine.queue.clear()
        engine.queue.end()


def _fields(raw: bytes) -> JsonObject:
    """A line, or a part of one; half a surrogate pair or a number beyond all bounds damages only itself."""
    try:
        return decode(raw, dict[str, Any])[0]
    except ValueError:
        return {}


def _content(given: Any) -> str | list[JsonObject]:
    """What a prompt says: text, or blocks; what is neither is left out."""
    if isinstance(given, list):
        return [cast("JsonObject", block) for block in cast("list[Any]", given) if isinstance(block, dict)]
    return given if isinstance(given, str) else ""
