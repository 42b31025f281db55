"""What the agent says. In: what happened. Out: lines of the wire, each with its session and its own id."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from handrail.agent.history import text_block
from handrail.agent.output import Output

__all__ = ["INTERRUPTED", "INTERRUPTED_TOOLS", "REJECTED", "Speaker", "new_id", "now", "synthetic_message"]

JsonObject = dict[str, Any]
INTERRUPTED: Final = "[Request interrupted by user]"
INTERRUPTED_TOOLS: Final = "[Request interrupted by user for tool use]"
REJECTED: Final = (
    "The user does not want this tool to be used now, and it was not: no file was changed by it. Stop here and wait"
    " until the user says how to go on."
)


def new_id() -> str:
    """An id for a line."""
    return str(uuid4())


def now() -> str:
    """The time as lines tell it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Speaker:
    """One voice: the session's own, or that of a subagent, whose lines name the tool call that started it."""

    def __init__(
        self,
        output: Output,
        session_id: Callable[[], str],
        *,
        record: Callable[[JsonObject], None],
        parent: str | None = None,
        extra: JsonObject | None = None,
        partial: bool = False,
        texts: bool = True,
    ) -> None:
        self._output, self._session_id, self._record = output, session_id, record
        self.parent, self.extra = parent, extra or {}
        self.partial, self.texts = partial, texts
        self.user_lines = 0
        """As many lines of the user's side as this turn has had: results count them."""
        self.prompts: list[str] = []
        """The hosts' own ids of the prompts that are being answered, until the first answer has named them."""

    async def say(self, line: JsonObject) -> JsonObject:
        """Any line. Out: the line as it went."""
        line = {**line, "session_id": self._session_id(), "uuid": line.get("uuid") or new_id()}
        await self._output.emit(line)
        return line

    async def system(self, subtype: str, **fields: Any) -> None:
        """A line about the session."""
        await self.say({"type": "system", "subtype": subtype, **fields})

    async def event(self, event: JsonObject, message_id: str, **fields: Any) -> None:
        """A piece of an answer; only where the host wants pieces."""
        if self.partial:
            await self.say(
                {
                    "type": "stream_event",
                    "event": event,
                    "parent_tool_use_id": self.parent,
                    "api_message_id": message_id,
                    **fields,
                }
            )

    async def assistant(self, message: JsonObject, **fields: Any) -> JsonObject:
        """A block of an answer, or an answer of our own."""
        line: JsonObject = {
            "type": "assistant",
            "message": message,
            "parent_tool_use_id": self.parent,
            "timestamp": now(),
            **self.extra,
            **fields,
        }
        if self.prompts:
            line |= {"user_message_uuid": self.prompts[-1], "user_message_uuids": self.prompts}
            self.prompts = []
        if not self._is_wanted(message):
            line = {**line, "session_id": self._session_id(), "uuid": new_id()}
        else:
            line = await self.say(line)
        self._record(line)
        return line

    def _is_wanted(self, message: JsonObject) -> bool:
        return self.texts or any(block.get("type") == "tool_use" for block in message["content"])

    async def user(self, content: str | list[JsonObject], *, aloud: bool = True, **fields: Any) -> JsonObject:
        """A line of the user's side: a result, a note, an interruption. One that is not said aloud is only kept."""
        line: JsonObject = {
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": self.parent,
            "timestamp": now(),
            **self.extra,
            **fields,
        }
        if aloud:
            line = await self.say(line)
            self.user_lines += not fields.get("isReplay")
        else:
            line = {**line, "session_id": self._session_id(), "uuid": fields.get("uuid") or new_id()}
        if not fields.get("isReplay"):
            self._record(line)
        return line

    def keep(self, line: JsonObject) -> None:
        """Keep something in the transcript that hosts are not told."""
        self._record({**line, "session_id": self._session_id(), "uuid": line.get("uuid") or new_id()})


def synthetic_message(text: str) -> JsonObject:
    """An answer that no model gave."""
    return {
        "id": new_id(),
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [text_block(text)],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": {
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }
