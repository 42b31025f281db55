"""SendMessage: messages between the conversation and its subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta, Struct

from handrail.agent.blocks import text_block
from handrail.agent.tools.base import Outcome, Tool, ToolFailed
from handrail.schema.view import as_builtins

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["SendMessage"]

_LONGEST_NAME: Final = 300
_FOR_HOSTS: Final = frozenset({"revivedAgentId", "display"})
"""Fields of the result that the model does not need."""


class SendMessageInput(Struct, frozen=True):
    """A message and who gets it."""

    to: Annotated[
        str,
        Meta(description="The id of a subagent, or `main` for the main conversation.", max_length=_LONGEST_NAME),
    ]
    message: Annotated[str, Meta(description="The message, in plain text.")] = ""
    summary: Annotated[str, Meta(description="The message in five to ten words, for the user.")] = ""


class SendMessage(Tool[SendMessageInput]):
    """Delivers a message."""

    name = "SendMessage"
    description = """\
Sends a message to a subagent of this session, or from a subagent to the main conversation (`to: "main"`).

- Use it to correct, extend or continue the work of a subagent, which still knows everything it has read: cheaper than \
a new one. For unrelated work start another with Task.
- `to` is the id from the result of Task. A subagent that works gets the message before its next step; one that has \
ended starts again in the background, and you are notified when it is done. Do not send the same twice, and do not \
ask whether it is done.
- Write everything it needs into `message`: it sees nothing else of this conversation. Only subagents of this session \
can be reached; one that ended before the session was resumed continues from its transcript."""
    Input = SendMessageInput
    strict = False

    def describe(self, given: SendMessageInput) -> str:
        return given.summary or given.message.partition("\n")[0]

    async def check(self, given: SendMessageInput, desk: Desk) -> None:
        if not given.to.strip():
            raise ToolFailed("to must not be empty")
        if not given.message.strip():
            raise ToolFailed("message must not be empty")
        if given.to == "*":
            raise ToolFailed("A message has one recipient. Send one message to each subagent.")

    async def run(self, given: SendMessageInput, desk: Desk) -> Outcome:
        if desk.messages is None:
            raise ToolFailed("There are no subagents here to send a message to.")
        sent = desk.messages.send(given.to.strip(), given.message, desk)
        detail = as_builtins(sent)
        shown = {name: value for name, value in detail.items() if name not in _FOR_HOSTS}
        return Outcome([text_block(msgspec.json.encode(shown).decode())], detail)
