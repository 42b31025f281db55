"""Both sides of a dialect: a socket, and the parts of the server that it uses."""

from __future__ import annotations

from typing import Protocol

from handrail.bridge.commands.executor import Commands
from handrail.bridge.commands.router import Router
from handrail.bridge.commands.workspace import Workspace
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.session.terminal_sessions import TerminalSessions
from handrail.bridge.store.uploads import Uploads
from handrail.bridge.web.notifications import Watcher

__all__ = ["AcpBackend", "Backend", "CcpocketBackend", "NativeBackend", "Wire"]


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


class Backend(Protocol):
    """The parts of the server that every dialect uses."""

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


class NativeBackend(Backend, Protocol):
    """What the native protocol needs. `watchers` are asked whether someone is looking at a session."""

    @property
    def watchers(self) -> set[Watcher]:
        """The clients that are connected."""
        ...


class AcpBackend(NativeBackend, Protocol):
    """What the Agent Client Protocol needs."""

    @property
    def uploads(self) -> Uploads:
        """The store for images."""
        ...


class CcpocketBackend(Backend, Protocol):
    """What the ccpocket protocol needs."""

    @property
    def terminal(self) -> TerminalSessions:
        """Sessions started outside the server."""
        ...

    @property
    def uploads(self) -> Uploads:
        """The store for images."""
        ...

    @property
    def workspace(self) -> Workspace:
        """The folders and modes that clients may choose."""
        ...
