"""Usage and metrics."""

from __future__ import annotations

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_usage_sums_the_cost_of_sessions(world: World):
    record = await world.bridge.sessions.index.get(world.session)
    assert record is not None
    for number, model in enumerate(["one", "one", "two"]):
        id = f"bbbbbbbb-0000-0000-0000-00000000000{number}"
        made = type(record)(id=id, cwd="/w", created=1, changed=1, model=model, cost=0.5, state="hibernated")
        await world.bridge.sessions.index.put(made)
    async with world.client(await world.same_token(["view"])) as client:
        body = (await client.get("/api/usage")).json()
    assert (body["cost_usd"], body["sessions"], body["states"]) == (1.5, 4, {"hibernated": 4})
    assert body["models"][:2] == [{"model": "one", "cost_usd": 1.0}, {"model": "two", "cost_usd": 0.5}]


async def test_metrics_are_labeled_by_route_not_by_path(world: World):
    async with world.client(await world.same_token()) as client, world.socket(await world.same_token()):
        await client.get(f"/api/sessions/{world.session}")
        await client.get("/no/such/address")
        text = (await client.get("/metrics")).text
    assert 'handrail_requests_total{method="GET",route="/api/sessions/{id}",status="200"} 1.0' in text
    assert 'route="?",status="404"' in text
    assert "handrail_sockets 1.0" in text
    assert "no/such" not in text
    assert world.session not in text


async def test_daily_usage_hides_paths_from_viewers(world: World):
    used = b'{"type":"result","modelUsage":{"opus":{"costUSD":0.5,"inputTokens":7}}}'
    await world.bridge.usage.note("s", "/secret/place", used, fresh=True)
    for scopes, project in ((["view", "prompt"], "/secret/place"), (["view"], "place")):
        async with world.client(await world.same_token(scopes)) as client:
            [row] = (await client.get("/api/usage", params={"days": 7})).json()["rows"]
            assert (row["model"], row["project"], row["cost_usd"], row["input_tokens"]) == ("opus", project, 0.5, 7)
            for days in ("0", "x", "99999"):
                assert (await client.get("/api/usage", params={"days": days})).status_code == 400
