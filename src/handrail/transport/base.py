"""The interface of transports. `receive` returns chunks of any size; `send` takes whole lines and never mixes two."""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec

from handrail.errors import PeerError

__all__ = ["Ending", "Transport", "TransportClosed"]


class TransportClosed(PeerError, ConnectionError):
    """Nothing can be sent any more: the other side has ended, or this side was closed."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a transport ended. A process has `code` or `signal`, and the last lines of its `stderr`."""

    code: int | None = None
    signal: str | None = None
    stderr: str = ""

    def describe(self) -> str:
        """In words, such as "exit code 1" or "killed by SIGKILL"."""
        if self.signal:
            return f"killed by {self.signal}"
        return "ended" if self.code is None else f"exit code {self.code}"


class Transport(ABC):
    """One connection, used once: start, receive until b"", close."""

    can_control: bool = True
    """Whether the other side answers control requests; if not, they fail at once."""

    @abstractmethod
    async def start(self) -> None:
        """Open the transport. Raises OSError."""

    @abstractmethod
    async def receive(self) -> bytes:
        """Wait for the next bytes; b"" once the other side has ended."""

    @abstractmethod
    async def send(self, data: bytes) -> None:
        """Send whole lines, in order and not mixed with others. Raises TransportClosed."""

    @abstractmethod
    async def end_input(self) -> None:
        """Tell the other side that nothing more will be sent."""

    @abstractmethod
    async def close(self) -> Ending:
        """Close the transport, release everything and return how it ended. Idempotent."""

    @property
    def stderr(self) -> str:
        """The last lines of the other side's stderr, if any."""
        return ""

    @property
    def pid(self) -> int | None:
        """The id of the process at the other side, if any."""
        return None
