"""Links work once, devices until they are revoked, and tickets for a minute."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.store.database import Database
from handrail.bridge.web.devices import LINK_SECONDS, MOST_TICKETS, TABLES, TICKET_SECONDS, UNUSED_SECONDS, Access


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@contextlib.asynccontextmanager
async def opened(folder: Path, clock: Clock) -> AsyncGenerator[Access]:
    database = Database(folder / "access.db", TABLES)
    access = Access(database, clock=clock)
    await access.open()
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


async def test_unused_tickets_are_limited_per_device(tmp_path: Path):
    clock = Clock()
    async with opened(tmp_path, clock) as access:
        hoarder, _ = await access.add_device("a hoarder", "browser", ["view"])
        other, _ = await access.add_device("another", "browser", ["view"])
        for _ in range(MOST_TICKETS):
            access.make_ticket(hoarder)
        with pytest.raises(CommandRefused, match="too many unused tickets"):
            access.make_ticket(hoarder)
        assert access.use_ticket(access.make_ticket(other)) == other
        clock.now += TICKET_SECONDS + 1
        assert access.use_ticket(access.make_ticket(hoarder)) == hoarder


async def test_unknown_scope_is_refused(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        with pytest.raises(CommandRefused, match="unknown scope 'root'"):
            await access.make_link(["root"])
