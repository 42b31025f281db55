"""Devices and their credentials: one-time links, tokens, tickets.

A link works once and expires soon; the client that opens it becomes a device with its own token. Only hashes of
secrets are stored. Revoking a device takes effect at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from typing import Final, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.commands.table import SCOPES
from handrail.bridge.errors import CommandRefused
from handrail.bridge.store.clock import earliest_now, latest_now
from handrail.bridge.store.database import Database

__all__ = ["TABLES", "Access", "Device", "Kind"]

log = logging.getLogger("handrail.bridge")
Kind = Literal["browser", "program", "ccpocket"]
OLD_KINDS: Final[dict[str, Kind]] = {"seed": "ccpocket"}
"""Kinds as older servers have stored them."""
TABLES: Final = """
CREATE TABLE IF NOT EXISTS device (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, scopes TEXT NOT NULL, secret BLOB NOT NULL,
    created INTEGER NOT NULL, seen INTEGER NOT NULL, revoked INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS invitation (
    secret BLOB PRIMARY KEY, scopes TEXT NOT NULL, ends INTEGER NOT NULL, maker TEXT NOT NULL) WITHOUT ROWID;
"""
LINK_SECONDS: Final = 600
UNUSED_SECONDS: Final = 30 * 86400
"""A browser that was not used for this long must log in again; programs stay until they are revoked."""
SEEN_SECONDS: Final = 60
TICKET_SECONDS: Final = 60
MOST_TICKETS: Final = 100
"""Unused tickets of one device."""
LONGEST: Final = 200


class Device(Struct, frozen=True):
    """A browser, a phone or a program that is logged in."""

    id: str
    name: str
    kind: Kind
    scopes: frozenset[str]
    created: int
    seen: int

    @property
    def sees_paths(self) -> bool:
        """Whether it may see paths of this machine; viewers may not."""
        return bool(self.scopes - {"view"})


class Access:
    """The devices of one server. `clock` is in seconds since 1970."""

    def __init__(self, database: Database, *, clock: Callable[[], float] | None = None) -> None:
        self._database, self._clock, self._noted = database, clock or earliest_now, clock or latest_now
        self._devices: dict[str, tuple[Device, bytes]] = {}
        self._revoked: dict[str, bytes] = {}
        """The hashed secrets of revoked devices, so that the refusal can say so."""
        self._tickets: dict[bytes, tuple[str, float]] = {}
        self._writing: set[asyncio.Task[None]] = set()
        self.on_revoked: list[Callable[[str], None]] = []
        """Called with the id of a device that was revoked."""

    async def open(self) -> None:
        """Load the devices."""

        def look(db: sqlite3.Connection) -> list[tuple[str, str, str, str, bytes, int, int, int]]:
            columns = "id, name, kind, scopes, secret, created, seen, revoked"
            return db.execute(f"SELECT {columns} FROM device").fetchall()  # noqa: S608

        for id, name, kind, scopes, secret, created, seen, revoked in await self._database.look(look):
            if revoked:
                self._revoked[id] = secret
                continue
            known = OLD_KINDS.get(kind) or cast("Kind", kind)
            self._devices[id] = (Device(id, name, known, frozenset(scopes.split()), created, seen), secret)

    async def close(self) -> None:
        """Wait for pending writes."""
        if self._writing:
            await asyncio.wait(self._writing)

    # Links and devices

    async def make_link(self, scopes: Iterable[str] = SCOPES, *, maker: str = "") -> str:
        """A secret that logs in one device, once. It becomes invalid if the device `maker` is revoked."""
        secret, ends = secrets.token_urlsafe(32), round(self._clock() + LINK_SECONDS)
        row = (_hash(secret), " ".join(_checked(scopes)), ends, maker)
        await self._database.execute("INSERT INTO invitation VALUES (?, ?, ?, ?)", row)
        return secret

    async def open_link(self, secret: str, name: str) -> tuple[Device, str] | None:
        """Use up a link. Returns a new device and its token; None if the link is invalid, used or expired."""
        if not 0 < len(secret) <= LONGEST or not secret.isascii():
            return None
        now = round(self._clock())

        def use(db: sqlite3.Connection) -> str | None:
            db.execute("DELETE FROM invitation WHERE ends < ?", (now,))
            row = db.execute("SELECT scopes FROM invitation WHERE secret = ?", (_hash(secret),)).fetchone()
            db.execute("DELETE FROM invitation WHERE secret = ?", (_hash(secret),))
            return row[0] if row else None

        scopes = await self._database.change(use)
        return None if scopes is None else await self.add_device(name, "browser", scopes.split())

    async def add_device(self, name: str, kind: Kind, scopes: Iterable[str]) -> tuple[Device, str]:
        """Add a device. Returns it with its token, which cannot be read again later."""
        id, secret, now = secrets.token_hex(8), secrets.token_urlsafe(32), round(self._noted() * 1000)
        name = "".join(sign for sign in name if sign.isprintable())[:80] or kind
        device = Device(id, name, kind, frozenset(_checked(scopes)), now, now)
        row = (id, name, kind, " ".join(sorted(device.scopes)), _hash(secret), now, now)
        query = "INSERT INTO device (id, name, kind, scopes, secret, created, seen) VALUES (?, ?, ?, ?, ?, ?, ?)"
        await self._database.execute(query, row)
        self._devices[id] = (device, _hash(secret))
        return device, f"{id}.{secret}"

    def device(self, token: str) -> Device | None:
        """The device of a token; None if it is invalid. The comparison takes constant time."""
        if len(token) > LONGEST or not token.isascii():
            return None
        id, _, secret = token.partition(".")
        found, kept = self._devices.get(id, (None, bytes(32)))
        same = hmac.compare_digest(kept, _hash(secret))
        return found if same and found is not None and not self._is_unused(found) else None

    def is_revoked(self, token: str) -> bool:
        """Whether this is the valid token of a device that was revoked."""
        if len(token) > LONGEST or not token.isascii():
            return False
        id, _, secret = token.partition(".")
        same = hmac.compare_digest(self._revoked.get(id, bytes(32)), _hash(secret))
        return same and id in self._revoked

    def _is_unused(self, device: Device) -> bool:
        return device.kind == "browser" and self._clock() - device.seen / 1000 > UNUSED_SECONDS

    def touch(self, device: Device) -> None:
        """Note when the device was last seen: at most once a minute, in the background."""
        now = round(self._noted() * 1000)
        if now - device.seen < SEEN_SECONDS * 1000 or device.id not in self._devices:
            return
        self._devices[device.id] = (replace(device, seen=now), self._devices[device.id][1])
        task = asyncio.ensure_future(
            self._database.execute("UPDATE device SET seen = ? WHERE id = ?", (now, device.id))
        )
        self._writing.add(task)
        task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("cannot persist when a device was last seen: %s", error)

    def knows(self, device: Device) -> bool:
        """Whether the device is still logged in."""
        return device.id in self._devices

    def devices(self) -> list[Device]:
        """All devices that are not revoked, oldest first."""
        return sorted((device for device, _ in self._devices.values()), key=lambda device: device.created)

    async def rename(self, id: str, name: str) -> None:
        """Rename a device."""
        device, secret = self._known(id)
        shown = "".join(sign for sign in name if sign.isprintable())[:80]
        await self._database.execute("UPDATE device SET name = ? WHERE id = ?", (shown, id))
        self._devices[id] = (replace(device, name=shown), secret)

    async def revoke(self, id: str) -> None:
        """Revoke a device for good, with the unused links that it made."""
        _, secret = self._known(id)

        def out(db: sqlite3.Connection) -> None:
            db.execute("UPDATE device SET revoked = 1 WHERE id = ?", (id,))
            db.execute("DELETE FROM invitation WHERE maker = ?", (id,))

        await self._database.change(out)
        self._devices.pop(id, None)
        self._revoked[id] = secret
        self._tickets = {ticket: owner for ticket, owner in self._tickets.items() if owner[0] != id}
        for tell in self.on_revoked:
            tell(id)

    def _known(self, id: str) -> tuple[Device, bytes]:
        if id not in self._devices:
            raise CommandRefused("not_found", f"device {id} not found")
        return self._devices[id]

    # Tickets

    def make_ticket(self, device: Device) -> str:
        """A secret that opens one socket, once, within a minute."""
        now = self._clock()
        self._tickets = {ticket: owner for ticket, owner in self._tickets.items() if owner[1] > now}
        if sum(owner == device.id for owner, _ in self._tickets.values()) >= MOST_TICKETS:
            raise CommandRefused("too_many", "too many unused tickets; use them or wait a minute")
        ticket = secrets.token_urlsafe(24)
        self._tickets[_hash(ticket)] = (device.id, now + TICKET_SECONDS)
        return ticket

    def use_ticket(self, ticket: str) -> Device | None:
        """Use up a ticket. Returns its device; None if it is invalid or expired."""
        owner, ends = self._tickets.pop(_hash(ticket[:LONGEST]), ("", 0.0))
        return self._devices[owner][0] if ends > self._clock() and owner in self._devices else None


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()


def _checked(scopes: Iterable[str]) -> list[str]:
    wanted = sorted(set(scopes))
    if unknown := [scope for scope in wanted if scope not in SCOPES]:
        raise CommandRefused("bad_scope", f"unknown scope {unknown[0]!r}; the scopes are {', '.join(SCOPES)}")
    return wanted
