"""Updates of an ACP agent as lines of a turn: messages with their blocks, tool calls and their results.

Chunks become events of the Messages API, from which `Answer` makes partial messages and whole blocks, as it does for
the answers of a model. An answer ends where a tool gave a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from handrail.acp.agents.tool_calls import Call, ToolResult, plan_call
from handrail.agent.conversation.answer import Answer
from handrail.agent.speaker import INTERRUPTED, INTERRUPTED_TOOLS, REJECTED, Speaker, new_id
from handrail.schema.acp import messages as acp

__all__ = ["AnswerLines"]

JsonObject = dict[str, Any]
LONGEST_BLOCK: Final = 4 * 1024 * 1024
"""Characters of a block, and of the result of a turn. Hosts refuse lines over 32 MiB, and would wait for a result that
they cannot read; a character has up to six bytes there."""
_NO_USAGE: Final = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


class AnswerLines:
    """Writes the lines of a session's answers, one update after the other. `model` names the model at the moment."""

    def __init__(self, speaker: Speaker, model: Callable[[], str], cwd: str) -> None:
        self._speaker, self._model, self._cwd = speaker, model, cwd
        self._answer: Answer | None = None
        self._block = ""
        """The kind of the block that chunks are added to: text, thinking, or "" for none."""
        self._index = self._size = 0
        self._calls: dict[str, Call] = {}
        """The calls of the turn by the agent's ids."""
        self._todos: list[JsonObject] = []
        self._texts: list[str] = []
        self._ids: dict[str, str] = {}
        """The agent's ids of the last text and the last thought, if the agent gives them ids."""
        self._has_text = False
        """Whether the answer has text: a thought and the text after it are one answer, also with two ids."""
        self._messages: set[str] = set()
        self._earlier_messages: set[str] = set()

    def begin(self) -> None:
        """Begin a turn."""
        self._calls, self._texts, self._ids = {}, [], {}
        self._earlier_messages, self._messages = self._messages, set()

    @property
    def text(self) -> str:
        """The text of the last message, or since the last tool call: the result of the turn. A long one is cut."""
        return "".join(self._texts)[:LONGEST_BLOCK]

    async def take(self, update: acp.SessionUpdate) -> None:
        """Write the lines for an update. Only messages, calls, plans and notices have lines."""
        match update:
            case acp.AgentMessageChunk() | acp.AgentThoughtChunk():
                kind = "text" if isinstance(update, acp.AgentMessageChunk) else "thinking"
                if await self._belongs(kind, update.message_id or ""):
                    await self._chunk(kind, update.content)
            case acp.ToolCall() | acp.ToolCallChange():
                await self.call(update)
            case acp.Plan(entries=entries) | acp.PlanUpdate(plan=acp.PlanItems(entries=entries)):
                await self._plan(entries)
            case acp.Notice():
                text = ": ".join(filter(None, (update.title, update.description)))
                await self._speaker.system("informational", content=text, level=update.severity)
            case _:
                return

    async def call(self, update: acp.ToolCall | acp.ToolCallUpdate, *, asks: bool = False) -> Call:
        """Take an update about a call. The call is announced once it is described, or with `asks` at once."""
        call = self._calls.get(update.tool_call_id)
        if call is None or (call.ended and isinstance(update, acp.ToolCall)):
            await self._announce_pending()
            # An id that is used again is another call, and hosts tell calls apart by their ids.
            id = update.tool_call_id if call is None else f"{update.tool_call_id}-{new_id()}"
            call = self._calls[update.tool_call_id] = Call(id)
        if call.ended:
            return call
        call.take(update)
        if not call.tool and (asks or call.is_described(self._cwd)):
            await self._announce(call)
        if call.tool and call.status in ("completed", "failed"):
            await self._end_call(call, call.result())
        return call

    def knows(self, id: str) -> bool:
        """Whether this turn has a call with this id."""
        return id in self._calls

    @property
    def has_open_calls(self) -> bool:
        """Whether a call of this turn has no result yet."""
        return any(not call.ended for call in self._calls.values())

    async def finish(self, *, interrupted: bool) -> bool:
        """End the turn: close the answer, and give each open call a result. Returns whether there was one."""
        await self._announce_pending()
        await self._end_answer("end_turn", cut_off=interrupted)
        open_calls = [call for call in self._calls.values() if not call.ended]
        for call in open_calls:
            missing = call.denied or (REJECTED if interrupted else "The turn ended without a result of this call.")
            await self._end_call(call, ToolResult(missing, f"Error: {missing}", is_error=True))
        if interrupted:
            text = INTERRUPTED_TOOLS if open_calls else INTERRUPTED
            await self._speaker.user([{"type": "text", "text": text}])
        return bool(open_calls)

    # Chunks

    async def _belongs(self, kind: str, message: str) -> bool:
        """Begin the message of a chunk, if it is another one. False for a late chunk of the turn before."""
        if message and message in self._earlier_messages:
            return False
        if message and message != self._ids.get(kind):
            self._messages.add(message)
            if self._ids and self._has_text:
                await self._end_answer("end_turn")
                self._texts = []
            self._ids[kind] = message
        return True

    async def _chunk(self, kind: str, content: acp.ContentBlock) -> None:
        text = _shown(content)
        if not text:
            return
        await self._announce_pending()
        for start in range(0, len(text), LONGEST_BLOCK):
            await self._delta(kind, text[start : start + LONGEST_BLOCK])
        if kind == "text":
            self._has_text = True
            self._texts.append(text)

    async def _delta(self, kind: str, text: str) -> None:
        """Add to the block of this kind, or begin one."""
        if self._block != kind or self._size + len(text) > LONGEST_BLOCK:
            await self._end_block()
            await self._start_block({"type": kind, kind: "", **({"signature": ""} if kind == "thinking" else {})})
            self._block, self._size = kind, 0
        self._size += len(text)
        await self._event("content_block_delta", index=self._index, delta={"type": f"{kind}_delta", kind: text})

    async def _start_block(self, block: JsonObject) -> None:
        if self._answer is None:
            self._answer, self._index = Answer(self._speaker), 0
            message: JsonObject = {
                "id": f"msg_{new_id()}",
                "type": "message",
                "role": "assistant",
                "model": self._model(),
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": dict(_NO_USAGE),
            }
            await self._event("message_start", message=message)
        await self._event("content_block_start", index=self._index, content_block=block)

    async def _end_block(self) -> None:
        if self._block:
            self._block = ""
            await self._stop_block()

    async def _stop_block(self) -> None:
        await self._event("content_block_stop", index=self._index)
        self._index += 1

    async def _end_answer(self, reason: str, *, cut_off: bool = False) -> None:
        if self._answer is None:
            return
        if cut_off:
            await self._answer.cut_off(keep=True)
        else:
            await self._end_block()
            delta = {"stop_reason": reason, "stop_sequence": None}
            await self._event("message_delta", delta=delta, usage=dict(_NO_USAGE))
            await self._event("message_stop")
        self._answer, self._block, self._has_text = None, "", False

    async def _event(self, type: str, **fields: Any) -> None:
        assert self._answer is not None
        await self._answer.take({"type": type, **fields})

    # Calls

    async def _announce_pending(self) -> None:
        """Announce the calls whose input the agent does not describe any further."""
        for call in list(self._calls.values()):
            if not call.tool:
                await self._announce(call)

    async def _announce(self, call: Call) -> None:
        call.announce(self._cwd)
        self._texts = []
        await self._write_call(call)

    async def _write_call(self, call: Call) -> None:
        await self._end_block()
        await self._start_block({"type": "tool_use", "id": call.id, "name": call.tool, "input": {}})
        text = msgspec.json.encode(call.input).decode()
        delta = {"type": "input_json_delta", "partial_json": text}
        await self._event("content_block_delta", index=self._index, delta=delta)
        await self._stop_block()

    async def _end_call(self, call: Call, result: ToolResult) -> None:
        await self._end_answer("tool_use")
        call.ended = True
        block: JsonObject = {"type": "tool_result", "tool_use_id": call.id, "content": result.content}
        if result.is_error:
            block["is_error"] = True
        await self._speaker.user([block], tool_use_result=result.structured)

    async def _plan(self, entries: list[acp.PlanEntry]) -> None:
        await self._announce_pending()
        call, result = plan_call(f"plan_{new_id()}", entries, self._todos)
        self._todos = call.input["todos"]
        await self._write_call(call)
        await self._end_call(call, result)


def _shown(content: acp.ContentBlock) -> str:
    """A part of an answer as text; hosts know no pictures in answers."""
    match content:
        case acp.TextContent(text=text):
            return text
        case acp.ResourceLink(uri=uri, name=name):
            return f"[{name}]({uri})"
        case acp.ImageContent(mime_type=kind):
            return f"[picture, {kind}]"
        case acp.AudioContent(mime_type=kind):
            return f"[audio, {kind}]"
        case acp.EmbeddedResource(resource=resource):
            fields = cast("JsonObject", resource) if isinstance(resource, dict) else {}
            return str(fields.get("text") or fields.get("uri") or "")
