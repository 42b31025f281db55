"""What a dialect needs: a socket on one side, a few parts of the server on the other."""

from __future__ import annotations

from typing import Protocol

from handrail.bridge.commands.executor import Commands
from handrail.bridge.commands.router import Router
from handrail.bridge.commands.workspace import Workspace
from handrail.bridge.session.feed import FollowedSession
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.session.terminal_sessions import TerminalSessions
from handrail.bridge.store.uploads import Uploads
from handrail.bridge.web.notifications import Watcher

__all__ = ["CcpocketBackend", "NativeBackend", "Wire"]


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


class CcpocketBackend(Protocol):
    """What the ccpocket protocol needs of the server."""

    @property
    def commands(self) -> Commands:
        """The executor."""
        ...

    @property
    def sessions(self) -> Sessions:
        """The sessions of this machine, with the index of all."""
        ...

    @property
    def workspace(self) -> Workspace:
        """The folders and modes that clients may choose."""
        ...

    @property
    def terminal(self) -> TerminalSessions:
        """The sessions of CLIs."""
        ...

    @property
    def uploads(self) -> Uploads:
        """Images."""
        ...

    def checked_folder(self, path: str) -> str:
        """See `Workspace.checked_folder`."""
        ...

    def check_mode(self, mode: str) -> None:
        """See `Workspace.check_mode`."""
        ...

    async def follow(self, id: str) -> FollowedSession:
        """See `Router.follow`."""
        ...
