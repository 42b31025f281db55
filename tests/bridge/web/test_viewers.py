"""Devices with only the `view` scope see the conversation, but nothing about the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.web.viewers import for_viewers, item_for_viewers
from tests.bridge.serving import running
from tests.bridge.stage import stage
from tests.client.scripted_cli import write_cli

INIT = {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/secret/place", "model": "m"}


@pytest.mark.parametrize(
    ("kind", "data", "seen"),
    [
        (
            "frame",
            {**INIT, "mcp_servers": [{"name": "x"}], "plugins": [{"path": "/p"}], "apiKeySource": "env", "tools": []},
            {"type": "system", "subtype": "init", "session_id": "s", "model": "m"},
        ),
        (
            "frame",
            {"type": "system", "subtype": "hook_response", "uuid": "u", "stdout": "/secret", "stderr": "x"},
            {"type": "system", "subtype": "hook_response", "uuid": "u"},
        ),
        ("frame", {"type": "assistant", "message": {"content": "see /etc/x"}}, None),
        ("live", {"type": "stream_event", "event": {}}, None),
        ("said", {"uuid": "u", "content": "hi", "by": "laptop"}, None),
        ("asked", {"question": "q", "request": {"input": {"command": "ls /"}}}, None),
        ("state", {"state": "idle", "error": ""}, None),
        ("state", {"state": "failed", "error": "/x: no"}, {"state": "failed", "error": "the process ended"}),
        (
            "ended",
            {"why": "/usr/bin/x failed", "code": 1, "stderr": "key=1"},
            {"why": "the process ended", "code": 1},
        ),
        (
            "crashed",
            {"type": "result", "errors": ["/usr/bin/x"], "stderr": "s", "code": 1},
            {"type": "result", "errors": ["the process ended"], "code": 1},
        ),
        ("lapsed", {"rules": [{"ruleContent": "/secret"}], "mode": "plan"}, {"rules": [], "mode": "plan"}),
    ],
)
def test_events_are_reduced_to_the_conversation(kind: str, data: dict[str, Any], seen: Any):
    assert item_for_viewers({"seq": 1, "kind": kind, "data": data}) == {"seq": 1, "kind": kind, "data": seen or data}


def test_lists_of_events_are_filtered():
    assert for_viewers(b"") == b""
    assert for_viewers(b'{"seq":1,"kind":"frame","bytes":9},{"kind":"live","data":{}}').count(b"kind") == 2


SPEAKS = """
    text = prompt()
    say({"type": "system", "subtype": "init", "session_id": "s", "cwd": "/secret/place", "model": "m"})
    say(assistant("hello"), result("bye"))
    prompt()
    sys.stderr.write("SECRET of the machine")
    sys.exit(3)
"""


async def test_w48_viewers_see_nothing_about_the_machine(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SPEAKS)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session, scopes=frozenset({"view"})) as viewer, on.viewer(session) as operator:
            await viewer.until_result()
            await on.do("send", session=session, text="again")
            await viewer.until_kind("ended")
            await operator.until_kind("ended")
            seen, everything = json.dumps(viewer.wire.heard), json.dumps(operator.wire.heard)
            assert [event.get("seq") for event in viewer.kept] == [event.get("seq") for event in operator.kept]
        assert ("/secret/place" in everything, "SECRET of the machine" in everything) == (True, True)
        assert ("/secret/place" in seen, "SECRET of" in seen, str(tmp_path) in seen, "hello" in seen) == (
            False,
            False,
            False,
            True,
        )


async def test_w48_viewers_learn_no_paths_by_http_or_search(tmp_path: Path):
    async with running(tmp_path) as server:
        async with server.client(await server.token()) as client:
            start = {"id": "1", "command": "start", "fields": {"cwd": str(tmp_path / "work"), "title": "A title"}}
            answer = (await client.post("/api/commands", json=start)).json()
            session = answer["result"]["session"]["id"]
            await server.bridge.sessions.events.append(session, [])
        token = await server.token(["view"])
        async with server.client(token) as client:
            for path in ("/api/sessions", f"/api/sessions/{session}", f"/api/sessions/{session}/events", "/api/usage"):
                answer = await client.get(path)
                assert (answer.status_code, str(tmp_path) in answer.text) == (200, False)

            async def found(words: str) -> int:
                return len((await client.get("/api/sessions", params={"words": words})).json()["sessions"])

            assert [await found(words) for words in ("title", "work", tmp_path.name, str(tmp_path))] == [1, 1, 0, 0]
            for command in ("context_usage", "send", "answer", "accept_trust", "set_permission_mode"):
                body = {"id": command, "command": command, "fields": {"session": session}}
                assert (await client.post("/api/commands", json=body)).status_code == 403
            for path in ("/api/devices", "/api/audit", "/metrics", f"/api/sessions/{session}/files"):
                assert (await client.get(path)).status_code == 403
            assert (await client.post("/api/links", json={})).status_code == 403
