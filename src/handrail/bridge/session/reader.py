"""Reads the output of a session's CLI: decodes each line once, persists it in order, and publishes it.

The CLI's questions are recorded at their place between the messages: the SDK delivers both in one queue.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import msgspec

from handrail.bridge.session.delivery import Delivery
from handrail.bridge.session.events import LARGEST, live_item
from handrail.bridge.session.feed import Partial
from handrail.bridge.session.questions import Questions
from handrail.bridge.session.recorder import Recorder
from handrail.bridge.store.base import NewEvent
from handrail.client.inbox import Item
from handrail.protocol import CancelRequest, Message, Request, TurnTable
from handrail.schema.activity_messages import BackgroundTasksChangedMessage, TaskStartedMessage
from handrail.schema.content import TextBlock, ToolResultBlock, ToolUseBlock
from handrail.schema.message_view import MessageView, UnknownMessage
from handrail.schema.messages import AssistantMessage, UserMessage, read_message
from handrail.schema.system_messages import InitMessage, StatusMessage

__all__ = ["Reader", "input_text", "searchable_text"]

LIVE: Final = frozenset({"stream_event", "tool_progress"})
"""Messages that are published but not persisted, because a complete message repeats their content."""
MOST_AGENTS: Final = 256
MOST_TEXT: Final = 20_000
MOST_INPUT_TEXT: Final = 2_000
"""Characters that a search sees of one message, and of one string in a tool's input."""


class Reader:
    """Reads the messages of one session's CLI and keeps the state that they report.

    turns            the turns, according to the persisted messages
    partial          the answer that is being streamed
    compacting       the CLI is summarising the conversation
    tasks_running    background tasks run
    slash_commands   the names in the newest init message; MCP prompts are among them once their server is connected
    agents           the kind of each known subagent by its id
    """

    def __init__(
        self,
        recorder: Recorder,
        questions: Questions,
        delivery: Delivery,
        *,
        write: Callable[[list[NewEvent]], Awaitable[None]],
        on_result: Callable[[bytes], None],
    ) -> None:
        self._recorder, self._questions, self._delivery = recorder, questions, delivery
        self._write, self._on_result = write, on_result
        self.turns, self.partial = TurnTable(), Partial()
        self.compacting = self.tasks_running = False
        self.slash_commands: list[str] = []
        self.agents: dict[str, str] = {}

    def reset(self) -> None:
        """Clear the state; a new process starts, or the last one ended."""
        self.turns = TurnTable()
        self.compacting = self.tasks_running = False
        self.slash_commands = []
        self.partial.end()

    async def take(self, items: list[Item]) -> None:
        """Persist and publish the output of the CLI. Waits for the store, which makes the CLI wait too."""
        live: list[Message] = []
        events: list[NewEvent] = []
        for item in items:
            if isinstance(item, Message) and item.type in LIVE:
                if events:
                    await self._persist(events)
                    events = []
                live.append(item)
                continue
            if live:
                self._stream(live)
                live = []
            if isinstance(item, Message):
                view = _view(item)
                self._note(item, view)
                events.append(NewEvent("frame", item.raw, searchable_text(view)))
            elif isinstance(item, Request):
                events += self._questions.ask(item, self.agents)
            elif isinstance(item, CancelRequest):
                events += self._questions.withdraw(item.id)
        if live:
            self._stream(live)
        if events:
            await self._persist(events)

    async def _persist(self, events: list[NewEvent]) -> None:
        await self._write(events)
        self._questions.deliver_remembered()

    def _stream(self, messages: Iterable[Message]) -> None:
        items: list[bytes] = []
        for message in messages:
            if message.type == "stream_event":
                self.partial.take(message.raw)
            if not self.turns.running:
                self.turns.receive(message)
            if (
                len(message.raw) <= LARGEST
            ):  # a longer one does not fit into a frame; a complete message repeats its content
                items.append(live_item(message.raw))
        self._recorder.feed.publish(items)

    def _note(self, message: Message, view: MessageView) -> None:
        """Update the state from a message."""
        self._note_agent(view)
        if message.type in ("system", "result") and _parent(view):
            return  # it belongs to a subagent: the turn, the cost and the session's own settings are not affected
        self.turns.receive(message)
        self._delivery.observe(view, self.turns.pending)
        if isinstance(view, AssistantMessage):
            self.partial.finish_block(view.parent_tool_use_id)
        elif message.type == "result":
            self.partial.end()
            self.compacting = False
            self._on_result(message.raw)
        elif isinstance(view, InitMessage):
            self.slash_commands = view.slash_commands or self.slash_commands
            self._change(conversation=view.session_id, model=view.model, mode=view.permission_mode)
        elif isinstance(view, StatusMessage):
            self.compacting = view.status == "compacting"
            self._change(mode=view.permission_mode)
        elif isinstance(view, BackgroundTasksChangedMessage):
            self.tasks_running = bool(view.tasks)

    def _change(self, **fields: str) -> None:
        record = self._recorder.record
        changed: dict[str, Any] = {
            name: value for name, value in fields.items() if value and getattr(record, name) != value
        }
        if changed:
            self._recorder.change(**changed)

    def _note_agent(self, view: MessageView) -> None:
        if isinstance(view, TaskStartedMessage):  # the task of a subagent has the subagent's id
            id, kind = view.task_id, view.subagent_type
        elif isinstance(view, AssistantMessage | UserMessage):
            id, kind = view.agent_id, view.subagent_type
        else:
            return
        if id and kind:
            self.agents.pop(id, None)
            self.agents[id] = kind[:200]
            if len(self.agents) > MOST_AGENTS:
                del self.agents[next(iter(self.agents))]


def _view(message: Message) -> MessageView:
    """The typed view. Of an init message with a field of unexpected shape, the fields that a session needs."""
    view = read_message(message.type, message.subtype, message.raw)
    if isinstance(view, UnknownMessage) and view.problem and message.subtype == "init":
        found: Any = msgspec.json.decode(message.raw)
        texts = {name: value for name, value in found.items() if isinstance(value, str)}
        return InitMessage(
            session_id=texts.get("session_id", ""),
            model=texts.get("model", ""),
            permission_mode=texts.get("permissionMode", ""),
            parent_tool_use_id=texts.get("parent_tool_use_id"),
        )
    return view


def _parent(view: MessageView) -> str | None:
    return getattr(view, "parent_tool_use_id", None)


def searchable_text(view: MessageView) -> str:
    """The text that a search matches: messages, tool inputs and tool results, but not replayed prompts."""
    if isinstance(view, AssistantMessage) or (isinstance(view, UserMessage) and not view.is_replay):
        return "\n".join(filter(None, map(_block_text, view.content)))[:MOST_TEXT]
    return ""


def _block_text(block: Any) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ToolResultBlock):
        return block.text
    if isinstance(block, ToolUseBlock):
        return input_text(block.input)
    return ""


def input_text(input: dict[str, Any]) -> str:
    """The text that a search matches in a tool's input."""
    return "\n".join(_strings(input))


def _strings(value: Any) -> Iterable[str]:
    """The strings in a tool's input: commands, file names, patterns."""
    if isinstance(value, str):
        yield value[:MOST_INPUT_TEXT]
    elif isinstance(value, dict):
        for inner in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _strings(inner)
