"""Full-text search over all sessions."""

from __future__ import annotations

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_search_finds_words_by_session_and_seq(world: World):
    async with world.client(await world.same_token(["view"])) as client:
        one = (await client.get("/api/search", params={"q": "word3"})).json()["hits"]
        all_of_them = (await client.get("/api/search", params={"q": "every", "session": world.session})).json()["hits"]
        assert [(hit["session"], hit["seq"]) for hit in one] == [(world.session, 4)]
        assert len(all_of_them) == world.events
        assert (await client.get("/api/search", params={"q": "nowhere"})).json() == {"hits": []}
        for strange in ('"', "NEAR(", "*", "a OR", "(((", "\x00"):
            assert (await client.get("/api/search", params={"q": strange})).status_code == 200
        assert (await client.get("/api/search")).status_code == 400
