"""The exceptions of the SDK. The branch says who has to change something.

HandrailError
├── CallerError                    the program or person that uses the SDK
│   ├── OptionsError                   an option has an invalid value; nothing was started
│   ├── WarmSessionExpired             a prewarmed session was closed because no one claimed it in time
│   ├── TurnCancelled                  a queued message was cancelled before its turn began
│   ├── InboxFull                      a reader fell too far behind and cannot spill to disk
│   └── LocalProtocolError             the call is invalid in this state; nothing was sent
├── PeerError                      the CLI, or the model behind it
│   ├── StartFailed                    it could not be started, or exited at once; includes its stderr
│   ├── HandshakeFailed                it did not answer `initialize`; includes argv (masked) and stderr
│   ├── Disconnected                   it exited; includes exit code or signal, and stderr
│   ├── ControlError                   a control request failed
│   │   ├── ControlRefused                 the CLI refused it; includes its error code
│   │   │   └── RewindRefused                  files cannot be rewound to that message
│   │   ├── ControlTimeout                 no answer in time
│   │   └── NotSupported                   this transport does not support control requests
│   ├── TurnFailed                     a turn ended with an error; see `reason`
│   └── RemoteProtocolError            it sent something that does not have the documented shape
├── MachineError                   the machine: missing programs, unusable files
│   ├── CliNotFound                    `claude` was not found; lists where it was searched
│   └── SessionStoreError              the session store failed, or does not have the session to resume
├── InternalError                  a bug in Handrail
└── ProtocolError                  LocalProtocolError and RemoteProtocolError together
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handrail.connection.errors import ControlError, ControlRefused, ControlTimeout, Disconnected, NotSupported
from handrail.errors import (
    CallerError,
    HandrailError,
    InternalError,
    LocalProtocolError,
    MachineError,
    PeerError,
    ProtocolError,
    RemoteProtocolError,
)
from handrail.session_store.base import SessionStoreError

if TYPE_CHECKING:
    from handrail.client.turn import TurnResult

__all__ = [
    "CallerError",
    "CliNotFound",
    "ControlError",
    "ControlRefused",
    "ControlTimeout",
    "Disconnected",
    "HandrailError",
    "HandshakeFailed",
    "InboxFull",
    "InternalError",
    "LocalProtocolError",
    "MachineError",
    "NotSupported",
    "OptionsError",
    "PeerError",
    "ProtocolError",
    "RemoteProtocolError",
    "RewindRefused",
    "SessionStoreError",
    "StartFailed",
    "TurnCancelled",
    "TurnFailed",
    "WarmSessionExpired",
]


class OptionsError(CallerError, ValueError):
    """An option has an invalid value. `option` is its name; nothing was started."""

    def __init__(self, option: str, problem: str) -> None:
        self.option = option
        super().__init__(f"Options.{option}: {problem}")


class CliNotFound(MachineError, FileNotFoundError):
    """The CLI was not found. `looked` lists the places that were searched."""

    def __init__(self, looked: Sequence[str]) -> None:
        self.looked = list(looked)
        super().__init__(
            "no `claude` executable was found. Install it (npm install -g @anthropic-ai/claude-code), "
            f"or name one with Options(cli_path=…). Looked in: {', '.join(self.looked)}"
        )


class StartFailed(PeerError):
    """The CLI could not be started, or exited before it answered. `argv` is masked; `stderr` has its last lines."""

    def __init__(self, problem: str, argv: Sequence[str], stderr: str = "") -> None:
        self.argv, self.stderr = list(argv), stderr
        super().__init__(_with_context(f"the CLI could not be started: {problem}", argv, stderr))


class HandshakeFailed(PeerError):
    """The CLI did not answer `initialize` correctly. `argv` is masked; `stderr` has its last lines."""

    def __init__(self, problem: str, argv: Sequence[str], stderr: str = "") -> None:
        self.argv, self.stderr = list(argv), stderr
        super().__init__(_with_context(f"the handshake failed: {problem}", argv, stderr))


class WarmSessionExpired(CallerError):
    """The session was not claimed within `seconds` and was closed."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"the prewarmed session was closed after {seconds:g} s without a claim; "
            "call startup() again, or raise idle_timeout="
        )


class RewindRefused(ControlRefused):
    """Files cannot be rewound to that message; the text comes from the CLI."""


class TurnFailed(PeerError):
    """A turn ended with an error. `reason` is the terminal_reason of the CLI, or the subtype; see also `result`."""

    def __init__(self, result: TurnResult) -> None:
        self.result = result
        self.reason = result.reason
        super().__init__(f"the turn failed ({self.reason}): {result.text or 'no details'}")


class TurnCancelled(CallerError):
    """The message `uuid` was cancelled while it was queued, so its turn never ran."""

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        super().__init__(f"the queued message {uuid} was cancelled before its turn began")


class InboxFull(CallerError):
    """A reader fell behind by more than its limit, and its policy is "fail" or the disk is full."""

    def __init__(self, limit: int, problem: str = "") -> None:
        self.limit = limit
        more = f" and could not be spilled to disk ({problem})" if problem else ""
        way_out = "free disk space" if problem else 'use policy="spill"'
        super().__init__(f"more than {limit} bytes were unread{more}; read faster, raise limit=, or {way_out}")


def _with_context(text: str, argv: Sequence[str], stderr: str) -> str:
    text += f"\n  command: {' '.join(argv)}"
    return f"{text}\n  stderr, last lines:\n{stderr}" if stderr else f"{text}\n  stderr: empty"
