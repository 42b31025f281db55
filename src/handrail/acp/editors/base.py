"""What is behind the sessions of an editor: sessions of this process, or of a running bridge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from handrail.bridge_client.base import Listener
from handrail.schema.acp import messages as acp
from handrail.schema.handshake import Model, SlashCommand
from handrail.schema.result_message import ResultMessage

__all__ = ["EditorListener", "Opening", "Source", "SourceSession"]


class Opening(Struct, frozen=True, kw_only=True):
    """What an editor asks for when it opens a session. `session` is "" for a new one."""

    how: Literal["new", "load", "resume", "fork"]
    cwd: str
    session: str = ""
    folders: Sequence[str] = ()
    mcp_servers: Mapping[str, Any]


class EditorListener(Listener, Protocol):
    """The editor's side of a session. `has_buffers`: it can say what it has of a file, saved or not."""

    @property
    def has_buffers(self) -> bool: ...

    async def buffer(self, path: str) -> str | None:
        """The text that the editor has of a file; None if it does not say."""
        ...


class SourceSession(Protocol):
    """One session. Its messages and questions go to the listener that it was opened with."""

    @property
    def id(self) -> str: ...

    @property
    def cwd(self) -> str: ...

    @property
    def mode(self) -> str:
        """The permission mode."""
        ...

    @property
    def may_bypass(self) -> bool:
        """Whether the mode that runs everything unasked can be chosen."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def models(self) -> Sequence[Model]:
        """The models to choose from."""
        ...

    @property
    def commands(self) -> Sequence[SlashCommand]:
        """The slash commands."""
        ...

    async def prompt(self, blocks: Sequence[Mapping[str, Any]]) -> ResultMessage:
        """Run a turn. The listener has received all its messages when this returns. Raises HandrailError."""
        ...

    async def interrupt(self) -> None:
        """Stop the prompts of this editor. Raises HandrailError."""
        ...

    async def set_permission_mode(self, mode: str) -> object:
        """Raises HandrailError."""
        ...

    async def set_model(self, model: str) -> object:
        """Raises HandrailError."""
        ...

    async def close(self) -> None:
        """The editor has closed the session."""
        ...


class Source(Protocol):
    """Where an editor's sessions come from. Each method raises HandrailError, or RpcError for a bad request."""

    async def open(self, opening: Opening, listener: EditorListener) -> SourceSession:
        """Open a session. With `load` the listener receives the conversation so far before this returns."""
        ...

    async def list(self, cwd: str | None, start: int, limit: int) -> Sequence[acp.SessionInfo]:
        """The sessions from number `start`, newest first."""
        ...

    async def delete(self, session_id: str) -> None:
        """Delete a session."""
        ...
