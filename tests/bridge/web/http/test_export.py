"""Exporting a session as a file."""

from __future__ import annotations

import json

import pytest

from handrail.bridge.session.events import event
from handrail.bridge.store.base import NewEvent, SessionRecord
from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")
ID = "cccccccc-0000-0000-0000-000000000001"


async def filled(world: World, large: int = 0) -> None:
    record = SessionRecord(id=ID, cwd="/secret/place", created=1, changed=2, title='A "bridge"', state="hibernated")
    await world.bridge.sessions.index.put(record)
    await world.bridge.sessions.events.forget(ID)
    init = {"type": "system", "subtype": "init", "cwd": "/secret/place", "model": "opus"}
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hello <b>" + "x" * large}]}}
    events = [event("said", uuid="u", content="Hi", by="me"), *(_frame(one) for one in (init, said))]
    await world.bridge.sessions.events.append(ID, events * 3)


def _frame(line: dict[str, object]) -> NewEvent:
    return NewEvent("frame", json.dumps(line).encode())


async def test_markdown_export_is_a_download(world: World):
    await filled(world)
    async with world.client(await world.same_token()) as client:
        answer = await client.get(f"/api/sessions/{ID}/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="A-bridge.md"'
    assert answer.headers["content-type"].startswith("text/markdown")
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.text.startswith('# A "bridge"\n\n- Folder: /secret/place\n')
    assert answer.text.count("## You (me)") == answer.text.count("Hello &lt;b>") == 3


async def test_json_export_contains_large_events(world: World):
    await filled(world, large=700_000)
    async with world.client(await world.same_token()) as client:
        answer = await client.get(f"/api/sessions/{ID}/export", params={"format": "json"})
    exported = answer.json()
    last = (await world.bridge.sessions.events.bounds(ID)).last
    assert (exported["session"]["id"], [one["seq"] for one in exported["events"]]) == (
        ID,
        list(range(last - 8, last + 1)),
    )
    assert len(exported["events"][2]["data"]["message"]["content"][0]["text"]) > 700_000


async def test_viewers_see_only_the_name_of_the_folder(world: World):
    await filled(world)
    async with world.client(await world.same_token(["view"])) as client:
        for format in ("markdown", "json"):
            answer = await client.get(f"/api/sessions/{ID}/export", params={"format": format})
            assert answer.status_code == 200
            assert "/secret" not in answer.text
            assert "place" in answer.text


async def test_missing_session_and_unknown_format_are_refused(world: World):
    async with world.client(await world.same_token()) as client:
        none = await client.get("/api/sessions/cccccccc-0000-0000-0000-00000000000f/export")
        other = await client.get(f"/api/sessions/{ID}/export", params={"format": "html"})
    assert (none.status_code, other.status_code) == (404, 400)
