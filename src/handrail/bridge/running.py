"""The server that works in a data folder, seen from another process. In: the folder. Out: its address, a new link.

Whoever may write in the folder may come in: a link is made by putting it into the store, where the server finds it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import Final

from handrail.bridge import access
from handrail.bridge.database import Database
from handrail.bridge.errors import BridgeError
from handrail.bridge.ownership.alone import holder

__all__ = ["new_link", "remembered", "running_address", "write_private"]

_FILE: Final = "address"


@contextlib.contextmanager
def remembered(folder: Path, address: str) -> Generator[None]:
    """The address stands in the folder as long as this goes on."""
    path = folder / _FILE
    write_private(path, address)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def running_address(folder: Path) -> str:
    """Where the server of a folder is reached; "" where none runs."""
    if not holder(folder):
        return ""
    try:
        return (folder / _FILE).read_text(errors="replace").strip()
    except OSError:
        return ""


async def new_link(folder: Path) -> str:
    """A link that lets in one device. BridgeError where no server runs."""
    address = running_address(folder)
    if not address:
        raise BridgeError(f"no server works in {folder}: start one with `handrail serve`")
    database = Database(folder / "handrail.db", access.TABLES)
    try:
        return f"{address}/#link={await access.Access(database).make_link()}"
    finally:
        await database.close()


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
