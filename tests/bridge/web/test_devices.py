"""Who may come in: links once, devices until they are revoked, tickets for a minute."""

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


async def test_of_many_who_have_the_same_link_one_comes_in(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        link = await access.make_link(["view"])
        found = await asyncio.gather(*(access.open_link(link, "a browser") for _ in range(10)))
        assert sum(one is not None for one in found) == 1
        assert len(access.devices()) == 1


async def test_a_link_is_not_good_for_long(tmp_path: Path):
    clock = Clock()
    async with opened(tmp_path, clock) as access:
        link = await access.make_link()
        clock.now += LINK_SECONDS + 1
        assert await access.open_link(link, "a browser") is None


@pytest.mark.parametrize("link", ["", "x", "é", "x" * 10_000])
async def test_what_is_no_link_lets_nobody_in(tmp_path: Path, link: str):
    async with opened(tmp_path, Clock()) as access:
        assert await access.open_link(link, "a browser") is None


async def test_devices_are_known_again_and_revoked_ones_are_not(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        kept, token = await access.add_device("kept\n\x1b[31m", "program", ["view", "admin"])
        gone, other = await access.add_device("gone", "browser", ["view"])
        await access.rename(kept.id, "renamed\u202e")
        told: list[str] = []
        access.on_revoked.append(told.append)
        await access.revoke(gone.id)
        assert (told, access.device(other)) == ([gone.id], None)
        with pytest.raises(CommandRefused, match="device .* not found"):
            await access.revoke(gone.id)
    async with opened(tmp_path, Clock()) as access:
        found = access.device(token)
        assert found is not None
        assert (found.id, found.name, found.scopes) == (kept.id, "renamed", {"view", "admin"})
        assert access.device(other) is None


async def test_no_secret_is_kept_as_it_is(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        link = await access.make_link()
        _, token = await access.add_device("a program", "program", ["view"])
    written = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))  # noqa: ASYNC240
    assert link.encode() not in written
    assert token.partition(".")[2].encode() not in written


async def test_what_is_no_token_is_nobodys(tmp_path: Path):
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


async def test_a_browser_that_stays_away_is_out_and_a_program_is_not(tmp_path: Path):
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


async def test_a_ticket_is_good_once_and_for_a_minute(tmp_path: Path):
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


async def test_a_device_that_hoards_tickets_holds_up_nobody_else_and_itself_for_a_minute(tmp_path: Path):
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


async def test_a_scope_that_is_none_is_refused(tmp_path: Path):
    async with opened(tmp_path, Clock()) as access:
        with pytest.raises(CommandRefused, match="unknown scope 'root'"):
            await access.make_link(["root"])
