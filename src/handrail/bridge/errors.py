"""What can go wrong in the bridge.

HandrailError
└── BridgeError
    ├── StoreFailed       the store could not be read or written
    ├── DataFolderTaken   another process owns it
    ├── AddressRefused    the server may not or cannot listen there
    └── CommandRefused    a command of a client; `code` says why, for programs
"""

from __future__ import annotations

from pathlib import Path

from handrail.protocol.errors import HandrailError

__all__ = ["AddressRefused", "BridgeError", "CommandRefused", "DataFolderTaken", "StoreFailed"]


class BridgeError(HandrailError):
    """Something about the server, not about a conversation."""


class StoreFailed(BridgeError):
    """The store could not be read or written. `code` is for programs; `lasting`: it will not be well by itself."""

    def __init__(self, path: Path, why: object, *, lasting: bool = False) -> None:
        name = getattr(why, "sqlite_errorname", "")
        self.path, self.lasting = path, lasting or name not in ("SQLITE_FULL", "SQLITE_BUSY")
        self.code = "storage_full" if name == "SQLITE_FULL" else "storage"
        super().__init__(f"{path}: {why}")


class DataFolderTaken(BridgeError):
    """Another server works in this folder."""

    def __init__(self, folder: Path, holder: str) -> None:
        self.folder, self.holder = folder, holder
        super().__init__(f"{folder} is in use by {holder}: stop that one, or name another folder with --data")


class AddressRefused(BridgeError):
    """The server may not listen there, or cannot."""


class CommandRefused(BridgeError):
    """A command that was not done, and why."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(message)
