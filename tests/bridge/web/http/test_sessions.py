"""Session lists and single sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.bridge.store.base import SessionRecord
from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_sessions_are_filtered_and_paged(world: World):
    for number in range(3):
        id = f"aaaaaaaa-0000-0000-0000-00000000000{number}"
        record = SessionRecord(id=id, cwd="/w", created=1, changed=10 + number, title=f"note {number}", archived=True)
        await world.bridge.sessions.index.put(record)
    async with world.client(await world.same_token()) as client:

        async def titles(**query: object) -> list[str]:
            answer = await client.get("/api/sessions", params=query)
            return [one["title"] for one in answer.json()["sessions"]]

        assert await titles() == ["A bridge"]
        assert await titles(archived="true") == ["note 2", "note 1", "note 0"]
        assert await titles(archived="true", limit=1, offset=1) == ["note 1"]
        assert await titles(words="BRIDGE") == ["A bridge"]
        assert await titles(words="no such") == []


async def test_terminal_sessions_are_listed_on_request(world: World, own_home: Path):
    folder = own_home / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    line = {"type": "user", "cwd": "/w", "sessionId": "x", "uuid": "u", "timestamp": "2026-01-01T00:00:00Z"}
    line["message"] = {"role": "user", "content": "hello from a terminal"}
    (folder / "99999999-0000-0000-0000-000000000000.jsonl").write_text(json.dumps(line) + "\n")
    async with world.client(await world.same_token()) as client:
        assert "terminal" not in (await client.get("/api/sessions")).json()
        found = (await client.get("/api/sessions", params={"terminal": "1"})).json()["terminal"]
        assert [(one["id"], one["cwd"]) for one in found] == [("99999999-0000-0000-0000-000000000000", "/w")]
        for words, many in (("TERMINAL", 1), ("elsewhere", 0)):
            found = (await client.get("/api/sessions", params={"terminal": "1", "words": words, "limit": 1})).json()
            assert len(found["terminal"]) == many
        id = "99999999-0000-0000-0000-000000000000"
        await world.bridge.sessions.index.put(SessionRecord(id=id, cwd="/w", created=1, changed=1, archived=True))
        assert (await client.get("/api/sessions", params={"terminal": "1"})).json()["terminal"] == [], (
            "imported sessions are not listed as terminal sessions"
        )
        await world.bridge.sessions.index.delete(id)


async def test_viewers_see_only_the_name_of_the_folder(world: World):
    async with world.client(await world.same_token(["view"])) as client:
        one = (await client.get(f"/api/sessions/{world.session}")).json()["session"]
        listed = (await client.get("/api/sessions", params={"terminal": "1"})).json()
    assert one["cwd"] == "work"
    assert [record["cwd"] for record in listed["sessions"]] == ["work"]
    assert "terminal" not in listed


async def test_viewers_see_only_the_name_of_the_folder_over_a_socket(world: World):
    async with world.socket(await world.same_token(["view"])) as socket:
        for said in (
            {"type": "hello", "protocol": 1},
            {"type": "watch"},
            {"type": "subscribe", "session": world.session},
        ):
            await socket.send(json.dumps(said))
        received = {}
        while "subscribed" not in received:
            line = json.loads(await socket.recv())
            received[line["type"]] = line
        (await world.bridge.sessions.get(world.session)).change(title="Another title")
        while "sessions" not in received:
            line = json.loads(await socket.recv())
            received[line["type"]] = line
    assert received["subscribed"]["record"]["cwd"] == "work"
    assert [item["session"]["cwd"] for item in received["sessions"]["items"]] == ["work"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "limit=10001", "offset=-1", "archived=perhaps", "unknown=1", "limit=1&limit=2"]
)
async def test_invalid_query_is_refused(world: World, query: str):
    async with world.client(await world.same_token()) as client:
        answer = await client.get(f"/api/sessions?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_query")


async def test_missing_session_is_not_found(world: World):
    async with world.client(await world.same_token()) as client:
        answer = await client.get("/api/sessions/00000000-0000-0000-0000-000000000000")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
