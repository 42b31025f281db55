"""Session lists, search, single sessions, pages of their events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.bridge.store.base import NewEvent, SessionRecord
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


async def test_search_finds_words_by_session_and_seq(world: World):
    async with world.client(await world.same_token(["view"])) as client:
        one = (await client.get("/api/search", params={"q": "word3"})).json()["hits"]
        all_of_them = (await client.get("/api/search", params={"q": "every", "session": world.session})).json()["hits"]
        assert [(hit["session"], hit["seq"]) for hit in one] == [(world.session, 4)]
        assert len(all_of_them) == world.events
        assert (await client.get("/api/search", params={"q": "nowhere"})).json() == {"hits": []}
        for strange in ('"', "NEAR(", "*", "a OR", "(((", "\x00"):
            assert (await client.get("/api/search", params={"q": strange})).status_code == 200
        assert (await client.get("/api/search")).status_code == 400


async def test_forward_pages_cover_all_events(world: World):
    seen: list[int] = []
    async with world.client(await world.same_token()) as client:
        while True:
            query = {"after": seen[-1] if seen else 0, "limit": 2}
            page = (await client.get(f"/api/sessions/{world.session}/events", params=query)).json()
            if not page["events"]:
                break
            assert len(page["events"]) <= 2
            seen += [event["seq"] for event in page["events"]]
    assert (seen, page["first"], page["last"]) == (list(range(1, world.events + 1)), 1, world.events)


async def test_large_event_is_read_separately(world: World):
    large = b'{"text":"%s"}' % (b"x" * 600_000)
    id = "aaaaaaaa-bbbb-cccc-dddd-000000000001"
    record = await world.bridge.sessions.index.get(world.session)
    assert record is not None
    await world.bridge.sessions.index.put(type(record)(id=id, cwd="/w", created=1, changed=1, state="hibernated"))
    await world.bridge.sessions.events.append(id, [NewEvent("frame", large)])
    async with world.client(await world.same_token()) as client:
        page = (await client.get(f"/api/sessions/{id}/events")).json()
        one = (await client.get(f"/api/sessions/{id}/events/1")).json()
        none = await client.get(f"/api/sessions/{id}/events/2")
    await world.bridge.sessions.index.delete(id)
    assert page["events"][0]["bytes"] == len(large)
    assert len(one["data"]["text"]) == 600_000
    assert none.status_code == 404


async def test_invalid_positions_are_refused(world: World):
    async with world.client(await world.same_token()) as client:
        for path in (
            "events/0",
            "events/-1",
            "events/x",
            "events?after=-1",
            "events?after=x",
            "events?limit=0",
            "events?before=0",
            "events?before=x",
            "events?after=1&before=3",
        ):
            assert (await client.get(f"/api/sessions/{world.session}/{path}")).status_code == 400


async def test_backward_pages_cover_all_events(world: World):
    seen: list[int] = []
    async with world.client(await world.same_token()) as client:
        while not seen or seen[0] > 1:
            query = {"before": seen[0] if seen else 10**9, "limit": 2}
            page = (await client.get(f"/api/sessions/{world.session}/events", params=query)).json()
            seen = [event["seq"] for event in page["events"]] + seen
    assert (seen, page["first"], page["last"]) == (list(range(1, world.events + 1)), 1, world.events)
