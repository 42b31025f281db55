"""What a dialect needs: a socket on one side, a few parts of the server on the other."""

from __future__ import annotations

from typing import Protocol

from handrail.bridge.commands.executor import Commands
from handrail.bridge.commands.router import Router
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.web.notifications import Watcher

__all__ = ["NativeBackend", "Wire"]


class Wire(Protocol):
    """A socket: text in, text out."""

    async def receive(self) -> str | bytes | None:
        """The next message; None at the end."""
        ...

    async def send(self, text: str) -> None:
        """Send one message; waits while the client does not read."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Close the socket."""
        ...


class NativeBackend(Protocol):
    """What the native protocol needs of the server. `watchers` are asked whether someone is looking at a session."""

    @property
    def commands(self) -> Commands:
        """The executor."""
        ...

    @property
    def sessions(self) -> Sessions:
        """The sessions of this machine, with the event log."""
        ...

    @property
    def router(self) -> Router:
        """The machine of each session."""
        ...

    @property
    def watchers(self) -> set[Watcher]:
        """The clients that are connected."""
        ...
