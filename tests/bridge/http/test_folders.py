"""Where sessions may work."""

from __future__ import annotations

import pytest

from tests.bridge.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_who_may_start_sessions_is_told_where(world: World):
    async with world.client(await world.same_token(("prompt",))) as client:
        told = (await client.get("/api/folders")).json()["folders"]
    assert told == [str(root) for root in world.bridge.configuration.roots]
