"""The page: its own files, by their exact names."""

from __future__ import annotations

import pytest

from tests.bridge.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_page_is_there_for_everybody_and_is_not_sent_twice(world: World):
    async with world.client() as client:
        first = await client.get("/")
        again = await client.get("/", headers={"if-none-match": first.headers["etag"]})
        head = await client.head("/")
    assert (first.status_code, first.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<script>" not in first.text
    assert (again.status_code, again.content) == (304, b"")
    assert (head.status_code, head.content) == (200, b"")


@pytest.mark.parametrize("path", ["/index.html/", "/app.py", "/static.py", "/page/", "/%2e%2e/app.py", "/favicon.php"])
async def test_nothing_else_is(world: World, path: str):
    async with world.client() as client:
        assert (await client.get(path)).status_code == 404
