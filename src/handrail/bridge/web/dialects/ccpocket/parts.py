"""The parts of the server that the ccpocket dialect uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from handrail.bridge.session.feed import FollowedSession
from handrail.bridge.store.base import SessionIndex, SessionRecord
from handrail.transcripts import SessionInfo

__all__ = [
    "CcpocketParts",
    "CommandRunner",
    "FolderPolicy",
    "RunningSession",
    "SessionFollower",
    "SessionTable",
    "TerminalSessionList",
    "UploadStore",
]


class CommandRunner(Protocol):
    """Runs commands, each at most once per device and id."""

    async def do(self, device: str, id: str, name: str, fields: bytes, *, by: str, scopes: frozenset[str]) -> bytes:
        """Run a command and return its receipt as JSON."""
        ...


class RunningSession(Protocol):
    """A session with a process."""

    @property
    def record(self) -> SessionRecord:
        """Its current record."""
        ...


class SessionTable(Protocol):
    """The sessions of this server."""

    @property
    def index(self) -> SessionIndex:
        """The records of all sessions."""
        ...

    @property
    def running(self) -> Sequence[RunningSession]:
        """Sessions that have a process now."""
        ...


class TerminalSessionList(Protocol):
    """Sessions that a CLI started outside the server has recorded on this machine."""

    async def list(self, cwd: str | None = None, *, limit: int = 50) -> list[SessionInfo]:
        """The most recent ones, in one folder or in all."""
        ...


class UploadStore(Protocol):
    """Stores images for prompts."""

    async def add(self, data: bytes) -> str:
        """Store an image and return its id. Raises CommandRefused if it is not an image or too large."""
        ...


class SessionFollower(Protocol):
    """Finds sessions to follow."""

    async def follow(self, session: str) -> FollowedSession:
        """A session to follow, on whichever machine it runs. Raises CommandRefused if it does not exist."""
        ...


class FolderPolicy(Protocol):
    """Decides which folders and permission modes clients may choose."""

    def checked_folder(self, path: str) -> str:
        """The real path of a folder that sessions may use. Raises CommandRefused for any other path."""
        ...

    def check_mode(self, mode: str) -> None:
        """Raise CommandRefused if clients may not choose this permission mode."""
        ...


class CcpocketParts(Protocol):
    """Everything a ccpocket client needs from the server."""

    @property
    def commands(self) -> CommandRunner:
        """Runs commands."""
        ...

    @property
    def sessions(self) -> SessionTable:
        """The sessions of this server."""
        ...

    @property
    def terminal(self) -> TerminalSessionList:
        """Sessions started outside the server."""
        ...

    @property
    def uploads(self) -> UploadStore:
        """The store for images."""
        ...

    @property
    def router(self) -> SessionFollower:
        """Finds the machine of a session."""
        ...

    @property
    def workspace(self) -> FolderPolicy:
        """The folders and modes that clients may choose."""
        ...
