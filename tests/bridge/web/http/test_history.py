"""Paging through the events of a session."""

from __future__ import annotations

import pytest

from handrail.bridge.store.base import NewEvent
from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_forward_pages_cover_all_events(world: World):
    seen: list[int] = []
    async with world.client(await world.same_token()) as client:
        while True:
            query = {"after": seen[-1] if seen else 0, "limit": 2}
            page = (await client.get(f"/api/sessions/{world.session}/events", params=query)).json()
            if not page["events"]:
                break
            assert len(page["events"]) <= 2
            seen += [event["seq"] for event in page["events"]]
    assert (seen, page["first"], page["last"]) == (list(range(1, world.events + 1)), 1, world.events)


async def test_large_event_is_read_separately(world: World):
    large = b'{"text":"%s"}' % (b"x" * 600_000)
    id = "aaaaaaaa-bbbb-cccc-dddd-000000000001"
    record = await world.bridge.sessions.index.get(world.session)
    assert record is not None
    await world.bridge.sessions.index.put(type(record)(id=id, cwd="/w", created=1, changed=1, state="hibernated"))
    await world.bridge.sessions.events.append(id, [NewEvent("frame", large)])
    async with world.client(await world.same_token()) as client:
        page = (await client.get(f"/api/sessions/{id}/events")).json()
        one = (await client.get(f"/api/sessions/{id}/events/1")).json()
        none = await client.get(f"/api/sessions/{id}/events/2")
    assert page["events"][0]["bytes"] == len(large)
    assert len(one["data"]["text"]) == 600_000
    assert none.status_code == 404


async def test_invalid_positions_are_refused(world: World):
    async with world.client(await world.same_token()) as client:
        for path in (
            "events/0",
            "events/-1",
            "events/x",
            "events?after=-1",
            "events?after=x",
            "events?limit=0",
            "events?before=0",
            "events?before=x",
            "events?after=1&before=3",
        ):
            assert (await client.get(f"/api/sessions/{world.session}/{path}")).status_code == 400


async def test_backward_pages_cover_all_events(world: World):
    seen: list[int] = []
    async with world.client(await world.same_token()) as client:
        while not seen or seen[0] > 1:
            query = {"before": seen[0] if seen else 10**9, "limit": 2}
            page = (await client.get(f"/api/sessions/{world.session}/events", params=query)).json()
            seen = [event["seq"] for event in page["events"]] + seen
    assert (seen, page["first"], page["last"]) == (list(range(1, world.events + 1)), 1, world.events)
