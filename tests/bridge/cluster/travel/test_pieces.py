"""Bytes by name on NATS: the newest counts, whoever was overtaken is told, and what NATS says is said in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge.cluster.link.names import TRANSCRIPTS
from handrail.bridge.cluster.travel.pieces import Overtaken, Pieces, Put, is_name
from handrail.bridge.errors import ClusterAway
from tests.bridge.cluster.real_store import real_store


async def test_what_was_put_last_is_there_alone(tmp_path: Path):
    async with real_store(tmp_path) as store:
        pieces = Pieces(store.js, TRANSCRIPTS)
        assert await pieces.get("a") is None
        await pieces.put("a", data=b"1")
        number = await pieces.put("a", data=b"2")
        assert await pieces.get("a") == Put(number, b"2")
        assert await store.subjects(TRANSCRIPTS) == {"a": 1}
        await pieces.put("a", data=b"")
        assert (await pieces.get("a") or Put(0, b"-")).data == b""


async def test_whoever_does_not_know_the_newest_is_overtaken_and_changes_nothing(tmp_path: Path):
    async with real_store(tmp_path) as store:
        pieces = Pieces(store.js, TRANSCRIPTS)
        first = await pieces.put("a", data=b"1", after=0)
        await pieces.put("b", data=b"another name does not matter")
        second = await pieces.put("a", data=b"2", after=first)
        for old in (0, first):
            with pytest.raises(Overtaken):
                await pieces.put("a", data=b"3", after=old)
        assert await pieces.get("a") == Put(second, b"2")
        await pieces.drop("a")
        await pieces.put("a", data=b"anew", after=0)


async def test_what_came_after_a_number_is_not_dropped(tmp_path: Path):
    async with real_store(tmp_path) as store:
        pieces = Pieces(store.js, TRANSCRIPTS)
        await pieces.put("s", "a", data=b"1")
        number = await pieces.put("s", data=b"manifest")
        await pieces.put("s", "b", data=b"2")
        assert sorted(await pieces.names("s")) == ["a", "b"]
        for name in await pieces.names("s"):
            await pieces.drop("s", name, before=number)
        assert await pieces.names("s") == ["b"]
        await pieces.drop("s", "*")
        assert await store.subjects(TRANSCRIPTS) == {"s": 1}
        assert await pieces.names("none") == []


async def test_a_store_that_is_not_there_or_refuses_is_said_in_words(tmp_path: Path):
    async with real_store(tmp_path) as store:
        missing = Pieces(store.js, "missing")
        with pytest.raises(ClusterAway, match="missing"):
            await missing.put("a", data=b"1")
        for work in (missing.get("a"), missing.drop("a"), missing.names("a")):
            with pytest.raises(ClusterAway, match="refuses in missing: stream not found"):
                await work
        config = (await store.js.stream_info(f"OBJ_{TRANSCRIPTS}")).config
        config.max_bytes = 100
        await store.js.update_stream(config)
        with pytest.raises(ClusterAway, match="refuses in handrail-transcripts: maximum bytes exceeded"):
            await Pieces(store.js, TRANSCRIPTS).put("a", data=b"1" * 1000)


@pytest.mark.parametrize("text", ["", ".", "*", ">", "a.b", "a b", "a\r\n", "é", "x" * 129, "a/b"])
def test_what_means_something_to_nats_is_no_name(text: str):
    assert not is_name(text)
