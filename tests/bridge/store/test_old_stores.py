"""Stores of older versions: a server opens them, and keeps every event, session, device and search result."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pytest

from handrail.bridge.store.backup import write_backup
from handrail.bridge.store.integrity import check_store
from tests.bridge.serving import running

pytestmark = pytest.mark.one_server
STORES = Path(__file__).with_name("old_stores")
TOKENS = {"0.1": "3c562a9580f778fc.Nke_7Nn2RGK3wqA6_R9nIavIjqYb2rAzFNtU0fhhMs0"}
"""The token of the program in each store; `old_stores/make.py` prints it."""


def raw_events(store: Path) -> list[tuple[int, int, str, bytes]]:
    with sqlite3.connect(store) as db:
        return db.execute("SELECT place, time, kind, data FROM event ORDER BY place").fetchall()


@pytest.mark.parametrize("version", list(TOKENS))
async def test_a_server_upgrades_the_store_of_an_older_version(tmp_path: Path, version: str):
    (tmp_path / "data").mkdir()
    store = tmp_path / "data" / "handrail.db"
    store.write_bytes(gzip.decompress((STORES / f"store-{version}.db.gz").read_bytes()))
    before = raw_events(store)
    assert write_backup(tmp_path / "data", tmp_path / "backup.tar").events == len(before)
    for _ in range(2):  # the second start finds an upgraded store
        async with running(tmp_path) as server:
            async with server.client(TOKENS[version]) as client:
                [session] = (await client.get("/api/sessions")).json()["sessions"]
                path = f"/api/sessions/{session['id']}/events"
                events = (await client.get(path, params={"after": 0})).json()["events"]
                found = (await client.get("/api/search", params={"q": "hello"})).json()["hits"]
            assert [event["seq"] for event in events][: len(before)] == list(range(1, len(before) + 1))
            assert {hit["session"] for hit in found} == {session["id"]}
            assert sorted(device.kind for device in server.bridge.access.devices()) == ["browser", "program"]
        assert raw_events(store)[: len(before)] == before
    assert check_store(store)[0] == []
