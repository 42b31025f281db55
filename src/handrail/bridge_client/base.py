"""The way to a bridge, its errors, and the listener of a session."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from handrail.client.callbacks import Allow, Deny, ElicitationAnswer, ElicitationRequest, PermissionRequest
from handrail.errors import PeerError
from handrail.schema.message_view import MessageView

__all__ = ["CommandFailed", "Link", "Listener", "LoginRefused", "Unreachable", "Wire"]

JsonObject = dict[str, Any]


class CommandFailed(PeerError):
    """The bridge refused a command. `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Unreachable(PeerError):
    """The bridge cannot be reached now."""


class LoginRefused(PeerError):
    """The bridge does not accept the token; connecting again will not help."""


class Wire(Protocol):
    """An open socket of the native protocol."""

    async def send(self, text: str) -> None:
        """Send one message. Raises Unreachable."""
        ...

    async def receive(self) -> str | bytes:
        """The next message. Raises Unreachable at the end."""
        ...


class Link(Protocol):
    """A way to one bridge: its socket, and what the socket does not carry."""

    def connect(self) -> AbstractAsyncContextManager[Wire]:
        """Open a socket. Raises Unreachable or LoginRefused."""
        ...

    async def sessions(self, words: str, offset: int, limit: int) -> list[JsonObject]:
        """The sessions that are not archived, the most recently changed first. Raises HandrailError."""
        ...

    async def event(self, session: str, seq: int) -> bytes:
        """The data of an event that is too large for the socket. Raises HandrailError."""
        ...

    async def upload(self, image: bytes) -> str:
        """Store an image for a message; returns its id. Raises HandrailError."""
        ...


class Listener(Protocol):
    """Receives what happens in a session, in order. The questions are cancelled when they are answered elsewhere."""

    async def received(self, message: MessageView, *, stored: bool) -> None:
        """A message of the CLI; `stored` if it is a part of the history, a prompt for example."""
        ...

    async def changed(self, *, mode: str = "", model: str = "", title: str = "") -> None:
        """A setting of the session changed."""
        ...

    async def permission(self, request: PermissionRequest) -> Allow | Deny:
        """May the tool run? Questions of the model come this way too."""
        ...

    async def plan(self, request: PermissionRequest) -> Allow | Deny:
        """Should the model start with its plan?"""
        ...

    async def elicitation(self, request: ElicitationRequest) -> ElicitationAnswer:
        """A question of an MCP server."""
        ...
