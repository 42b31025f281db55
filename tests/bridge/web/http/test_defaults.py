"""Defaults of new sessions."""

from __future__ import annotations

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOTHING = {"model": None, "mode": None, "effort": None, "thinking_tokens": None, "output_style": None}


async def test_defaults_are_replaced_and_persisted(world: World):
    chosen = {**NOTHING, "model": "opus", "mode": "acceptEdits", "effort": "high", "output_style": "Concise"}
    async with world.client(await world.same_token()) as client:
        assert (await client.get("/api/defaults")).json() == NOTHING
        assert (await client.put("/api/defaults", json=chosen)).json() == chosen
        assert (await client.get("/api/defaults")).json() == chosen
        assert (await client.put("/api/defaults", json={})).json() == NOTHING


@pytest.mark.parametrize(
    ("scopes", "body", "status"),
    [
        (["view"], {}, 403),
        (["prompt"], {"mode": "plan"}, 200),
        (["prompt"], {"mode": "acceptEdits"}, 403),
        (["prompt", "approve"], {"mode": "acceptEdits"}, 200),
        (["prompt", "approve", "admin"], {"mode": "bypassPermissions"}, 403),
        (["prompt"], {"mode": "made up"}, 400),
        (["prompt"], {"made": "up"}, 400),
        (["prompt"], {"model": "-x"}, 400),
        (["prompt"], {"output_style": "a\nb"}, 400),
        (["prompt"], {"thinking_tokens": -1}, 400),
    ],
)
async def test_defaults_need_the_scope_of_their_mode(
    world: World, scopes: list[str], body: dict[str, object], status: int
):
    async with world.client(await world.same_token()) as owner:
        await owner.put("/api/defaults", json={})
    async with world.client(await world.same_token(scopes)) as client:
        assert (await client.put("/api/defaults", json=body)).status_code == status


async def test_unchanged_mode_needs_no_scope(world: World):
    async with world.client(await world.same_token()) as owner, world.client(await world.same_token(["prompt"])) as one:
        await owner.put("/api/defaults", json={"mode": "acceptEdits"})
        changed = await one.put("/api/defaults", json={"mode": "acceptEdits", "effort": "low"})
        assert (changed.status_code, changed.json()["effort"]) == (200, "low")
        await owner.put("/api/defaults", json={})
