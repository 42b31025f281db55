"""A way for bytes to go both ways. In: bytes to send. Out: bytes received, and how it ended.

Nothing here knows what the bytes mean. `receive` gives them in whatever pieces they come; `send` takes whole lines and
never lets two of them mix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec

__all__ = ["Ending", "Transport", "TransportClosed"]


class TransportClosed(ConnectionError):
    """Bytes cannot be sent any more: the other side has gone, or this side has been closed."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a transport ended. `code` or `signal` where a process ended; `stderr` its last lines."""

    code: int | None = None
    signal: str | None = None
    stderr: str = ""

    def describe(self) -> str:
        """In words: exit code 1, killed by SIGKILL, or just ended."""
        if self.signal:
            return f"killed by {self.signal}"
        return "ended" if self.code is None else f"exit code {self.code}"


class Transport(ABC):
    """One connection, used once: start, receive until b"", close."""

    can_control: bool = True
    """Whether the other side answers control requests; where not, they fail at once."""

    @abstractmethod
    async def start(self) -> None:
        """Open it. Out: an OSError with a reason where that fails."""

    @abstractmethod
    async def receive(self) -> bytes:
        """The next bytes, as soon as there are any; b"" once the other side has ended."""

    @abstractmethod
    async def send(self, data: bytes) -> None:
        """Send whole lines, in order, never mixed with others; TransportClosed where nobody is there to read them."""

    @abstractmethod
    async def end_input(self) -> None:
        """Tell the other side that nothing more will be sent."""

    @abstractmethod
    async def close(self) -> Ending:
        """End it for good and leave nothing behind; safe to call twice. Out: how it ended."""

    @property
    def stderr(self) -> str:
        """The last lines the other side wrote for people, where there are any."""
        return ""

    @property
    def pid(self) -> int | None:
        """The process at the other side, where there is one."""
        return None
