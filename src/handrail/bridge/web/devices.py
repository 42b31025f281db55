"""Devices and their credentials: one-time links, tokens, tickets.

A link works once and expires soon; the client that opens it becomes a device with its own token. Only hashes of
secrets are stored. Revoking a device takes effect at once. In a cluster all of this is shared by the gateways, and a
request is checked against the local copy, without asking NATS.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from handrail.bridge.commands.table import SCOPES
from handrail.bridge.errors import CommandRefused
from handrail.bridge.store.clock import earliest_now, latest_now
from handrail.bridge.store.shared_values import SharedValues

__all__ = ["Access", "Device", "Kind", "StoredDevice", "device_key"]

log = logging.getLogger("handrail.bridge")
Kind = Literal["browser", "program", "ccpocket"]
LINK_SECONDS: Final = 600
UNUSED_SECONDS: Final = 30 * 86400
"""A browser that was not used for this long must log in again; programs stay until they are revoked."""
REVOKED_SECONDS: Final = 30 * 86400
"""A revoked device is remembered for this long, so that its refusal can say so."""
SEEN_SECONDS: Final = 60
TICKET_SECONDS: Final = 60
LONGEST: Final = 200
_DEVICE: Final = "device."
_LINK: Final = "link."
T = TypeVar("T")


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


class StoredDevice(Struct, frozen=True, kw_only=True):
    """A device as it is stored. `scopes` are separated by spaces, `secret` is the hash of its token in hexadecimal."""

    name: str
    kind: Kind
    scopes: str
    secret: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    created: int
    seen: int
    revoked: bool = False


class _Link(Struct, frozen=True):
    """A login link. `ends`: seconds since 1970. `maker`: the device that created it; "" for the server itself."""

    scopes: str
    ends: int
    maker: str


class Access:
    """The devices of one server, or of all gateways of a cluster. `clock` is in seconds since 1970."""

    def __init__(self, values: SharedValues, *, clock: Callable[[], float] | None = None) -> None:
        self._values, self._clock, self._noted = values, clock or earliest_now, clock or latest_now
        self._touched: dict[str, int] = {}
        """When each device was last seen here, in milliseconds."""
        self._used_tickets: dict[str, int] = {}
        self._writing: set[asyncio.Task[Any]] = set()
        self.on_revoked: list[Callable[[str], None]] = []
        """Called with the id of a device that was revoked, here or on another gateway."""
        values.on_change.append(self._changed)

    async def close(self) -> None:
        """Wait for pending writes."""
        if self._writing:
            await asyncio.wait(self._writing)

    def _changed(self, key: str, value: bytes | None) -> None:
        if key.startswith(_DEVICE) and not _is_valid(value):
            for tell in self.on_revoked:
                tell(key.removeprefix(_DEVICE))

    # Links and devices

    async def make_link(self, scopes: Iterable[str] = SCOPES, *, maker: str = "") -> str:
        """A secret that logs in one device, once. It becomes invalid if the device `maker` is revoked."""
        secret, ends = secrets.token_urlsafe(32), round(self._clock() + LINK_SECONDS)
        link = _Link(" ".join(_checked(scopes)), ends, maker)
        await self._values.create(_LINK + _hash(secret), msgspec.json.encode(link), seconds=LINK_SECONDS)
        return secret

    async def open_link(self, secret: str, name: str) -> tuple[Device, str] | None:
        """Use up a link. Returns a new device and its token; None if the link is invalid, used or expired."""
        if not 0 < len(secret) <= LONGEST or not secret.isascii():
            return None
        link = _decoded(await self._values.take(_LINK + _hash(secret)), _Link)
        if link is None or link.ends < self._clock() or not (link.maker == "" or self.is_valid(link.maker)):
            return None
        return await self.add_device(name, "browser", link.scopes.split())

    async def add_device(self, name: str, kind: Kind, scopes: Iterable[str]) -> tuple[Device, str]:
        """Add a device. Returns it with its token, which cannot be read again later."""
        id, secret, now = secrets.token_hex(8), secrets.token_urlsafe(32), round(self._noted() * 1000)
        stored = StoredDevice(
            name="".join(sign for sign in name if sign.isprintable())[:80] or kind,
            kind=kind,
            scopes=" ".join(_checked(scopes)),
            secret=_hash(secret),
            created=now,
            seen=now,
        )
        await self._values.create(device_key(id), msgspec.json.encode(stored))
        return self._shown(id, stored), f"{id}.{secret}"

    def device(self, token: str) -> Device | None:
        """The device of a token; None if it is invalid. The comparison takes constant time."""
        id, stored = self._owner(token)
        if stored is None or stored.revoked:
            return None
        found = self._shown(id, stored)
        unused = found.kind == "browser" and self._clock() - found.seen / 1000 > UNUSED_SECONDS
        return None if unused else found

    def is_revoked(self, token: str) -> bool:
        """Whether this is the valid token of a device that was revoked."""
        _, stored = self._owner(token)
        return stored is not None and stored.revoked

    def _owner(self, token: str) -> tuple[str, StoredDevice | None]:
        if len(token) > LONGEST or not token.isascii():
            return "", None
        id, _, secret = token.partition(".")
        stored = self._stored(id)
        same = hmac.compare_digest("0" * 64 if stored is None else stored.secret, _hash(secret))
        return id, stored if same else None

    def touch(self, device: Device) -> None:
        """Note when the device was last seen: at most once a minute, in the background."""
        now = round(self._noted() * 1000)
        if now - device.seen < SEEN_SECONDS * 1000 or not self.knows(device):
            return
        self._touched[device.id] = now
        key, change = device_key(device.id), _replacing(lambda stored: {"seen": max(stored.seen, now)})
        task = asyncio.ensure_future(self._values.update(key, change))
        self._writing.add(task)
        task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[Any]) -> None:
        self._writing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("cannot persist when a device was last seen: %s", error)

    def knows(self, device: Device) -> bool:
        """Whether the device is still logged in."""
        return self.is_valid(device.id)

    def devices(self) -> list[Device]:
        """All devices that are not revoked, oldest first."""
        stored = {key: _decoded(value, StoredDevice) for key, value in self._values.below(_DEVICE).items()}
        found = [self._shown(key.removeprefix(_DEVICE), one) for key, one in stored.items() if one and not one.revoked]
        return sorted(found, key=lambda device: device.created)

    async def rename(self, id: str, name: str) -> None:
        """Rename a device."""
        shown = "".join(sign for sign in name if sign.isprintable())[:80]
        await self._change(id, lambda _: {"name": shown})

    async def revoke(self, id: str) -> None:
        """Revoke a device for good, with the unused links that it made."""
        await self._change(id, lambda _: {"revoked": True}, seconds=REVOKED_SECONDS)

    async def _change(
        self, id: str, fields: Callable[[StoredDevice], dict[str, Any]], seconds: int | None = None
    ) -> None:
        missing = CommandRefused("not_found", f"device {id} not found")
        if not self.is_valid(id):
            raise missing
        if await self._values.update(device_key(id), _replacing(fields), seconds=seconds) is None:
            raise missing

    def _stored(self, id: str) -> StoredDevice | None:
        return _decoded(self._values.get(device_key(id)), StoredDevice)

    def is_valid(self, id: str) -> bool:
        """Whether a device with this id is logged in."""
        return _is_valid(self._values.get(device_key(id)))

    def _shown(self, id: str, stored: StoredDevice) -> Device:
        seen = max(stored.seen, self._touched.get(id, 0))
        return Device(id, stored.name, stored.kind, frozenset(stored.scopes.split()), stored.created, seen)

    # Tickets

    def make_ticket(self, device: Device) -> str:
        """A secret that opens one socket, once, within a minute, on any gateway.

        It is signed instead of stored: the socket may be opened on another gateway than the one that made it.
        """
        signed = f"{device.id}.{round(self._clock()) + TICKET_SECONDS}.{secrets.token_urlsafe(12)}"
        return f"{signed}.{self._signature(signed, device.id)}"

    def use_ticket(self, ticket: str) -> Device | None:
        """Use up a ticket. Returns its device; None if it is invalid, expired or was used on this gateway."""
        signed, _, signature = ticket[:LONGEST].rpartition(".")
        id, _, rest = signed.partition(".")
        ends, now = rest.partition(".")[0], self._clock()
        stored, known = self._stored(id), self._signature(signed, id)
        if not ticket.isascii() or not hmac.compare_digest(signature, known) or stored is None or stored.revoked:
            return None
        self._used_tickets = {used: end for used, end in self._used_tickets.items() if end >= now}
        if int(ends) < now or signed in self._used_tickets:
            return None
        self._used_tickets[signed] = int(ends)
        return self._shown(id, stored)

    def _signature(self, text: str, device: str) -> str:
        """A signature with the stored hash of the device's secret, which all gateways have."""
        stored = self._stored(device)
        key = secrets.token_bytes(32) if stored is None else bytes.fromhex(stored.secret)
        return hmac.new(key, text.encode(errors="replace"), "sha256").hexdigest()


def device_key(id: str) -> str:
    """The key under which a device is stored."""
    return _DEVICE + id


def _is_valid(value: bytes | None) -> bool:
    stored = _decoded(value, StoredDevice)
    return stored is not None and not stored.revoked


def _decoded(value: bytes | None, kind: type[T]) -> T | None:
    """The decoded value. One that this version cannot read counts as missing: it opens nothing."""
    try:
        return None if value is None else msgspec.json.decode(value, type=kind)
    except msgspec.MsgspecError:
        return None


def _replacing(fields: Callable[[StoredDevice], dict[str, Any]]) -> Callable[[bytes], bytes]:
    """A change of some fields of a stored device. A revoked one stays as it is."""

    def change(value: bytes) -> bytes:
        stored = _decoded(value, StoredDevice)
        if stored is None or stored.revoked:
            return value
        return msgspec.json.encode(replace(stored, **fields(stored)))

    return change


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def _checked(scopes: Iterable[str]) -> list[str]:
    wanted = sorted(set(scopes))
    if unknown := [scope for scope in wanted if scope not in SCOPES]:
        raise CommandRefused("bad_scope", f"unknown scope {unknown[0]!r}; the scopes are {', '.join(SCOPES)}")
    return wanted
