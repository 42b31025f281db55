"""Uploads accept images only."""

from __future__ import annotations

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n...",
    "image/jpeg": b"\xff\xd8\xff...",
    "image/gif": b"GIF89a...",
    "image/webp": b"RIFF\0\0\0\0WEBP...",
}
BYTES = {"content-type": "application/octet-stream"}


@pytest.mark.parametrize("kind", IMAGES)
async def test_image_is_returned_with_its_media_type(world: World, kind: str):
    async with world.client(await world.same_token()) as client:
        made = await client.post("/api/uploads", content=IMAGES[kind], headers=BYTES)
        answer = await client.get(f"/api/uploads/{made.json()['id']}")
    assert (made.status_code, answer.content, answer.headers["content-type"]) == (201, IMAGES[kind], kind)


async def test_other_data_is_refused_despite_an_image_content_type(world: World):
    async with world.client(await world.same_token()) as client:
        for data in (b"<svg/>", b"%PDF-", b"", b"\x89PN"):
            answer = await client.post("/api/uploads", content=data, headers={"content-type": "image/png"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (415, "no_picture")


async def test_image_size_is_limited(world: World):
    most = IMAGES["image/png"].ljust(5 * 1024 * 1024, b"\0")
    async with world.client(await world.same_token()) as client:
        assert (await client.post("/api/uploads", content=most, headers=BYTES)).status_code == 201
        assert (await client.post("/api/uploads", content=most + b"\0", headers=BYTES)).status_code == 413
