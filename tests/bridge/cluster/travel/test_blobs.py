"""Pictures that were sent to one machine and are shown to a model by another."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.cluster.link.names import UPLOADS
from handrail.bridge.cluster.travel.blobs import Blobs
from handrail.bridge.cluster.travel.pieces import PIECE
from handrail.bridge.errors import ClusterAway, CommandRefused
from handrail.bridge.store.database import Database
from handrail.bridge.store.uploads import TABLES, Uploads
from tests.bridge.cluster.real_store import Store, real_store

PNG = b"\x89PNG\r\n\x1a\n"
LARGE = PNG + bytes(range(256)) * (PIECE // 100)


@asynccontextmanager
async def machine(folder: Path, name: str, store: Store) -> AsyncGenerator[Uploads]:
    database = Database(folder / f"{name}.db", TABLES)
    yield Uploads(database, Blobs(store.js))
    await database.close()


async def test_a_picture_sent_to_one_machine_is_found_on_another(tmp_path: Path):
    async with (
        real_store(tmp_path) as store,
        machine(tmp_path, "gateway", store) as gateway,
        machine(tmp_path, "runner", store) as runner,
    ):
        for data in (PNG, LARGE):
            id = await gateway.add(data)
            assert await runner.get(id) == ("image/png", data)
        assert len(await runner.blocks([id])) == 1


async def test_what_is_nowhere_is_refused_as_on_one_machine_and_no_id_means_something_to_nats(tmp_path: Path):
    async with real_store(tmp_path) as store, machine(tmp_path, "gateway", store) as gateway:
        await gateway.add(PNG)
        for id in ("none", "*", ">", "a.b", "a b", "", "\r\n", "x" * 5000):
            with pytest.raises(CommandRefused) as refused:
                await gateway.get(id)
            assert refused.value.code == "not_found"


async def test_what_is_not_whole_or_no_picture_is_not_there(tmp_path: Path):
    async with real_store(tmp_path) as store, machine(tmp_path, "runner", store) as runner:
        blobs = Blobs(store.js)
        await blobs.put("half", LARGE)
        await store.js.purge_stream(f"OBJ_{UPLOADS}", subject=f"$O.{UPLOADS}.C.half.1")
        await blobs.put("other", LARGE)
        await store.js.publish(f"$O.{UPLOADS}.C.other.1", b"something else")
        await blobs.put("script", b"<script>")
        await blobs.put("odd", PNG)
        await store.js.publish(f"$O.{UPLOADS}.C.odd", b'{"size": -1}')
        await store.js.publish(f"$O.{UPLOADS}.C.odder", b'{"size": 1, "digest": "", "pieces": 1000000000}')
        for id in ("half", "other", "script", "odd", "odder"):
            with pytest.raises(CommandRefused):
                await runner.get(id)


async def test_without_nats_pictures_are_taken_for_the_sessions_of_this_machine(tmp_path: Path):
    async with real_store(tmp_path) as store, machine(tmp_path, "gateway", store) as gateway:
        await store.kill()
        id = await gateway.add(PNG)
        assert await gateway.get(id) == ("image/png", PNG)
        with pytest.raises(ClusterAway, match="does not answer"):
            await gateway.get("another")


async def test_an_id_that_cannot_be_one_is_not_put(tmp_path: Path):
    async with real_store(tmp_path) as store:
        with pytest.raises(ValueError, match="no id"):
            await Blobs(store.js).put("a.>", PNG)
