"""What an SDK user can catch. In: nothing. Out: one tree of errors, each of which says what to do.

HandrailError
├── OptionsError               an option has a value it cannot have; nothing was started
├── CliNotFound                no `claude` on this machine; says where it was looked for
├── StartFailed                the CLI could not be started, or ended at once; has its stderr
├── HandshakeFailed            the CLI did not answer `initialize`; has argv (masked) and stderr
├── Disconnected               the CLI has ended; has exit code or signal, and stderr
├── ControlError               a control request got no good answer
│   ├── ControlRefused             the CLI refused it; has its error code
│   │   └── RewindRefused              files cannot be rewound to that message
│   ├── ControlTimeout             no answer in time
│   └── NotSupported               this transport cannot carry control requests
├── TurnFailed                 a turn ended with an error; `reason` says which
├── TurnCancelled              a queued message was cancelled before its turn began
├── InboxFull                  a reader that may not spill, or has no room to, fell too far behind
└── ProtocolError              a rule of the protocol was broken
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handrail.connection.errors import ControlError, ControlRefused, ControlTimeout, Disconnected, NotSupported
from handrail.protocol.errors import HandrailError, LocalProtocolError, ProtocolError, RemoteProtocolError

if TYPE_CHECKING:
    from handrail.client.turn import TurnResult

__all__ = [
    "CliNotFound",
    "ControlError",
    "ControlRefused",
    "ControlTimeout",
    "Disconnected",
    "HandrailError",
    "HandshakeFailed",
    "InboxFull",
    "LocalProtocolError",
    "NotSupported",
    "OptionsError",
    "ProtocolError",
    "RemoteProtocolError",
    "RewindRefused",
    "StartFailed",
    "TurnCancelled",
    "TurnFailed",
]

NAME_HINT = (
    "If an SDK MCP server is listed in mcp_servers or a config file, check that it has a `name`: "
    "older CLIs hang silently without one."
)


class OptionsError(HandrailError, ValueError):
    """An option has a value it cannot have. `option` names it; nothing was started."""

    def __init__(self, option: str, problem: str) -> None:
        self.option = option
        super().__init__(f"Options.{option}: {problem}")


class CliNotFound(HandrailError, FileNotFoundError):
    """No CLI was found. `looked` lists where it was looked for."""

    def __init__(self, looked: Sequence[str]) -> None:
        self.looked = list(looked)
        super().__init__(
            "no `claude` executable was found. Install it (npm install -g @anthropic-ai/claude-code), "
            f"or name one with Options(cli_path=…). Looked in: {', '.join(self.looked)}"
        )


class StartFailed(HandrailError):
    """The CLI could not be started, or ended before it answered. `argv` is masked; `stderr` holds its last lines."""

    def __init__(self, problem: str, argv: Sequence[str], stderr: str = "") -> None:
        self.argv, self.stderr = list(argv), stderr
        super().__init__(_with_context(f"the CLI could not be started: {problem}", argv, stderr))


class HandshakeFailed(HandrailError):
    """The CLI did not answer `initialize` as it should. `argv` is masked; `stderr` holds its last lines."""

    def __init__(self, problem: str, argv: Sequence[str], stderr: str = "") -> None:
        self.argv, self.stderr = list(argv), stderr
        super().__init__(_with_context(f"the handshake failed: {problem}. {NAME_HINT}", argv, stderr))


class RewindRefused(ControlRefused):
    """Files cannot be rewound to that message; the text is the CLI's."""


class TurnFailed(HandrailError):
    """A turn ended with an error. `reason` is the CLI's terminal_reason, else its subtype; `result` has the rest."""

    def __init__(self, result: TurnResult) -> None:
        self.result = result
        self.reason = result.reason
        super().__init__(f"the turn failed ({self.reason}): {result.text or 'no text was given'}")


class TurnCancelled(HandrailError):
    """The message was cancelled while it was queued, so there is no result. `uuid` names it."""

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        super().__init__(f"the queued message {uuid} was cancelled before its turn began")


class InboxFull(HandrailError):
    """A reader fell further behind than its limit, and its policy is "fail", or there is no room on disk."""

    def __init__(self, limit: int, problem: str = "") -> None:
        self.limit = limit
        more = f" and there was no room on disk for the rest ({problem})" if problem else ""
        way_out = "make room there" if problem else 'use policy="spill"'
        super().__init__(f"more than {limit} bytes were unread{more}; read faster, raise limit=, or {way_out}")


def _with_context(text: str, argv: Sequence[str], stderr: str) -> str:
    text += f"\n  command: {' '.join(argv)}"
    return f"{text}\n  stderr, last lines:\n{stderr}" if stderr else f"{text}\n  stderr: nothing"
