"""One session of Handrail as `query` and `ClaudeSDKClient` use it.

Everything here runs on the session side (see loops.py), except `ready` and `others`, which both sides may use: the
session appends, the caller takes from the left.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Mapping
from typing import Any

from handrail.claude_agent_sdk.errors import (
    CLIConnectionError,
    FailedResult,
    LostProcess,
    as_shim_error,
    failed_start,
    shim_errors,
)
from handrail.claude_agent_sdk.frames import as_message, as_stream_event
from handrail.claude_agent_sdk.loops import CallerLoop
from handrail.claude_agent_sdk.messages import Message
from handrail.claude_agent_sdk.option_table import as_handrail_options, keeps_input_open
from handrail.claude_agent_sdk.options import ClaudeAgentOptions
from handrail.claude_agent_sdk.run_end import RunEnd
from handrail.claude_agent_sdk.transport import AdaptedTransport, Transport
from handrail.client.errors import HandrailError, StartFailed
from handrail.client.session import Session
from handrail.protocol import Message as Line
from handrail.schema.view import read_json
from handrail.transport.base import Ending

__all__ = ["Link", "user_line"]

CEILING_VARIABLE = "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"
DEFAULT_CEILING = 600.0
"""Seconds between two turns after which the input is closed, if the CLI does not report the end of the run."""
OTHERS_KEPT = 1000
"""Newest frames without a class that are kept."""
AFTER_RESULT = frozenset({"keep_alive", "command_lifecycle"})
AFTER_RESULT_SYSTEM = frozenset({"session_state_changed", "session_writes_lost", "plugin_install"})
"""Frames that may follow a failed result without becoming the reason of the exit."""


def user_line(prompt: str, session_id: str, options: ClaudeAgentOptions) -> dict[str, Any]:
    """The line of a text prompt."""
    line: dict[str, Any] = {
        "type": "user",
        "session_id": session_id,
        "message": {"role": "user", "content": prompt},
        "parent_tool_use_id": None,
    }
    return {**line, "client_composed": True} if options.verbatim_prompts else line


class Link:
    """A session, its unread messages, and the end of its input."""

    def __init__(self, options: ClaudeAgentOptions, transport: Transport | None, caller: CallerLoop) -> None:
        self.ready: deque[Message] = deque()
        self.others: deque[dict[str, Any]] = deque(maxlen=OTHERS_KEPT)
        self.ended = False
        self._options = options
        self._given = transport
        self._caller = caller
        self._adapted: AdaptedTransport | None = None
        self._session: Session | None = None
        self._batches: Any = None
        self._failed_result: dict[str, Any] | None = None
        self._run = RunEnd()
        self._prompts_sent = 0
        self._closes_input = False
        self._input_closed = False

    async def start(self) -> None:
        """Start the CLI and wait for the handshake."""
        with shim_errors():
            options = as_handrail_options(self._options, self._caller, starts_cli=self._given is None)
            if self._given is not None:
                self._adapted = AdaptedTransport(self._given, self._caller)
            self._session = Session(options, transport=self._adapted)
            self._batches = self._session.conversation()
            try:
                await self._session.start()
            except StartFailed as error:
                raise await self._failed_start(error, self._session) from None
            await self._check_hooks(self._session)

    async def _failed_start(self, error: StartFailed, session: Session) -> Exception:
        """The CLI may have said why in a result."""
        while batch := await self._batches.undecoded():
            self._take(batch)
        return failed_start(error, session.ending or Ending(), self._failed_result)

    async def _check_hooks(self, session: Session) -> None:
        """A hook that must block on failure needs a CLI that knows it; otherwise a failing hook would allow."""
        matchers = [matcher for group in (self._options.hooks or {}).values() for matcher in group]
        if any(matcher.on_failure == "block" for matcher in matchers):
            answer: Any = read_json(session.server_info.raw) if session.server_info is not None else {}
            if not answer.get("hook_on_failure_supported") or answer.get("hooks_applied") is False:
                await session.close()
                raise CLIConnectionError('this CLI does not support HookMatcher(on_failure="block"); update the CLI')

    @property
    def session(self) -> Session:
        """The running session."""
        if self._session is None:
            raise CLIConnectionError("Not connected. Call connect() first.")
        return self._session

    async def send(self, line: Mapping[str, Any]) -> None:
        """Send a line of type `user`."""
        if line.get("type") != "user":
            raise ValueError(f'a prompt is a dictionary with "type": "user", not {line!r:.200}')
        with shim_errors():
            await self.session.send_line(line)
            self._prompts_sent += 1

    async def finish_input(self) -> None:
        """Nothing more is sent: close the input now, or at the end of the run if the CLI may ask until then."""
        self._closes_input = True
        if not self._prompts_sent or not keeps_input_open(self._options) or self._run.over:
            await self._close_input()

    async def _close_input(self) -> None:
        if not self._input_closed:
            self._input_closed = True
            await self.session.end_input()

    async def fill(self) -> None:
        """Wait until `ready` has a message, or `ended` is set. Raises the error that ended the CLI, once.

        Messages are stored and not returned: a caller that is cancelled meanwhile does not lose any.
        """
        with shim_errors():
            while not self.ready and not self.ended:
                batch = await self._batch()
                self._take(batch)
                if self._run.over and self._closes_input:
                    await self._close_input()
                if not batch:
                    self.ended = True
                    await self._raise_ending()

    async def _batch(self) -> list[Any]:
        while True:
            idle = self._closes_input and self._run.between_turns and not self._run.waits_for_agents
            limit = _ceiling() if idle and not self._input_closed else None
            try:
                async with asyncio.timeout(limit):
                    return await self._batches.undecoded()
            except TimeoutError:
                await self._close_input()

    def _take(self, batch: list[Any]) -> None:
        for item in batch:
            if type(item) is bytes:  # a stream event
                self._add(as_stream_event(item), item)
                self._failed_result = None
                if self._run.between_turns:
                    self._run.observe(read_json(item))
            elif type(item) is Line:
                frame = read_json(item.raw)
                self._observe(item, frame)
                if not frame.get("sdk_host_only"):
                    self._add(as_message(frame), item.raw)

    def _add(self, message: Message | None, line: bytes) -> None:
        if message is not None:
            self.ready.append(message)
        else:
            self.others.append(read_json(line))

    def _observe(self, line: Line, frame: dict[str, Any]) -> None:
        self._run.observe(frame)
        if line.type == "result":
            self._failed_result = frame if frame.get("is_error") else None
        elif line.type not in AFTER_RESULT and line.subtype not in AFTER_RESULT_SYSTEM:
            self._failed_result = None

    async def _raise_ending(self) -> None:
        """Raise the reason if the CLI exited with an error."""
        if self._adapted is not None and self._adapted.failure is not None:
            failure = self._adapted.failure
            raise as_shim_error(failure) if isinstance(failure, HandrailError) else failure
        ending = await self.session.wait_closed()
        if ending.code or ending.signal:
            raise LostProcess(ending) if self._failed_result is None else FailedResult(ending, self._failed_result)

    async def close(self) -> None:
        """End the session."""
        self.ended = True
        if self._session is not None:
            with shim_errors():
                await self._session.close()


def _ceiling() -> float | None:
    given = os.environ.get(CEILING_VARIABLE, "")
    seconds = int(given) / 1000 if given.isdecimal() else DEFAULT_CEILING
    return seconds or None
