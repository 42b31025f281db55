"""The running server of a data folder, as other processes of the same user reach it.

Anyone who can write to the folder can log in: a new link is written into the store, where the server finds it.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from handrail.bridge.errors import BridgeError, ServerUnreachable
from handrail.bridge.private_files import write_private
from handrail.bridge.store.database import Database
from handrail.bridge.store.ownership import holder
from handrail.bridge.store.shared_values import TABLES, SqliteValues
from handrail.bridge.web.devices import Access

if TYPE_CHECKING:
    import httpx2

__all__ = ["come_in", "known_by", "new_link", "remembered", "running_address"]

_FILE: Final = "server.json"


class _Place(Struct):
    """The address for local tools, the one shown to people, and the certificate of the server."""

    address: str = ""
    shown: str = field(default="", name="told")  # the name in files of running servers
    certificate: str = ""


@contextlib.contextmanager
def remembered(folder: Path, address: str, *, shown: str = "", certificate: Path | None = None) -> Generator[None]:
    """Publish the address in the folder while the block runs. `shown`: the address for people, if it differs."""
    path = folder / _FILE
    place = _Place(address, shown or address, str(certificate.absolute()) if certificate else "")
    write_private(path, msgspec.json.encode(place).decode())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _place(folder: Path) -> _Place:
    """Raises BridgeError if no server is running."""
    try:
        if holder(folder):
            return msgspec.json.decode((folder / _FILE).read_bytes(), type=_Place)
    except (OSError, msgspec.MsgspecError):
        pass
    raise ServerUnreachable(f"no server is running in {folder}; start one with `handrail serve`")


def running_address(folder: Path) -> str:
    """The address of the server of a folder; "" if none is running."""
    try:
        return _place(folder).address
    except BridgeError:
        return ""


async def new_link(folder: Path) -> str:
    """A new one-time link. Raises BridgeError if no server is running."""
    place = _place(folder)
    return f"{place.shown}/#link={await _new_secret(folder)}"


async def _new_secret(folder: Path) -> str:
    database = Database(folder / "handrail.db", TABLES)
    try:
        return await Access(SqliteValues(database)).make_link()
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def come_in(folder: Path, name: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client with all scopes, logged in while the block runs. Raises BridgeError."""
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
            raise ServerUnreachable(f"{address}: {error}") from None


def known_by(folder: Path) -> ssl.SSLContext | None:
    """A TLS context that accepts exactly the certificate of the server, under any name."""
    certificate = _place(folder).certificate
    if not certificate:
        return None
    context = ssl.create_default_context(cafile=certificate)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context
