"""The server that works in a data folder, seen from another process. In: the folder. Out: its address, a way in.

Whoever may write in the folder may come in: a link is made by putting it into the store, where the server finds it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.bridge import access
from handrail.bridge.database import Database
from handrail.bridge.errors import BridgeError
from handrail.bridge.ownership.alone import holder

if TYPE_CHECKING:
    import httpx2

__all__ = ["come_in", "new_link", "remembered", "running_address", "write_private"]

_FILE: Final = "address"


@contextlib.contextmanager
def remembered(folder: Path, address: str, certificate: Path | None = None) -> Generator[None]:
    """The address stands in the folder as long as this goes on, and by which certificate the server is known."""
    path = folder / _FILE
    write_private(path, f"{address}\n{certificate.absolute() if certificate else ''}")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def running_address(folder: Path) -> str:
    """Where the server of a folder is reached; "" where none runs."""
    return _remembered(folder)[0]


def _remembered(folder: Path) -> tuple[str, str]:
    if not holder(folder):
        return "", ""
    try:
        address, _, certificate = (folder / _FILE).read_text(errors="replace").partition("\n")
    except OSError:
        return "", ""
    return address.strip(), certificate.strip()


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


@contextlib.asynccontextmanager
async def come_in(folder: Path, name: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """Be a device of the running server that may do everything, as long as the block runs. BridgeError."""
    import httpx2

    address, secret = (await new_link(folder)).split("/#link=")
    async with httpx2.AsyncClient(base_url=address, headers={"origin": address}, verify=_known_by(folder)) as client:
        try:
            answer = await client.post("/api/login", json={"link": secret, "name": name})
            answer.raise_for_status()
            try:
                yield client
            finally:
                await client.post("/api/logout", json={})
        except httpx2.HTTPError as error:
            raise BridgeError(f"{address}: {error}") from None


def _known_by(folder: Path) -> Any:
    import ssl

    certificate = _remembered(folder)[1]
    return ssl.create_default_context(cafile=certificate) if certificate else True


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
