"""Uploaded images: limits, expiry and content blocks."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.store import uploads
from handrail.bridge.store.database import Database
from handrail.bridge.store.uploads import TABLES, Uploads

PNG, GIF = b"\x89PNG\r\n\x1a\n", b"GIF89a"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "uploads.db", TABLES)
    yield database
    await database.close()


async def test_oldest_images_are_deleted_beyond_the_disk_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "MOST_STORED", 3000)
    database = Database(tmp_path / "uploads.db", TABLES)
    ids = [await Uploads(database).add(PNG.ljust(1000, b"x")) for _ in range(5)]
    for id in ids[:2]:
        with pytest.raises(CommandRefused, match="not found"):
            await Uploads(database).get(id)
    assert [len((await Uploads(database).get(id))[1]) for id in ids[2:]] == [1000] * 3
    await database.close()


async def test_images_become_blocks_in_the_given_order(database: Database):
    ids = [await Uploads(database).add(data) for data in (PNG, GIF)]
    blocks = await Uploads(database).blocks([ids[1], ids[0], ids[1]])
    assert [block["source"]["media_type"] for block in blocks] == ["image/gif", "image/png", "image/gif"]
    assert base64.b64decode(blocks[0]["source"]["data"]) == GIF
    assert await Uploads(database).get(ids[0]) == ("image/png", PNG)


async def test_missing_image_is_refused(database: Database):
    with pytest.raises(CommandRefused, match="deleted after a day") as refused:
        await Uploads(database).blocks(["none"])
    assert refused.value.code == "not_found"


async def test_images_of_one_message_are_limited(database: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "MOST_PER_MESSAGE", 2 * 1000)
    uploaded = Uploads(database)
    ids = [await uploaded.add(PNG.ljust(1000, b"x")) for _ in range(3)]
    assert len(await uploaded.blocks(ids[:2])) == 2
    with pytest.raises(CommandRefused) as refused:
        await uploaded.blocks(ids)
    assert refused.value.code == "too_large"


async def test_image_is_deleted_after_a_day(database: Database):
    uploaded = Uploads(database)
    old = await uploaded.add(PNG)
    await database.execute("UPDATE upload SET time = time - ?", (uploads.DAY + 1000,))
    await uploaded.add(GIF)
    with pytest.raises(CommandRefused):
        await uploaded.get(old)
