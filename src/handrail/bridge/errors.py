"""What can go wrong in the bridge.

HandrailError
└── BridgeError
    ├── StoreFailed       the store could not be read or written
    │   └── OutboxFull    NATS is away, and too much waits for it
    ├── DataFolderTaken   another process owns it
    ├── AddressRefused    the server may not or cannot listen there
    ├── ClusterRefused    the cluster cannot be joined as it was asked for
    ├── ClusterAway       NATS does not answer just now
    ├── Fenced            somebody else has the session now: what we would append does not count
    └── CommandRefused    a command of a client; `code` says why, for programs
"""

from __future__ import annotations

from pathlib import Path

from handrail.protocol.errors import HandrailError

__all__ = [
    "AddressRefused",
    "BridgeError",
    "ClusterAway",
    "ClusterRefused",
    "CommandRefused",
    "DataFolderTaken",
    "Fenced",
    "OutboxFull",
    "StoreFailed",
]


class BridgeError(HandrailError):
    """Something about the server, not about a conversation."""


class StoreFailed(BridgeError):
    """The store could not be read or written. `code` is for programs; `lasting`: it will not be well by itself."""

    def __init__(self, path: Path, why: object, *, lasting: bool = False) -> None:
        name = getattr(why, "sqlite_errorname", "")
        self.path, self.lasting = path, lasting or name not in ("SQLITE_FULL", "SQLITE_BUSY")
        self.code = "storage_full" if name == "SQLITE_FULL" else "storage"
        super().__init__(f"{path}: {why}")


class OutboxFull(StoreFailed):
    """So much waits for NATS that no more is taken for now."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(path, f"NATS is away, and {most >> 20} MiB wait for it")
        self.code, self.lasting = "storage_full", False


class DataFolderTaken(BridgeError):
    """Another server works in this folder."""

    def __init__(self, folder: Path, holder: str) -> None:
        self.folder, self.holder = folder, holder
        super().__init__(f"{folder} is in use by {holder}: stop that one, or name another folder with --data")


class AddressRefused(BridgeError):
    """The server may not listen there, or cannot."""


class ClusterRefused(BridgeError):
    """The cluster cannot be joined as it was asked for: an address, a file, a name that is taken."""


class ClusterAway(BridgeError):
    """NATS does not answer just now, or has no majority. What was asked for may be asked again."""


class Fenced(BridgeError):
    """Somebody else has the session now."""

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"session {session} has another owner now")


class CommandRefused(BridgeError):
    """A command that was not done, and why."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(message)
