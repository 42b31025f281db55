"""A session on a wire: prompts of the host go to the brain, control requests to the brain's handlers.

The end of the input ends the session once its work is done.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any, Final, cast

from handrail.agent.base import Brain, Prompt
from handrail.agent.host.intake import read_line
from handrail.agent.host.lifetime import catch_signals, live
from handrail.agent.host.output import LinesOutput
from handrail.connection import Connection
from handrail.protocol import BadLine, Message
from handrail.transcripts.entry import decode
from handrail.transport.base import Ending, Transport

__all__ = ["Wire"]

JsonObject = dict[str, Any]
_UNUSED: Final = ("pasted_content", "inline_pastes", "file_attachments")
"""Fields of user lines that the CLI reads and this agent does not."""


class Wire:
    """The host at the other end of a transport."""

    listens = True

    def __init__(self, transport: Transport) -> None:
        self._brain: Brain | None = None
        self._stopped: asyncio.Future[int] | None = None
        self.connection = Connection(
            transport,
            on_messages=self._take,
            on_end=self._input_ended,
            on_bad_line=self._bad_line,
            read_line=read_line,
            stays_open=True,
            lenient=True,
        )
        self.output = LinesOutput(self.connection)

    async def ask(self, subtype: str, fields: JsonObject, *, timeout: float | None = None) -> JsonObject:
        """Send a control request and return the payload of its answer."""
        answer = await self.connection.request(subtype, fields, timeout=timeout)
        return _fields(answer.body)

    def unanswered(self, subtype: str) -> list[JsonObject]:
        """The pending control requests of this subtype, as they were sent."""
        return [_fields(one.raw) for one in self.connection.peer.waiting.values() if one.subtype == subtype]

    async def run(self, brain: Brain, *, signals: bool = False) -> int:
        """Serve the host until it has disconnected and all work is done. Returns the exit code.

        `signals`: signals to this process end the session.
        """
        self._brain = brain
        self._stopped = asyncio.get_running_loop().create_future()
        self.connection.serve(brain.handlers())
        if signals:
            catch_signals(self.stop)
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted, brain)
        await self.connection.start()
        try:
            return await live(brain, self._stopped)
        finally:
            await self.connection.close()

    def stop(self, code: int) -> None:
        """End the session now with this exit code. The running turn is ended without a result."""
        self.connection.stop_asking()
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(code)

    def _take(self, messages: list[Message]) -> None:
        assert self._brain is not None
        for message in messages:
            if message.type == "user":
                self._take_user(self._brain, _fields(message.raw))
            elif message.type == "update_environment_variables":
                variables = _fields(message.raw).get("variables")
                if isinstance(variables, dict):
                    given = cast("JsonObject", variables)
                    self._brain.set_variables({str(name): str(value) for name, value in given.items()})
            elif message.type == "bash_command":
                _notice("the bash_command line is")

    def _take_user(self, brain: Brain, fields: JsonObject) -> None:
        said = fields.get("message")
        message = cast("JsonObject", said) if isinstance(said, dict) else {}
        if message.get("role") != "user":
            return self._fail(f"Error: Expected message role 'user', got '{message.get('role') or 'undefined'}'")
        content = message.get("content")
        if content is not None and not isinstance(content, str | list):
            return  # the CLI starts no turn for it either
        for name in _UNUSED:
            if fields.get(name):
                _notice(f"{name} of user lines is")
        uuid = fields.get("uuid")
        brain.put(
            Prompt(
                _content(content),
                uuid=uuid if isinstance(uuid, str) else "",
                priority=str(fields.get("priority") or "next"),
                asks=fields.get("shouldQuery") is not False,
                stamp=_stamp(fields.get("origin")),
                verbatim=fields.get("client_composed") is True,
            )
        )

    def _bad_line(self, line: BadLine) -> None:
        self._fail(line.reason)

    def _fail(self, reason: str) -> None:
        print(reason, file=sys.stderr, flush=True)
        self.stop(1)

    def _input_ended(self, ending: Ending) -> None:
        if self._brain is not None:
            self._brain.end_input()

    def _interrupted(self, brain: Brain) -> None:
        """End after the result of the running turn, or at once if none runs."""
        if not brain.end_after_turn():
            self.stop(0)


def _fields(raw: bytes) -> JsonObject:
    """The fields of a line, or of a part of one. A lone surrogate or a huge number damages only itself."""
    try:
        return decode(raw, dict[str, Any])[0]
    except ValueError:
        return {}


def _notice(subject: str) -> None:
    print(f"{subject} not supported by handrail-agent and was ignored", file=sys.stderr, flush=True)


def _stamp(given: Any) -> JsonObject | None:
    """The `origin` of a user line. Hosts may only say that a human wrote it: other kinds are for the agent itself."""
    origin = cast("JsonObject", given) if isinstance(given, dict) else {}
    return {"kind": "human"} if origin.get("kind") == "human" else None


def _content(given: Any) -> str | list[JsonObject]:
    """The content of a prompt; values that are neither text nor blocks are dropped."""
    if isinstance(given, list):
        return [cast("JsonObject", block) for block in cast("list[Any]", given) if isinstance(block, dict)]
    return given if isinstance(given, str) else ""
