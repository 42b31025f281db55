"""The interfaces between the two sides of the agent.

The host's side speaks the wire: lines in, lines out, control requests. The brain's side decides what is said. Neither
imports the other; the engine connects them, so that another brain can be put behind the same wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from handrail.connection import Handler

__all__ = ["Brain", "Host", "NoHost", "Output", "Prompt"]

JsonObject = dict[str, Any]


class Prompt(Struct, frozen=True):
    """One message for the model."""

    content: str | list[JsonObject]
    uuid: str = ""
    """The id that the host gave it; the host is notified of its state if it has one."""
    priority: str = "next"
    asks: bool = True
    """False if the model is not asked now but sees it in the next turn."""
    origin: JsonObject | None = None
    """The cause of a prompt that the agent itself queued, such as a task that ended."""
    stamp: JsonObject | None = None
    """The `origin` that the host put on its line; the result carries it too."""
    verbatim: bool = False
    """True if it is neither a slash command nor expanded."""

    @property
    def text(self) -> str:
        """The text of all blocks."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(str(block.get("text") or "") for block in self.content if block.get("type") == "text")


class Output(Protocol):
    """Where the lines of a session go."""

    async def emit(self, line: JsonObject) -> None:
        """Write one line."""
        ...

    async def finish(self) -> None:
        """Write what is left at the end of the session."""
        ...


class Host(Protocol):
    """The program that drives the agent, as the brain sees it."""

    listens: bool
    """Whether it answers control requests."""

    async def ask(self, subtype: str, fields: JsonObject, *, timeout: float | None = None) -> JsonObject:
        """Send a control request and return the payload of its answer. Raises ControlError or Disconnected."""
        ...

    def unanswered(self, subtype: str) -> list[JsonObject]:
        """The pending control requests of this subtype, as they were sent."""
        ...

    def stop(self, code: int) -> None:
        """End the session now with this exit code."""
        ...


class Brain(Protocol):
    """What answers prompts and control requests, as the host's side sees it."""

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers of control requests by subtype; every other subtype is refused."""
        ...

    def put(self, prompt: Prompt) -> None:
        """Queue a prompt. A uuid that was queued before is ignored."""
        ...

    def set_variables(self, variables: Mapping[str, str]) -> None:
        """Change the environment of processes that tools start."""
        ...

    def end_input(self) -> None:
        """The host sends nothing more."""
        ...

    def end_after_turn(self) -> bool:
        """Interrupt the running turn and end after its result. Returns False if no turn runs."""
        ...

    async def run(self) -> int:
        """Run turns until the input has ended and all work is done. Returns the exit code."""
        ...

    async def give_up(self) -> bool:
        """End the running turn without a result, because the process ends. Returns False if no turn runs."""
        ...

    async def close(self) -> None:
        """End everything that still runs."""
        ...


class NoHost:
    """Nobody answers: the prompt came on the command line."""

    listens = False

    async def ask(self, subtype: str, fields: JsonObject, *, timeout: float | None = None) -> JsonObject:
        raise NotImplementedError

    def unanswered(self, subtype: str) -> list[JsonObject]:
        return []

    def stop(self, code: int) -> None:
        return
