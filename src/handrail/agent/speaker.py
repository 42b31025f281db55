"""Writes the lines of a session, each with the session's id and a new uuid.

The views in `handrail.schema` define the fields of every line. `send` writes a view; `system` checks the names of its
fields against the view. `assistant`, `user` and `stream_event` lines are plain dicts that carry JSON of the Messages
API as it is: a view of each would cost more than the rest of the line. Tests compare all lines with their views.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from handrail.agent.base import Output
from handrail.agent.blocks import text_block
from handrail.schema.view import as_builtins, build_line

if TYPE_CHECKING:
    from handrail.schema.message_view import MessageView

__all__ = ["INTERRUPTED", "INTERRUPTED_TOOLS", "REJECTED", "Speaker", "new_id", "now", "synthetic_message"]

JsonObject = dict[str, Any]
INTERRUPTED: Final = "[Request interrupted by user]"
INTERRUPTED_TOOLS: Final = "[Request interrupted by user for tool use]"
REJECTED: Final = (
    "The user does not want this tool to be used now, and it was not: no file was changed by it. Stop here and wait"
    " until the user says how to go on."
)


def new_id() -> str:
    """A uuid for a line."""
    return str(uuid4())


def now() -> str:
    """The time as lines have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Speaker:
    """Writes the lines of the session, or of a subagent. Lines of a subagent name the tool call that started it.

    Without `texts`, answers without calls are recorded but not sent; with `silent`, all lines of the conversation.
    """

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
        silent: bool = False,
    ) -> None:
        self._output, self._session_id, self._record = output, session_id, record
        self.parent, self.extra = parent, extra or {}
        self.partial, self.texts, self.silent = partial, texts, silent
        self.user_lines = 0
        """The number of `user` lines of this turn, for `num_turns` of the result."""
        self.prompts: list[str] = []
        """The uuids of the prompts being answered, until the first answer has carried them."""

    async def say(self, line: JsonObject) -> JsonObject:
        """Write a line. Returns it as it was written."""
        line = {**line, "session_id": self._session_id(), "uuid": line.get("uuid") or new_id()}
        await self._output.emit(line)
        return line

    async def send(self, message: MessageView) -> JsonObject:
        """Write a message. Returns the line as it was written."""
        return await self.say(as_builtins(message))

    async def system(self, subtype: str, **fields: Any) -> None:
        """Write a `system` line. Raises TypeError for a field that the view of this subtype does not have."""
        from handrail.schema.system_table import SYSTEM_MESSAGES  # the handshake does without it

        await self.say(build_line(SYSTEM_MESSAGES[subtype], fields))

    async def event(self, event: JsonObject, message_id: str, **fields: Any) -> None:
        """Write a piece of an answer, if the host wants partial messages."""
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

    async def tool_output(self, call_id: str, output: str, seconds: float) -> None:
        """Write the newest output of a running command, if the host wants partial messages."""
        if self.partial:
            from handrail.schema.activity_messages import ToolProgressMessage  # few commands take that long

            await self.send(
                ToolProgressMessage(
                    tool_use_id=call_id,
                    tool_name="Bash",
                    parent_tool_use_id=self.parent,
                    elapsed_time_seconds=round(seconds, 1),
                    output=output,
                )
            )

    async def assistant(self, message: JsonObject, **fields: Any) -> JsonObject:
        """Write and record a block of an answer, or a synthetic answer."""
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
        wanted = self.texts or any(block.get("type") == "tool_use" for block in message["content"])
        return wanted and not self.silent

    async def user(self, content: str | list[JsonObject], *, aloud: bool = True, **fields: Any) -> JsonObject:
        """Write and record a `user` line: a tool result, a note, an interruption. Replays are not recorded.

        With `aloud=False` it is only recorded.
        """
        line: JsonObject = {
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": self.parent,
            "timestamp": now(),
            **self.extra,
            **fields,
        }
        if aloud and not self.silent:
            line = await self.say(line)
            self.user_lines += not fields.get("isReplay")
        else:
            line = {**line, "session_id": self._session_id(), "uuid": fields.get("uuid") or new_id()}
        if not fields.get("isReplay"):
            self._record(line)
        return line

    def keep(self, line: JsonObject) -> None:
        """Record a line that is not sent to the host."""
        self._record({**line, "session_id": self._session_id(), "uuid": line.get("uuid") or new_id()})


def synthetic_message(text: str) -> JsonObject:
    """A message of the Messages API that no model wrote."""
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
