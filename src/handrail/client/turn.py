"""One turn: the messages from a prompt to its result.

Iterate a turn for its messages; await it for its result alone. Both may be done, in any order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from typing import TYPE_CHECKING, Any, Self

import msgspec

from handrail.client.errors import TurnCancelled, TurnFailed
from handrail.client.inbox import Inbox, Views
from handrail.client.usage import TurnUsage
from handrail.schema.message_view import MessageView
from handrail.schema.messages import AssistantMessage
from handrail.schema.result_message import PermissionDenial, ResultMessage
from handrail.schema.stream_events import StreamEvent
from handrail.schema.usage import Usage

if TYPE_CHECKING:
    from handrail.client.session import Session

__all__ = ["Turn", "TurnResult"]


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a turn. Figures are those of this turn; `message` has the running totals and the rest."""

    message: ResultMessage
    used: TurnUsage
    context_tokens: int = 0

    @property
    def text(self) -> str:
        """The final answer, or the error."""
        return self.message.text

    @property
    def is_error(self) -> bool:
        """Whether the turn failed. This may be true even if the subtype is "success"."""
        return self.message.is_error

    @property
    def reason(self) -> str:
        """Why it ended: the terminal_reason of the CLI, else the subtype of the result."""
        return self.message.terminal_reason or self.message.subtype

    @property
    def cost_usd(self) -> float:
        """The cost of this turn in USD."""
        return self.used.cost_usd

    @property
    def usage(self) -> Usage | None:
        """Tokens of the main conversation in this turn."""
        return self.message.usage

    @property
    def context_window(self) -> int:
        """The largest context window among the models, in tokens; 0 if the CLI does not report it."""
        return max((usage.context_window for usage in self.message.model_usage.values()), default=0)

    @property
    def permission_denials(self) -> list[PermissionDenial]:
        """The tools that were not allowed to run in this turn."""
        return self.message.permission_denials

    @property
    def structured_output(self) -> Any:
        """The object in `output_format`, if one was requested and returned."""
        return self.message.structured_output

    @property
    def session_id(self) -> str:
        """The id of the session, which `/clear` changes."""
        return self.message.session_id

    def raise_for_error(self) -> Self:
        """Return self, or raise TurnFailed."""
        if self.is_error:
            raise TurnFailed(self)
        return self


class Turn:
    """One turn. `uuid` is that of its prompt; `from_cli` is set if the CLI started the turn itself.

    `inbox` is where the session puts its messages.
    """

    def __init__(self, session: Session, uuid: str, inbox: Inbox, *, from_cli: bool = False) -> None:
        self.uuid = uuid
        self.from_cli = from_cli
        self.state = "sent"
        self._session = session
        self.inbox = inbox
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
        """The result. Raises RuntimeError while the turn runs, and its error if it ended without a result."""
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RuntimeError("the turn has not ended; iterate it to its end, or await it")
        return self._result

    def __aiter__(self) -> AsyncIterator[MessageView]:
        return Views(self.inbox, self)

    async def __anext__(self) -> MessageView:
        return await anext(Views(self.inbox, self))

    def __await__(self) -> Generator[Any, None, TurnResult]:
        return self.wait().__await__()

    async def wait(self) -> TurnResult:
        """Wait for the result. Raises Disconnected if the CLI exited, TurnCancelled if the turn never ran."""
        await self._done.wait()
        return self.result

    async def text(self) -> AsyncIterator[str]:
        """The text of the main conversation: deltas if they are streamed, else whole blocks."""
        # A streamed block is repeated when it is complete; local commands and errors are never streamed.
        streamed = False
        async for message in self:
            if not isinstance(message, StreamEvent | AssistantMessage) or message.parent_tool_use_id:
                continue
            if message.text and not (streamed and isinstance(message, AssistantMessage)):
                yield message.text
            streamed = isinstance(message, StreamEvent) and (streamed or bool(message.text))

    async def cancel(self) -> bool:
        """Cancel the message while it is queued. Returns whether that was in time."""
        return (await self._session.cancel_async_message(self.uuid)).cancelled

    def end(self, result: TurnResult | None, error: BaseException | None = None) -> None:
        """End the turn, with or without a result."""
        self.state = "ended" if result is not None else "cancelled" if isinstance(error, TurnCancelled) else "lost"
        self._result, self._error = result, error
        self.inbox.end(error)
        self._done.set()
