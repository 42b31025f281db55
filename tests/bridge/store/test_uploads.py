"""Pictures that are kept for a day."""

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


async def test_only_so_much_is_kept_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "MOST_KEPT", 3000)
    database = Database(tmp_path / "uploads.db", TABLES)
    ids = [await Uploads(database).add(PNG.ljust(1000, b"x")) for _ in range(5)]
    for id in ids[:2]:
        with pytest.raises(CommandRefused, match="no upload"):
            await Uploads(database).get(id)
    assert [len((await Uploads(database).get(id))[1]) for id in ids[2:]] == [1000] * 3
    await database.close()


async def test_pictures_become_blocks_in_the_order_in_which_they_are_named(database: Database):
    ids = [await Uploads(database).add(data) for data in (PNG, GIF)]
    blocks = await Uploads(database).blocks([ids[1], ids[0], ids[1]])
    assert [block["source"]["media_type"] for block in blocks] == ["image/gif", "image/png", "image/gif"]
    assert base64.b64decode(blocks[0]["source"]["data"]) == GIF
    assert await Uploads(database).get(ids[0]) == ("image/png", PNG)


async def test_a_picture_that_is_not_there_is_refused(database: Database):
    with pytest.raises(CommandRefused, match="kept for a day") as refused:
        await Uploads(database).blocks(["none"])
    assert refused.value.code == "not_found"


async def test_no_more_go_with_one_message_than_a_model_takes(database: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "MOST_AT_ONCE", 2 * 1000)
    kept = Uploads(database)
    ids = [await kept.add(PNG.ljust(1000, b"x")) for _ in range(3)]
    assert len(await kept.blocks(ids[:2])) == 2
    with pytest.raises(CommandRefused) as refused:
        await kept.blocks(ids)
    assert refused.value.code == "too_large"


async def test_a_picture_of_yesterday_goes_when_another_comes(database: Database):
    kept = Uploads(database)
    old = await kept.add(PNG)
    await database.execute("UPDATE upload SET time = time - ?", (uploads.DAY + 1000,))
    await kept.add(GIF)
    with pytest.raises(CommandRefused):
        await kept.get(old)
