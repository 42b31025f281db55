"""Pictures in, pictures out, nothing else."""

from __future__ import annotations

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n...",
    "image/jpeg": b"\xff\xd8\xff...",
    "image/gif": b"GIF89a...",
    "image/webp": b"RIFF\0\0\0\0WEBP...",
}
BYTES = {"content-type": "application/octet-stream"}


@pytest.mark.parametrize("kind", PICTURES)
async def test_a_picture_comes_back_as_what_it_is(world: World, kind: str):
    async with world.client(await world.same_token()) as client:
        made = await client.post("/api/uploads", content=PICTURES[kind], headers=BYTES)
        answer = await client.get(f"/api/uploads/{made.json()['id']}")
    assert (made.status_code, answer.content, answer.headers["content-type"]) == (201, PICTURES[kind], kind)


async def test_what_is_no_picture_is_refused_whatever_it_says_of_itself(world: World):
    async with world.client(await world.same_token()) as client:
        for data in (b"<svg/>", b"%PDF-", b"", b"\x89PN"):
            answer = await client.post("/api/uploads", content=data, headers={"content-type": "image/png"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (415, "no_picture")


async def test_a_picture_is_not_larger_than_it_may_be(world: World):
    most = PICTURES["image/png"].ljust(5 * 1024 * 1024, b"\0")
    async with world.client(await world.same_token()) as client:
        assert (await client.post("/api/uploads", content=most, headers=BYTES)).status_code == 201
        assert (await client.post("/api/uploads", content=most + b"\0", headers=BYTES)).status_code == 413
