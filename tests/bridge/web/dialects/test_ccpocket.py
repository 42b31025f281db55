"""The ccpocket dialect from the client's side, against a bridge in this process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from itertools import pairwise, product
from pathlib import Path

import pytest

from handrail.bridge.session.events import event
from handrail.model_access.choice import CliChoice
from tests.bridge.web.dialects.ccpocket_client import TIMEOUT
from tests.bridge.web.dialects.ccpocket_server import bash, calls, serving, write_script

OURS = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    "multiSelect": False,
}


async def test_conversation_has_every_message_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(
        monkeypatch,
        tmp_path,
        [
            {"type": "thinking", "thinking": "A file is wanted."},
            {"type": "text", "text": "I make it."},
            bash("touch one"),
        ],
        [bash("touch two")],
        [calls("AskUserQuestion", questions=[QUESTION])],
        "All done.",
    )
    async with serving(tmp_path) as server, server.client() as client:
        created = await client.ask("start", "system", projectPath=str(server.folder), permissionMode="default")
        session = created["sessionId"]
        assert created["subtype"] == "session_created"
        assert created["projectPath"] == str(server.folder)
        assert (await client.until("status")) == {"type": "status", "status": "idle", "sessionId": session}

        await client.send("input", text="Make files.")
        init = await client.until("system", subtype="init")
        assert init["sessionId"] == session
        assert init["model"]
        asked = await client.until("permission_request")
        assert (asked["toolName"], asked["input"]["command"]) == ("Bash", "touch one")
        await client.until("status", status="waiting_approval")
        await client.send("approve", id=asked["toolUseId"])
        result = await client.until("tool_result")
        assert (result["toolUseId"], result["toolName"]) == (asked["toolUseId"], "Bash")
        assert isinstance(result["content"], str)

        asked = await client.until("permission_request")
        await client.send("reject", id=asked["toolUseId"], message="One is enough.")
        refused = await client.until("tool_result", toolUseId=asked["toolUseId"])
        assert "One is enough." in refused["content"]

        asked = await client.until("permission_request", toolName="AskUserQuestion")
        assert asked["input"]["questions"] == [QUESTION]
        await client.send("answer", toolUseId=asked["toolUseId"], result="Blue")
        assert "Blue" in (await client.until("tool_result", toolName="AskUserQuestion"))["content"]

        result = await client.until("result")
        assert (result["subtype"], result["result"], result["sessionId"]) == ("success", "All done.", session)
        assert {"cost", "duration"} <= result.keys()
        await client.quiet()
        await client.send("get_history", sessionId=session)
        history = await client.until("history")

    assert (server.folder / "one").exists()
    assert not (server.folder / "two").exists()
    assert "".join(one["text"] for one in client.of("thinking_delta")) == "A file is wanted."
    assert "".join(one["text"] for one in client.of("stream_delta")) == "I make it.All done."
    said = [block for one in client.of("assistant") for block in one["message"]["content"]]
    assert [block["type"] for block in said if block["type"] == "text"] == ["text", "text"]
    deltas = ("stream_delta", "thinking_delta")
    live = [one for one in client.seen if one["type"] not in (*deltas, "session_list", "history")]
    assert [one for one in history["messages"] if one["type"] != "status"] == [
        one for one in live if one["type"] != "status" and one.get("subtype") != "session_created"
    ]
    statuses = [one["status"] for one in client.of("status")]
    assert set(statuses) == {"idle", "running", "waiting_approval"}
    assert all(one != other for one, other in pairwise(statuses))


async def test_stopped_session_is_resumed_with_its_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, "Here I am.")
    async with serving(tmp_path) as server, server.client() as client:
        session, folder = await client.start(server.folder, model="claude-haiku-4-5"), str(server.folder)
        await client.send("input", text="Are you there?", sessionId=session)
        await client.until("result", subtype="success")
        (row,) = (await client.ask("list_sessions", "session_list"))["sessions"]
        assert (row["id"], row["projectPath"], row["status"]) == (session, folder, "idle")
        await client.send("stop_session", sessionId=session)
        assert await client.until("result") == {"type": "result", "subtype": "stopped", "sessionId": session}

        async with server.client() as other:
            assert (await other.ask("list_sessions", "session_list"))["sessions"] == []
            (row,) = (await other.ask("list_recent_sessions", "recent_sessions", limit=1))["sessions"]
            assert (row["sessionId"], row["projectPath"], row["summary"]) == (session, folder, "Are you there?")
            chosen = {"permissionMode": "plan", "model": "claude-opus-4-5"}
            await other.send("resume_session", sessionId=session, projectPath=folder, **chosen)
            created = await other.until("system", subtype="session_created")
            assert (created["sessionId"], created["permissionMode"]) == (session, "plan")
            assert created["model"] == chosen["model"]
            assert (await other.until("status"))["status"] == "idle"
            await other.send("input", text="And now?")
            await other.until("result", subtype="success")
            await other.send("start", projectPath=folder, sessionId=session)  # another way to resume
            assert (await other.until("system", subtype="session_created"))["sessionId"] == session
            history = await other.ask("get_history", "history", sessionId=session)
    said = [one["text"] for one in history["messages"] if one.get("subtype") == "user_input"]
    results = [one["result"] for one in history["messages"] if one["type"] == "result"]
    assert (said, results) == (["Are you there?", "And now?"], ["Here I am.", "Here I am."])


async def test_latest_session_is_continued_and_forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, "Here I am.")
    async with serving(tmp_path) as server, server.client() as client:
        folder = str(server.folder)
        nothing = await client.ask("start", "error", projectPath=folder, **{"continue": True})
        assert nothing["errorCode"] == "not_found"
        session = await client.start(folder)
        await client.send("input", text="Hello")
        await client.until("result")
        async with server.client() as other:
            assert await other.start(folder, **{"continue": True}) == session
            await other.send("resume_session", sessionId=session, projectPath=folder, forkSession=True)
            branch = await other.until("system", subtype="session_created")
            assert branch["sessionId"] != session
            await other.send("input", text="Which one?")  # the socket has two sessions now
            assert (await other.until("error"))["errorCode"] == "session_required"


async def test_client_that_joins_mid_answer_gets_the_partial_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [{"type": "text", "text": "Half of", "unfinished": True}, {"type": "hang"}])
    async with serving(tmp_path) as server, server.client() as first, server.client() as second:
        session = await first.start(server.folder)
        await first.send("input", text="Go.")
        while "".join(one["text"] for one in first.of("stream_delta")) != "Half of":
            await first.receive()
        await second.send("resume_session", sessionId=session, projectPath=str(server.folder))
        assert (await second.until("status"))["status"] == "running"
        assert (await second.until("stream_delta"))["text"] == "Half of"
        await second.ask("get_history", "history", sessionId=session)
        assert (await second.until("stream_delta"))["text"] == "Half of"


async def test_cli_that_does_not_start_is_an_error_and_then_idle(tmp_path: Path):
    async with (
        serving(tmp_path, cli=CliChoice.fixed(str(tmp_path / "missing"))) as server,
        server.client() as client,
    ):
        error = await client.ask("start", "error", projectPath=str(server.folder))
        assert error["errorCode"] == "not_started"
        host = await server.quiet_session()
        await client.ask("get_history", "history", sessionId=host.record.id)
        await client.send("input", text="Hello", sessionId=host.record.id, clientMessageId="m")
        await client.until("input_ack")  # accepted and queued
        assert (await client.until("error"))["errorCode"] == "session_failed"
        assert (await client.until("status"))["status"] == "idle"


async def test_images_are_sent_with_the_prompt(tmp_path: Path):
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mPQqzUCAAG6AN76d2wkAAAAAElFTkSuQmCC"
    async with (
        serving(tmp_path, cli=CliChoice.fixed(str(tmp_path / "missing"))) as server,
        server.client() as client,
    ):
        host = await server.quiet_session()
        images = [{"base64": pixel, "mimeType": "image/png"}]
        send = {"sessionId": host.record.id, "text": "Look."}
        await client.send("input", **send, clientMessageId="m", images=images, imageBase64=pixel)
        await client.until("input_ack")
        (said,) = [one for one in await host.read(0) if one.kind == "said"]
        assert said.data.count(pixel.encode()) == 2
        for bad in ("no base64!", "AAAA"):
            await client.send("input", **send, clientMessageId="n", imageBase64=bad)
            assert (await client.until("error", requestId="n"))["errorCode"] == "no_picture"


async def test_invalid_message_is_an_error_and_keeps_the_socket(tmp_path: Path):
    texts = ["", "no JSON", "[1]", '{"type": "dance"}', '{"type": "start"}', '{"type": "approve", "id": {}}']
    paths = [{"type": type, "projectPath": "/\0", "sessionId": OURS} for type in ("start", "resume_session")]
    async with serving(tmp_path) as server, server.client() as client:
        for text in [*texts, b"\xff\x00", *map(json.dumps, paths)]:
            await client.send_text(text)
            error = await client.until("error")
            assert error["errorCode"] == "unsupported_message", text
            assert error["message"]
        assert (await client.ask("list_sessions", "session_list"))["sessions"] == []


REFUSED = [
    ("input", {"text": "Hi"}, "session_required"),
    ("approve", {"id": "t"}, "session_required"),
    ("answer", {"toolUseId": "t", "result": "A"}, "session_required"),
    ("input", {"text": "Hi", "sessionId": OTHER}, "not_found"),
    ("input", {"text": "Hi", "sessionId": "../etc"}, "not_found"),
    ("approve", {"id": "t", "sessionId": OTHER}, "not_found"),
    ("approve", {"id": "t", "sessionId": OURS}, "not_pending"),
    ("answer", {"toolUseId": "t", "result": "A", "sessionId": OURS}, "not_pending"),
    ("input", {"text": "", "sessionId": OURS}, "empty"),
    ("get_history", {"sessionId": "nothing"}, "not_found"),
    ("stop_session", {"sessionId": OTHER}, "not_found"),
    ("start", {"projectPath": "relative"}, "bad_folder"),
    ("start", {"projectPath": "FOLDER", "permissionMode": "bypassPermissions"}, "forbidden"),
    ("start", {"projectPath": "FOLDER", "permissionMode": "delegate"}, "bad_fields"),
    ("start", {"projectPath": "FOLDER", "maxTurns": -1}, "bad_fields"),
    ("start", {"projectPath": "FOLDER", "provider": "codex"}, "unsupported_provider"),
    ("start", {"projectPath": "FOLDER", "sessionId": OTHER}, "not_found"),
    ("resume_session", {"projectPath": "FOLDER", "sessionId": OTHER}, "not_found"),
    ("resume_session", {"projectPath": "FOLDER/x", "sessionId": OURS}, "bad_folder"),
    (
        "resume_session",
        {"projectPath": "FOLDER", "sessionId": OURS, "permissionMode": "bypassPermissions"},
        "forbidden",
    ),
]


async def test_refused_message_has_an_error_code(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        (server.folder / "x").mkdir()
        host = await server.quiet_session(OURS)
        for type, fields, code in REFUSED:
            await client.send_text(json.dumps({"type": type, **fields}).replace("FOLDER", str(server.folder)))
            error = await client.until("error")
            assert (error["errorCode"], error.get("sessionId")) == (code, fields.get("sessionId"))
            assert error["message"]
            assert await client.quiet() == []
        assert not host.running


async def test_device_is_limited_to_its_scopes(tmp_path: Path):
    async with serving(tmp_path, scopes=("view",)) as server, server.client() as client:
        host = await server.quiet_session()
        await host.record_events([event("said", uuid="u", content="Hello", by="desk")])
        history = await client.ask("get_history", "history", sessionId=host.record.id)
        assert history["messages"][0]["text"] == "Hello"
        for type, answer in (("list_sessions", "session_list"), ("list_recent_sessions", "recent_sessions")):
            (row,) = (await client.ask(type, answer))["sessions"]
            assert row["projectPath"] == "work"  # view-only devices do not get full paths
        messages = {"start": {"projectPath": str(server.folder)}, "stop_session": {}, "input": {"text": "Hi"}}
        for type, fields in messages.items():
            await client.send(type, **{"sessionId": host.record.id if type != "start" else None, **fields})
            assert (await client.until("error"))["errorCode"] == "forbidden"


async def test_untrusted_folder_is_reported(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        hook = {"hooks": [{"type": "command", "command": "touch run"}]}
        (server.folder / ".claude").mkdir()
        (server.folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": [hook]}}))
        session = await client.start(server.folder)
        error = await client.until("error")
        assert (error["errorCode"], error["sessionId"]) == ("folder_not_trusted", session)
    assert not (server.folder / "run").exists()


KNOWN = {
    "start": "projectPath sessionId continue permissionMode model maxTurns",
    "resume_session": "sessionId projectPath permissionMode",
    "stop_session": "sessionId",
    "get_history": "sessionId",
    "list_recent_sessions": "limit offset projectPath",
    "approve": "id sessionId",
    "approve_always": "id",
    "reject": "id message",
    "answer": "toolUseId result",
    "input": "text sessionId clientMessageId images imageBase64",
}


async def test_no_field_value_breaks_the_socket(tmp_path: Path):
    odd = [None, -1, 2**70, "", "\0", "y" * 5000, [{}], {}]
    good = {"projectPath": str(tmp_path / "work"), "sessionId": OURS, "text": "Hi", "id": "t", "toolUseId": "t"}
    async with (
        serving(tmp_path, cli=CliChoice.fixed(str(tmp_path / "missing"))) as server,
        server.client() as client,
    ):
        await server.quiet_session(OURS)
        for type, fields in KNOWN.items():
            for field, value in product(fields.split(), odd):
                await client.send(type, **{**good, "result": "A", field: value})
        await client.quiet()
        errors = {one["errorCode"] for one in client.of("error")}
    assert "unsupported_message" in errors
    assert "failed" not in errors


async def test_slow_client_delays_no_other_and_misses_nothing(tmp_path: Path):
    words = [f"{number} {'x' * 200_000}" for number in range(40)]  # more than the feed buffers
    async with serving(tmp_path) as server, server.client() as slow, server.client() as quick:
        host = await server.quiet_session()
        for client in (slow, quick):
            await client.ask("get_history", "history", sessionId=host.record.id)
        for word in words:
            await host.record_events([event("said", uuid="u", content=word, by="desk")])
            assert (await quick.until("system", subtype="user_input"))["text"] == word
        while len(slow.of("system")) < len(words):
            await slow.receive()
        assert [one["text"] for one in slow.of("system")] == words


async def test_aborted_client_is_removed(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        host = await server.quiet_session()
        async with server.client() as aborted:
            await aborted.ask("get_history", "history", sessionId=host.record.id)
            for _ in range(40):  # the client does not read, so a write is in progress
                await host.record_events([event("said", uuid="u", content="x" * 200_000, by="desk")])
            aborted.abort()
        async with asyncio.timeout(TIMEOUT):
            while host.feed.followers:
                await client.quiet()


async def test_unreadable_log_is_an_error_and_can_be_retried(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        host = await server.quiet_session()
        about = {"sessionId": host.record.id}
        await host.record_events([event("said", uuid="u", content="Hello", by="desk")])
        await server.bridge.database.execute("ALTER TABLE event RENAME TO elsewhere")
        error = await client.ask("get_history", "error", **about)
        assert (error["errorCode"], error["sessionId"]) == ("failed", host.record.id)
        assert not host.feed.followers
        await server.bridge.database.execute("ALTER TABLE elsewhere RENAME TO event")
        assert len((await client.ask("get_history", "history", **about))["messages"]) == 1

        await server.bridge.database.execute("ALTER TABLE event RENAME TO elsewhere")
        host.feed.publish(
            [b'{"seq":2,"time":1,"kind":"said","bytes":600000}']
        )  # too large for the feed, so read from the log
        assert (await client.until("error"))["errorCode"] == "failed"
        assert not host.feed.followers
        await server.bridge.database.execute("ALTER TABLE elsewhere RENAME TO event")
        assert len((await client.ask("get_history", "history", **about))["messages"]) == 1


async def test_socket_follows_at_most_64_sessions(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        for number in range(65):
            await server.quiet_session(f"11111111-1111-4111-8111-{number:012}")
            await client.send("get_history", sessionId=f"11111111-1111-4111-8111-{number:012}")
        assert (await client.until("error"))["errorCode"] == "too_many"
        assert len(client.of("history")) == 64
        await client.ask("get_history", "history", sessionId=f"11111111-1111-4111-8111-{0:012}")  # already followed


async def test_crashed_cli_gives_a_result_and_is_restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    hangs = {"blocks": [{"type": "text", "text": "Half", "unfinished": True}, {"type": "hang"}]}
    write_script(monkeypatch, tmp_path, {**hangs, "when": {"matches": r"hang\Z"}}, "Here again.")
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start(server.folder)
        await client.send("input", text="hang")
        await client.until("stream_delta")
        pid = (await server.bridge.sessions.get(session)).session.pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        result = await client.until("result")
        assert (result["subtype"], result["sessionId"]) == ("error_during_execution", session)
        assert "by itself" in result["error"]
        await client.until("status", status="idle")
        await client.send("input", text="Are you there?")
        assert (await client.until("result"))["result"] == "Here again."


def test_client_of_these_tests_does_not_import_the_package():
    source = Path(__file__).with_name("ccpocket_client.py").read_text()
    assert "handrail" not in source.lower()
