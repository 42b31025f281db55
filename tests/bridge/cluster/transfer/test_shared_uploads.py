"""Images that are uploaded to one machine and used on another."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.cluster.nats.names import UPLOADS
from handrail.bridge.cluster.transfer.object_store import CHUNK_SIZE
from handrail.bridge.cluster.transfer.shared_uploads import SharedUploads
from handrail.bridge.errors import ClusterAway, CommandRefused
from handrail.bridge.store.database import Database
from handrail.bridge.store.uploads import TABLES, Uploads
from tests.bridge.cluster.jetstream_server import JetStreamServer, jetstream_server

PNG = b"\x89PNG\r\n\x1a\n"
LARGE = PNG + bytes(range(256)) * (CHUNK_SIZE // 100)


@asynccontextmanager
async def machine(folder: Path, name: str, store: JetStreamServer) -> AsyncGenerator[Uploads]:
    database = Database(folder / f"{name}.db", TABLES)
    yield Uploads(database, SharedUploads(store.js))
    await database.close()


async def test_image_uploaded_to_one_machine_is_found_on_another(tmp_path: Path):
    async with (
        jetstream_server(tmp_path) as store,
        machine(tmp_path, "gateway", store) as gateway,
        machine(tmp_path, "runner", store) as runner,
    ):
        for data in (PNG, LARGE):
            id = await gateway.add(data)
            assert await runner.get(id) == ("image/png", data)
        assert len(await runner.blocks([id])) == 1


async def test_unknown_or_invalid_id_is_not_found(tmp_path: Path):
    async with jetstream_server(tmp_path) as store, machine(tmp_path, "gateway", store) as gateway:
        await gateway.add(PNG)
        for id in ("none", "*", ">", "a.b", "a b", "", "\r\n", "x" * 5000):
            with pytest.raises(CommandRefused) as refused:
                await gateway.get(id)
            assert refused.value.code == "not_found"


async def test_incomplete_or_invalid_upload_is_not_found(tmp_path: Path):
    async with jetstream_server(tmp_path) as store, machine(tmp_path, "runner", store) as runner:
        shared = SharedUploads(store.js)
        await shared.put("half", LARGE)
        await store.js.purge_stream(f"OBJ_{UPLOADS}", subject=f"$O.{UPLOADS}.C.half.1")
        await shared.put("other", LARGE)
        await store.js.publish(f"$O.{UPLOADS}.C.other.1", b"something else")
        await shared.put("script", b"<script>")
        await shared.put("odd", PNG)
        await store.js.publish(f"$O.{UPLOADS}.C.odd", b'{"size": -1}')
        await store.js.publish(f"$O.{UPLOADS}.C.odder", b'{"size": 1, "digest": "", "pieces": 1000000000}')
        for id in ("half", "other", "script", "odd", "odder"):
            with pytest.raises(CommandRefused):
                await runner.get(id)


async def test_uploads_work_locally_without_nats(tmp_path: Path):
    async with jetstream_server(tmp_path) as store, machine(tmp_path, "gateway", store) as gateway:
        await store.kill()
        id = await gateway.add(PNG)
        assert await gateway.get(id) == ("image/png", PNG)
        with pytest.raises(ClusterAway, match="does not answer"):
            await gateway.get("another")


async def test_invalid_id_is_rejected(tmp_path: Path):
    async with jetstream_server(tmp_path) as store:
        with pytest.raises(ValueError, match="invalid upload id"):
            await SharedUploads(store.js).put("a.>", PNG)
