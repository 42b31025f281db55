"""The errors of a connection.

PeerError
├── Disconnected           the other side ended; includes how, and the last lines of stderr
└── ControlError           a control request failed
    ├── ControlRefused         the other side refused it
    ├── ControlTimeout         no answer in time
    └── NotSupported           this transport does not support control requests
"""

from __future__ import annotations

from handrail.errors import PeerError
from handrail.transport.base import Ending

__all__ = ["ControlError", "ControlRefused", "ControlTimeout", "Disconnected", "NotSupported"]


class Disconnected(PeerError):
    """The other side has ended. `ending` has the exit code or signal, and the last lines of stderr."""

    def __init__(self, ending: Ending, doing: str = "") -> None:
        self.ending = ending
        text = f"the other side has ended ({ending.describe()})"
        if doing:
            text = f"{doing}: {text}"
        if ending.stderr:
            text += f"; the last lines of its stderr:\n{ending.stderr}"
        super().__init__(text)

    @property
    def exit_code(self) -> int | None:
        """The exit code of the process; None if it was killed by a signal."""
        return self.ending.code

    @property
    def stderr(self) -> str:
        """The last lines of its stderr."""
        return self.ending.stderr


class ControlError(PeerError):
    """A control request of type `subtype` failed."""

    def __init__(self, subtype: str, text: str) -> None:
        self.subtype = subtype
        super().__init__(f"{subtype}: {text}")


class ControlRefused(ControlError):
    """The other side refused. `error` is its message, `code` its error code or ""."""

    def __init__(self, subtype: str, error: str, code: str = "") -> None:
        self.error, self.code = error, code
        super().__init__(subtype, f"{error} [{code}]" if code else error)


class ControlTimeout(ControlError, TimeoutError):
    """The other side did not answer in time; the request was withdrawn."""

    def __init__(self, subtype: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(subtype, f"no answer within {seconds:g} s; pass timeout= to wait longer")


class NotSupported(ControlError):
    """This transport does not support control requests; nothing was sent."""

    def __init__(self, subtype: str) -> None:
        super().__init__(subtype, "this transport cannot answer control requests")
