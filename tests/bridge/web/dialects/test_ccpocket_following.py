"""A client's position in a session: no event is lost or duplicated, at any reading speed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from handrail.bridge.session.events import live_item
from handrail.bridge.store.base import NewEvent
from handrail.bridge.web.dialects.ccpocket.following import Following
from tests.bridge.web.dialects.ccpocket_server import serving


def said(text: str) -> NewEvent:
    return NewEvent("said", json.dumps({"uuid": "u", "content": text, "by": "desk"}).encode())


async def texts(following: Following) -> list[str]:
    """The texts of all pending messages."""
    found: list[str] = []
    while following.pending:
        found += [line["text"] for line in await following.next()]
    return found


async def test_slow_reader_continues_from_the_log(tmp_path: Path):
    async with serving(tmp_path) as server:
        host = await server.quiet_session()
        following, _ = await Following.begin(host, asyncio.Event())
        words = [f"{number} {'x' * 200_000}" for number in range(30)]
        await host.record_events([said("first")])
        assert await texts(following) == ["first"]
        for start in range(0, 30, 10):  # more than the feed buffers
            await host.record_events([said(word) for word in words[start : start + 10]])
        assert await texts(following) == words
        await host.record_events([said("last")])
        assert await texts(following) == ["last"]
        following.close()
        assert not host.feed.followers


async def test_event_too_large_for_the_feed_is_read_from_the_log(tmp_path: Path):
    async with serving(tmp_path) as server:
        host = await server.quiet_session()
        following, past = await Following.begin(host, asyncio.Event())
        assert past == []
        large = "x" * 600_000
        await host.record_events([said("before"), said(large), said("after")])
        assert await texts(following) == ["before", large, "after"]


async def test_line_that_is_not_an_object_is_skipped(tmp_path: Path):
    async with serving(tmp_path) as server:
        host = await server.quiet_session()
        following, _ = await Following.begin(host, asyncio.Event())
        host.feed.publish([live_item(b"[1]")])
        await host.record_events([NewEvent("frame", b"null"), said("after")])
        assert await texts(following) == ["after"]


async def test_logged_events_are_returned_once(tmp_path: Path):
    async with serving(tmp_path) as server:
        host = await server.quiet_session()
        await host.record_events([said("one"), said("two")])
        following, past = await Following.begin(host, asyncio.Event(), after=1)
        assert [json.loads(line)["text"] for line in past] == ["two"]
        assert not following.pending
        await host.record_events([said("three")])
        assert await texts(following) == ["three"]
