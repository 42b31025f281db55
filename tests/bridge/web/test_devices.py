"""Links work once, devices until they are revoked, and tickets for a minute."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.store.database import Database
from handrail.bridge.store.shared_values import TABLES, SqliteValues
from handrail.bridge.web.devices import LINK_SECONDS, TICKET_SECONDS, UNUSED_SECONDS, Access


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@contextlib.asynccontextmanager
async def opened(folder: Path, clock: Clock) -> AsyncGenerator[Access]:
    database = Database(folder / "access.db", TABLES)
    values = SqliteValues(database, clock)
    await values.open()
    access = Access(values, clock=clock)
    try:
        yield access
    finally:
        await access.close()
        await database.close()


async def test_concurrent_logins_with_one_link_add_one_device(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        link = await access.make_link(["view"])
        found = await asyncio.gather(*(access.open_link(link, "a browser") for _ in range(10)))
        assert sum(one is not None for one in found) == 1
        assert len(access.devices()) == 1


async def test_link_expires(tmp_path: Path):
    clock = Clock()
    async with opened(tmp_path, clock) as access:
        link = await access.make_link()
        clock.now += LINK_SECONDS + 1
        assert await access.open_link(link, "a browser") is None


@pytest.mark.parametrize("link", ["", "x", "é", "x" * 10_000])
async def test_invalid_link_is_refused(tmp_path: Path, link: str):
    async with opened(tmp_path, Clock()) as access:
        assert await access.open_link(link, "a browser") is None


async def test_devices_survive_a_restart_unless_revoked(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        active, token = await access.add_device("kept\n\x1b[31m", "program", ["view", "admin"])
        revoked, other = await access.add_device("gone", "browser", ["view"])
        await access.rename(active.id, "renamed\u202e")
        notified: list[str] = []
        access.on_revoked.append(notified.append)
        await access.revoke(revoked.id)
        assert (notified, access.device(other)) == ([revoked.id], None)
        with pytest.raises(CommandRefused, match="device .* not found"):
            await access.revoke(revoked.id)
    async with opened(tmp_path, Clock()) as access:
        found = access.device(token)
        assert found is not None
        assert (found.id, found.name, found.scopes) == (active.id, "renamed", {"view", "admin"})
        assert access.device(other) is None


async def test_secrets_are_not_stored_in_plain_text(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        link = await access.make_link()
        _, token = await access.add_device("a program", "program", ["view"])
    written = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))  # noqa: ASYNC240
    assert link.encode() not in written
    assert token.partition(".")[2].encode() not in written


async def test_invalid_token_is_refused(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        device, token = await access.add_device("a program", "program", ["view"])
        for wrong in (
            "",
            ".",
            device.id,
            f"{device.id}.",
            token[:-1],
            token + "x",
            "é.é",
            "x" * 1_000_000,
            f".{token}",
        ):
            assert access.device(wrong) is None
        assert access.device(token) == device


async def test_unused_browser_expires_but_a_program_does_not(tmp_path: Path):
    clock = Clock()
    async with opened(tmp_path, clock) as access:
        browser, cookie = await access.add_device("a browser", "browser", ["view"])
        _, token = await access.add_device("a program", "program", ["view"])
        clock.now += UNUSED_SECONDS - 1
        assert access.device(cookie) == browser
        access.touch(browser)
        clock.now += 2
        assert access.device(cookie) is not None
    clock.now += 3
    async with opened(tmp_path, clock) as access:
        assert access.device(cookie) is not None
        clock.now += UNUSED_SECONDS + 1
        assert access.device(cookie) is None
        assert access.device(token) is not None


async def test_ticket_works_once_and_for_a_minute(tmp_path: Path):
    clock = Clock()
    async with opened(tmp_path, clock) as access:
        device, _ = await access.add_device("a browser", "browser", ["view"])
        ticket, late, of_revoked = (access.make_ticket(device) for _ in range(3))
        assert [access.use_ticket(ticket) for _ in range(2)] == [device, None]
        clock.now += TICKET_SECONDS + 1
        assert access.use_ticket(late) is None
        fresh = access.make_ticket(device)
        await access.revoke(device.id)
        assert [access.use_ticket(one) for one in (of_revoked, fresh)] == [None, None]


async def test_invalid_ticket_is_refused(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        device, _ = await access.add_device("a browser", "browser", ["view"])
        other, _ = await access.add_device("another", "browser", ["view"])
        ticket = access.make_ticket(device)
        id, ends, nonce, signature = ticket.split(".")
        for wrong in (
            "",
            ".",
            "...",
            "é" + ticket,
            ticket[:-1],
            ticket + "x" * 10_000,
            f"{other.id}.{ends}.{nonce}.{signature}",
            f"{id}.{int(ends) + 60}.{nonce}.{signature}",
            f"{id}.{ends}.{nonce}x.{signature}",
            f"{'0' * 16}.{ends}.{nonce}.{signature}",
        ):
            assert access.use_ticket(wrong) is None
        assert access.use_ticket(ticket) == device


async def test_link_of_a_revoked_device_is_refused(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        maker, _ = await access.add_device("an administrator", "browser", ["admin"])
        link, other = await access.make_link(maker=maker.id), await access.make_link()
        await access.revoke(maker.id)
        assert await access.open_link(link, "a browser") is None
        assert await access.open_link(other, "a browser") is not None


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b'{"name":"x"}', b"null"])
async def test_unreadable_value_opens_nothing(tmp_path: Path, value: bytes):
    """A later version, or anything else that may write to the bucket, may have stored it."""
    clock = Clock()
    async with opened(tmp_path, clock) as access:
        device, token = await access.add_device("a program", "program", ["view"])
        link, ticket = await access.make_link(), access.make_ticket(device)
        for key in access._values.below(""):
            await access._values.update(key, lambda _: value)
        assert (access.device(token), access.is_revoked(token), access.devices()) == (None, False, [])
        assert (access.use_ticket(ticket), await access.open_link(link, "a browser")) == (None, None)


async def test_unknown_scope_is_refused(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        with pytest.raises(CommandRefused, match="unknown scope 'root'"):
            await access.make_link(["root"])
