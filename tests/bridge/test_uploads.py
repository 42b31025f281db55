"""Pictures that are kept for a day."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge import uploads
from handrail.bridge.database import Database
from handrail.bridge.errors import CommandRefused
from handrail.bridge.uploads import TABLES, Uploads

PNG = b"\x89PNG\r\n\x1a\n"


async def test_a_picture_is_there_after_a_restart(tmp_path: Path):
    database = Database(tmp_path / "uploads.db", TABLES)
    id = await Uploads(database).add(PNG + b"1")
    later = Uploads(database)
    with pytest.raises(CommandRefused, match="no upload"):
        later.block(id)
    await later.load([id])
    assert later.block(id)["source"]["media_type"] == "image/png"
    assert await later.get(id) == ("image/png", PNG + b"1")
    await database.close()


async def test_only_so_much_is_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "MOST_HELD", 3000)
    database = Database(tmp_path / "uploads.db", TABLES)
    held = Uploads(database)
    ids = [await held.add(PNG.ljust(1000, b"x")) for _ in range(5)]
    assert [(await held.get(id))[1] for id in ids] == [PNG.ljust(1000, b"x")] * 5
    assert sum(len(data) for _, data in held._held.values()) <= 3000
    await database.close()
