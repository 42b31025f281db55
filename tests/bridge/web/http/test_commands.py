"""Commands over HTTP."""

from __future__ import annotations

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_repeated_command_runs_once_and_gets_the_same_response(world: World):
    body = {"id": "one", "command": "rename", "fields": {"session": world.session, "title": "New title"}}
    async with world.client(await world.same_token()) as client:
        answers = [await client.post("/api/commands", json=body) for _ in range(2)]
        assert [(one.status_code, one.json()) for one in answers] == [(200, {"ok": True, "result": {}})] * 2
        page = (await client.get(f"/api/sessions/{world.session}/events")).json()
    assert [event["kind"] for event in page["events"]].count("changed") == world.events + 1


async def test_refusals_have_status_codes(world: World):
    session = "00000000-0000-0000-0000-000000000000"
    tried = {
        ("stop", session): (404, "not_found"),
        ("no_such", session): (404, "unknown_command"),
        ("stop", "x"): (400, "bad_fields"),
    }
    async with world.client(await world.same_token()) as client:
        for number, ((command, id), wanted) in enumerate(tried.items()):
            body = {"id": f"r{number}", "command": command, "fields": {"session": id}}
            answer = await client.post("/api/commands", json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == wanted


async def test_command_needs_its_scope(world: World):
    body = {"id": "v", "command": "stop", "fields": {"session": world.session}}
    async with world.client(await world.same_token(["view"])) as client:
        answer = await client.post("/api/commands", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
