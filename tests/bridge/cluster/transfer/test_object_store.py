"""The object store: last write wins, conflicting writes are detected, NATS errors are translated."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge.cluster.nats.names import TRANSCRIPTS
from handrail.bridge.cluster.transfer.object_store import Conflict, Entry, ObjectStore, is_name
from handrail.bridge.errors import ClusterAway
from tests.bridge.cluster.jetstream_server import jetstream_server


async def test_put_replaces_the_previous_entry(tmp_path: Path):
    async with jetstream_server(tmp_path) as store:
        objects = ObjectStore(store.js, TRANSCRIPTS)
        assert await objects.get("a") is None
        await objects.put("a", data=b"1")
        number = await objects.put("a", data=b"2")
        assert await objects.get("a") == Entry(number, b"2")
        assert await store.subjects(TRANSCRIPTS) == {"a": 1}
        await objects.put("a", data=b"")
        assert (await objects.get("a") or Entry(0, b"-")).data == b""


async def test_put_with_an_outdated_number_is_a_conflict_and_changes_nothing(tmp_path: Path):
    async with jetstream_server(tmp_path) as store:
        objects = ObjectStore(store.js, TRANSCRIPTS)
        first = await objects.put("a", data=b"1", after=0)
        await objects.put("b", data=b"another name does not matter")
        second = await objects.put("a", data=b"2", after=first)
        for old in (0, first):
            with pytest.raises(Conflict):
                await objects.put("a", data=b"3", after=old)
        assert await objects.get("a") == Entry(second, b"2")
        await objects.delete("a")
        await objects.put("a", data=b"again", after=0)


async def test_delete_before_a_number_keeps_newer_entries(tmp_path: Path):
    async with jetstream_server(tmp_path) as store:
        objects = ObjectStore(store.js, TRANSCRIPTS)
        await objects.put("s", "a", data=b"1")
        number = await objects.put("s", data=b"manifest")
        await objects.put("s", "b", data=b"2")
        assert sorted(await objects.names("s")) == ["a", "b"]
        for name in await objects.names("s"):
            await objects.delete("s", name, before=number)
        assert await objects.names("s") == ["b"]
        await objects.delete("s", "*")
        assert await store.subjects(TRANSCRIPTS) == {"s": 1}
        assert await objects.names("none") == []


async def test_missing_or_full_store_raises_cluster_away(tmp_path: Path):
    async with jetstream_server(tmp_path) as store:
        missing = ObjectStore(store.js, "missing")
        with pytest.raises(ClusterAway, match="missing"):
            await missing.put("a", data=b"1")
        for work in (missing.get("a"), missing.delete("a"), missing.names("a")):
            with pytest.raises(ClusterAway, match="refused an operation on missing: stream not found"):
                await work
        config = (await store.js.stream_info(f"OBJ_{TRANSCRIPTS}")).config
        config.max_bytes = 100
        await store.js.update_stream(config)
        with pytest.raises(ClusterAway, match="refused an operation on handrail-transcripts: maximum bytes exceeded"):
            await ObjectStore(store.js, TRANSCRIPTS).put("a", data=b"1" * 1000)


@pytest.mark.parametrize("text", ["", ".", "*", ">", "a.b", "a b", "a\r\n", "é", "x" * 129, "a/b"])
def test_special_characters_are_invalid_in_names(text: str):
    assert not is_name(text)
