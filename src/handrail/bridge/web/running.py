"""The server that works in a data folder, seen from another process. In: the folder. Out: its address, a way in.

Whoever may write in the folder may come in: a link is made by putting it into the store, where the server finds it.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import stat
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from handrail.bridge.errors import BridgeError
from handrail.bridge.store.database import Database
from handrail.bridge.store.ownership import holder
from handrail.bridge.web import devices as access

if TYPE_CHECKING:
    import httpx2

__all__ = ["come_in", "known_by", "new_link", "read_private", "remembered", "running_address", "write_private"]

_FILE: Final = "server.json"


class _Place(Struct):
    """Where a server is: for tools on this machine, for people, and by which certificate it is known."""

    address: str = ""
    told: str = ""
    certificate: str = ""


@contextlib.contextmanager
def remembered(folder: Path, address: str, *, told: str = "", certificate: Path | None = None) -> Generator[None]:
    """The address stands in the folder as long as this goes on. `told`: the one for people, where it is another."""
    path = folder / _FILE
    place = _Place(address, told or address, str(certificate.absolute()) if certificate else "")
    write_private(path, msgspec.json.encode(place).decode())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _place(folder: Path) -> _Place:
    """BridgeError where no server runs."""
    try:
        if holder(folder):
            return msgspec.json.decode((folder / _FILE).read_bytes(), type=_Place)
    except (OSError, msgspec.MsgspecError):
        pass
    raise BridgeError(f"no server works in {folder}: start one with `handrail serve`")


def running_address(folder: Path) -> str:
    """Where the server of a folder is reached; "" where none runs."""
    try:
        return _place(folder).address
    except BridgeError:
        return ""


async def new_link(folder: Path) -> str:
    """A link that lets in one device. BridgeError where no server runs."""
    place = _place(folder)
    return f"{place.told}/#link={await _new_secret(folder)}"


async def _new_secret(folder: Path) -> str:
    database = Database(folder / "handrail.db", access.TABLES)
    try:
        return await access.Access(database).make_link()
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def come_in(folder: Path, name: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """Be a device of the running server that may do everything, as long as the block runs. BridgeError."""
    import httpx2

    place = _place(folder)
    address, secret, known = place.address, await _new_secret(folder), known_by(folder) or True
    async with httpx2.AsyncClient(base_url=address, headers={"origin": address}, verify=known) as client:
        try:
            answer = await client.post("/api/login", json={"link": secret, "name": name})
            answer.raise_for_status()
            try:
                yield client
            finally:
                await client.post("/api/logout", json={})
        except httpx2.HTTPError as error:
            raise BridgeError(f"{address}: {error}") from None


def known_by(folder: Path) -> ssl.SSLContext | None:
    """How the server of a folder is known over TLS: by its certificate and nothing else, whatever name stands there."""
    certificate = _place(folder).certificate
    if not certificate:
        return None
    context = ssl.create_default_context(cafile=certificate)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context


def read_private(path: Path) -> str:
    """What stands in a file that only its owner may read; "" where there is none. BridgeError where others can."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    with os.fdopen(descriptor) as file:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if mode & 0o077:
            raise BridgeError(
                f"others may read {path} (mode {mode:04o}): remove it, for what stands in it may be known;"
                " a new one is made"
            )
        return file.read(1024).strip()


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
