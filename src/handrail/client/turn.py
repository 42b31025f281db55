"""From a prompt to its result. In: the messages of one turn. Out: typed messages, then a TurnResult.

Iterate a turn to see everything that happens in it; await it for the result alone. Both may be done, in any order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from typing import TYPE_CHECKING, Any, Self

import msgspec

from handrail.client.errors import TurnCancelled, TurnFailed
from handrail.client.inbox import Inbox
from handrail.client.usage import TurnUsage
from handrail.protocol import Message
from handrail.schema.message_view import MessageView
from handrail.schema.messages import AssistantMessage, read_message
from handrail.schema.result_message import PermissionDenial, ResultMessage
from handrail.schema.stream_events import StreamEvent
from handrail.schema.usage import Usage

if TYPE_CHECKING:
    from handrail.client.session import Session

__all__ = ["Turn", "TurnResult"]


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended. Figures are this turn's own; `message` has the CLI's running totals and everything else."""

    message: ResultMessage
    used: TurnUsage
    context_tokens: int = 0

    @property
    def text(self) -> str:
        """The final answer, or what went wrong."""
        return self.message.text

    @property
    def is_error(self) -> bool:
        """Whether the turn failed; a subtype of "success" does not mean that it did not."""
        return self.message.is_error

    @property
    def reason(self) -> str:
        """Why it ended: the CLI's terminal_reason, else the result's subtype."""
        return self.message.terminal_reason or self.message.subtype

    @property
    def cost_usd(self) -> float:
        """What this turn cost."""
        return self.used.cost_usd

    @property
    def usage(self) -> Usage | None:
        """Tokens of the main conversation in this turn."""
        return self.message.usage

    @property
    def context_window(self) -> int:
        """How many tokens the largest context among the models can hold; 0 where the CLI does not say."""
        return max((usage.context_window for usage in self.message.model_usage.values()), default=0)

    @property
    def permission_denials(self) -> list[PermissionDenial]:
        """The tools that were not allowed to run in this turn."""
        return self.message.permission_denials

    @property
    def structured_output(self) -> Any:
        """The object that fits `output_format`, where one was asked for and given."""
        return self.message.structured_output

    @property
    def session_id(self) -> str:
        """The session it belongs to now; `/clear` changes it."""
        return self.message.session_id

    def raise_for_error(self) -> Self:
        """Itself, or TurnFailed."""
        if self.is_error:
            raise TurnFailed(self)
        return self


class Turn:
    """One turn. `uuid` names its prompt; a turn that the CLI started by itself has `from_cli` set."""

    def __init__(self, session: Session, uuid: str, inbox: Inbox, *, from_cli: bool = False) -> None:
        self.uuid = uuid
        self.from_cli = from_cli
        self.state = "sent"
        self._session = session
        self._inbox = inbox
        self._done = asyncio.Event()
        self._result: TurnResult | None = None
        self._error: BaseException | None = None

    def __repr__(self) -> str:
        return f"<Turn {self.uuid} {self.state}>"

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._done.is_set()

    @property
    def result(self) -> TurnResult:
        """How it ended. RuntimeError while it runs; the error where there is no result."""
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RuntimeError("the turn has not ended; iterate it to its end, or await it")
        return self._result

    def __aiter__(self) -> AsyncIterator[MessageView]:
        return self

    async def __anext__(self) -> MessageView:
        queue = self._inbox.queue
        message = queue.popleft() if queue else await self._inbox.get()
        if not isinstance(message, Message):
            raise StopAsyncIteration
        return read_message(message.type, message.subtype, message.raw)

    def __await__(self) -> Generator[Any, None, TurnResult]:
        return self.wait().__await__()

    async def wait(self) -> TurnResult:
        """Wait for the end. Out: the result; Disconnected where the CLI died, TurnCancelled where it never ran."""
        await self._done.wait()
        return self.result

    async def text(self) -> AsyncIterator[str]:
        """The main conversation's text as it is written: pieces where they are streamed, else whole blocks."""
        streamed = False  # a block comes once more when it is whole; local commands and errors come only so
        async for message in self:
            if not isinstance(message, StreamEvent | AssistantMessage) or message.parent_tool_use_id:
                continue
            if message.text and not (streamed and isinstance(message, AssistantMessage)):
                yield message.text
            streamed = isinstance(message, StreamEvent) and (streamed or bool(message.text))

    async def cancel(self) -> bool:
        """Take the message back while it is queued. Out: whether that was in time."""
        return (await self._session.cancel_async_message(self.uuid)).cancelled

    def take(self, messages: list[Message]) -> None:
        """Messages of this turn have come."""
        self._inbox.put(messages)

    def end(self, result: TurnResult | None, error: BaseException | None = None) -> None:
        """It has ended, with a result or without."""
        self.state = "ended" if result is not None else "cancelled" if isinstance(error, TurnCancelled) else "lost"
        self._result, self._error = result, error
        self._inbox.end(error)
        self._done.set()
