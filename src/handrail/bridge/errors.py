"""The errors of the bridge.

HandrailError
└── BridgeError
    ├── InvalidSetup      an argument, an option or a file named by the administrator cannot be used
    ├── UnusableFile      a file of the server is damaged, unreadable, or readable by others
    ├── ServerUnreachable no server answers, or it refused
    ├── StoreFailed       the store could not be read or written
    │   └── OutboxFull    NATS is unreachable, and the outbox is full
    ├── DataFolderTaken   another process uses the data folder
    ├── AddressRefused    the address cannot be used
    ├── ClusterRefused    the cluster cannot be joined with this configuration
    ├── ClusterAway       NATS is unreachable; retry later
    ├── Fenced            another machine owns the session now; our events are rejected
    └── CommandRefused    a command was refused; `code` says why, for programs
"""

from __future__ import annotations

from pathlib import Path

from handrail.errors import CallerError, HandrailError, MachineError, PeerError

__all__ = [
    "AddressRefused",
    "BridgeError",
    "ClusterAway",
    "ClusterRefused",
    "CommandRefused",
    "DataFolderTaken",
    "Fenced",
    "InvalidSetup",
    "OutboxFull",
    "ServerUnreachable",
    "StoreFailed",
    "UnusableFile",
]


class BridgeError(HandrailError):
    """An error of the server, not of a conversation. Its subclasses say whose fault it is."""


class InvalidSetup(BridgeError, CallerError):
    """An argument, an option or a file named by the administrator cannot be used."""


class UnusableFile(BridgeError, MachineError):
    """A file of the server is damaged, cannot be read or written, or could be read by others."""


class ServerUnreachable(BridgeError, PeerError):
    """No server answers at this address, or it refused the request."""


class StoreFailed(BridgeError, MachineError):
    """The store could not be read or written. `lasting`: a retry will not help."""

    def __init__(self, path: Path, why: object, *, lasting: bool = False) -> None:
        name = getattr(why, "sqlite_errorname", "")
        self.path, self.lasting = path, lasting or name not in ("SQLITE_FULL", "SQLITE_BUSY")
        self.code = "storage_full" if name == "SQLITE_FULL" else "storage"
        super().__init__(f"{path}: {why}")


class OutboxFull(StoreFailed):
    """The outbox is full of events that NATS has not confirmed."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(path, f"NATS is unreachable, and {most >> 20} MiB of events are pending")
        self.code, self.lasting = "storage_full", False


class DataFolderTaken(BridgeError, MachineError):
    """Another server uses this data folder."""

    def __init__(self, folder: Path, holder: str) -> None:
        self.folder, self.holder = folder, holder
        super().__init__(f"{folder} is in use by {holder}; stop that process, or choose another folder with --data")


class AddressRefused(BridgeError, CallerError):
    """The server may not or cannot listen on this address."""


class ClusterRefused(BridgeError, CallerError):
    """The cluster cannot be joined: invalid address, missing file, duplicate name."""


class ClusterAway(BridgeError, PeerError):
    """NATS is unreachable or lost its quorum. The request may be retried."""


class Fenced(BridgeError, PeerError):
    """Another machine owns the session now."""

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"session {session} has another owner now")


class CommandRefused(BridgeError, CallerError):
    """A command was refused: the code for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(message)
