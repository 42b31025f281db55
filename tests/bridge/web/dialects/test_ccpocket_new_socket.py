"""A message that names a session works on a new socket as it does after get_history."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.session.events import event
from handrail.bridge.web.dialects.ccpocket import Client
from tests.bridge.web.dialects.ccpocket_client import TIMEOUT, CcpocketClient
from tests.bridge.web.dialects.ccpocket_server import bash, calls, serving, write_script

OTHER = "22222222-2222-4222-8222-222222222222"
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    "multiSelect": False,
}
LIVE = ("stream_delta", "thinking_delta")


def durable(client: CcpocketClient) -> list[dict[str, Any]]:
    """All received messages of the session except deltas, answers to this client, and statuses."""
    own = ("session_list", "input_ack", "status", "error")
    return [one for one in client.seen if one["type"] not in (*LIVE, *own) and one.get("subtype") != "session_created"]


async def idle(client: CcpocketClient, results: int = 1) -> None:
    """Read until the client has this many results and the session is idle."""
    while len(client.of("result")) < results or client.of("status")[-1]["status"] != "idle":
        await client.receive()


async def test_input_follows_an_idle_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [{"type": "text", "text": "I try."}, bash("touch one")], "Done.")
    async with serving(tmp_path) as server, server.client() as first, server.client() as second:
        session = await first.start(server.folder)
        await second.send("input", text="Go.", sessionId=session)
        assert (await second.receive()) == {"type": "status", "status": "idle", "sessionId": session}
        asked = await second.until("permission_request")
        await second.send("approve", id=asked["toolUseId"], sessionId=session)
        await asyncio.gather(idle(first), idle(second))
        types = [one["type"] for one in durable(second)]
        assert {"assistant", "tool_result", "result", "permission_request"} <= set(types)
        assert durable(second) == durable(first)
        assert [one["status"] for one in second.of("status")] == [one["status"] for one in first.of("status")]
        deltas = ["".join(one["text"] for one in client.of("stream_delta")) for client in (first, second)]
        assert deltas == ["I try.Done."] * 2
    assert (server.folder / "one").exists()


async def test_input_follows_a_hibernated_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, "Here I am.")
    async with serving(tmp_path) as server:
        async with server.client() as first:
            session = await first.start(server.folder)
            await first.send("stop_session", sessionId=session)
            await first.until("result", subtype="stopped")
        async with server.client() as second:
            await second.send("input", text="Go.", sessionId=session)
            await idle(second)
            (result,) = second.of("result")
            assert result["result"] == "Here I am."


async def test_input_after_stop_on_the_same_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, "Here I am.")
    async with serving(tmp_path) as server, server.client() as starter, server.client() as client:
        session = await starter.start(server.folder)
        await client.send("stop_session", sessionId=session)  # named before it is followed
        await client.until("result", subtype="stopped")
        await client.send("input", text="Go.", sessionId=session)
        assert (await client.until("result"))["result"] == "Here I am."


async def test_input_during_a_turn_gets_the_rest_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [bash("touch one")], "First.", "Second.")
    async with serving(tmp_path) as server, server.client() as first, server.client() as second:
        session = await first.start(server.folder)
        await first.send("input", text="One.")
        asked = await first.until("permission_request")
        await second.send("input", text="Two.", sessionId=session, clientMessageId="m")
        shown = await second.until("permission_request")
        assert shown == asked
        await second.until("input_ack")
        await second.send("reject", id=asked["toolUseId"], sessionId=session)
        assert (await second.until("tool_result"))["toolName"] == "Bash"  # its tool_use came before the socket
        while "Two." not in [one.get("text") for one in second.of("system")]:
            await second.receive()
        await asyncio.gather(idle(first), idle(second))
        after = durable(first)[durable(first).index(asked) :]
        assert durable(second) == after


@pytest.mark.parametrize(
    ("type", "fields", "content"),
    [
        ("approve", {}, ""),
        ("approve_always", {}, ""),
        ("reject", {"message": "Not now."}, "Not now."),
    ],
)
async def test_permission_is_answered_on_a_new_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type: str, fields: dict[str, str], content: str
):
    write_script(monkeypatch, tmp_path, [bash("touch one")], "Done.")
    async with serving(tmp_path) as server:
        async with server.client() as first:
            session = await first.start(server.folder)
            await first.send("input", text="Go.")
            asked = await first.until("permission_request")
            await first.until("status", status="waiting_approval")
        async with server.client() as second:
            await second.send(type, id=asked["toolUseId"], sessionId=session, **fields)
            result = await second.until("tool_result", toolUseId=asked["toolUseId"])
            assert content in result["content"]
            await idle(second)
            assert [one["result"] for one in second.of("result")] == ["Done."]
            assert second.of("permission_request") == []  # the client knows the question it answers
            assert [one["status"] for one in second.of("status")] == ["waiting_approval", "running", "idle"]
            assert second.of("error") == []
    assert (server.folder / "one").exists() == (type != "reject")


async def test_user_question_is_answered_on_a_new_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [calls("AskUserQuestion", questions=[QUESTION])], "Done.")
    async with serving(tmp_path) as server:
        async with server.client() as first:
            session = await first.start(server.folder)
            await first.send("input", text="Go.")
            asked = await first.until("permission_request")
        async with server.client() as second:
            await second.send("answer", toolUseId=asked["toolUseId"], result="Blue", sessionId=session)
            assert "Blue" in (await second.until("tool_result"))["content"]
            await second.until("result")


async def test_answer_on_a_new_socket_shows_the_other_open_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with serving(tmp_path) as server, server.client() as client:
        host = await server.quiet_session()
        for number in range(2):
            request = {"tool_name": "Bash", "input": {"command": str(number)}, "tool_use_id": f"t{number}"}
            fields = {"question": f"{OTHER[:-1]}{number}", "kind": "permission", "hash": "0" * 64, "request": request}
            await host.record_events([event("asked", **fields)])
        await client.send("approve", id="t0", sessionId=host.record.id)
        assert (await client.until("permission_request"))["toolUseId"] == "t1"
        assert (await client.until("error"))["errorCode"] == "not_pending"  # no process waits for these answers
        await host.record_events([event("closed", question=f"{OTHER[:-1]}1", why="withdrawn")])
        await client.until("system", subtype="permission_resolved")


async def test_two_new_sockets_answer_the_same_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [bash("touch one")], "Done.")
    async with serving(tmp_path) as server, server.client() as first:
        session = await first.start(server.folder)
        await first.send("input", text="Go.")
        asked = await first.until("permission_request")
        async with server.client() as second, server.client() as third:
            answer = {"id": asked["toolUseId"], "sessionId": session}
            await asyncio.gather(second.send("approve", **answer), third.send("approve", **answer))
            await asyncio.gather(idle(second), idle(third))
            errors = [one["errorCode"] for client in (second, third) for one in client.of("error")]
            assert errors == ["not_pending"]
            for client in (second, third):
                assert len(client.of("tool_result")) <= 1
                assert len(client.of("result")) == 1


async def test_duplicate_input_on_new_sockets_is_sent_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [bash("touch one")], "Done.")
    async with serving(tmp_path) as server, server.client() as second, server.client() as third:
        async with server.client() as first:
            session = await first.start(server.folder)
        prompt = {"text": "Go.", "clientMessageId": "m", "sessionId": session}
        await second.send("input", **prompt)
        await second.until("input_ack")
        asked = await second.until("permission_request")
        await third.send("input", **prompt)
        await third.until("input_ack")
        assert third.of("permission_request") == [asked]
        await third.send("approve", id=asked["toolUseId"], sessionId=session)
        for client in (second, third):
            await idle(client)
            assert [one["result"] for one in client.of("result")] == ["Done."]
        history = await third.ask("get_history", "history", sessionId=session)
    assert [one["text"] for one in history["messages"] if one.get("subtype") == "user_input"] == ["Go."]


@pytest.mark.parametrize("type", ["input", "approve", "approve_always", "reject", "answer"])
async def test_unknown_session_is_not_found(tmp_path: Path, type: str):
    fields = {"input": {"text": "Go."}, "answer": {"toolUseId": "t", "result": "A"}}.get(type, {"id": "t"})
    async with serving(tmp_path) as server, server.client() as client:
        await client.send(type, sessionId=OTHER, **fields)
        error = await client.receive()
        assert (error["errorCode"], error["sessionId"]) == ("not_found", OTHER)
        assert (await client.ask("list_sessions", "session_list"))["sessions"] == []


async def test_input_beyond_the_session_limit_is_refused_unsent(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        ids = [f"11111111-1111-4111-8111-{number:012}" for number in range(65)]
        hosts = [await server.quiet_session(id) for id in ids]
        for id in ids[:64]:
            await client.send("get_history", sessionId=id)
        for type, fields in (("input", {"text": "Go."}), ("approve", {"id": "t"})):
            await client.send(type, sessionId=ids[64], **fields)
            assert (await client.until("error"))["errorCode"] == "too_many"
        assert hosts[64].seq == 0
        assert not hosts[64].feed.followers


async def test_refused_input_keeps_the_socket_following(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        host = await server.quiet_session()
        error = await client.ask("input", "error", text="", sessionId=host.record.id)
        assert error["errorCode"] == "empty"
        await host.record_events([event("said", uuid="u", content="Hello", by="desk")])
        assert (await client.until("system", subtype="user_input"))["text"] == "Hello"
        assert len(host.feed.followers) == 1


async def test_session_deleted_and_created_again_is_followed_again(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        host = await server.quiet_session()
        await client.ask("get_history", "history", sessionId=host.record.id)
        assert (await server.do("delete", session=host.record.id))["ok"]
        error = await client.ask("approve", "error", id="t", sessionId=host.record.id)
        assert error["errorCode"] == "not_found"
        again = await server.quiet_session(host.record.id)
        await client.ask("approve", "error", id="t", sessionId=host.record.id)
        await again.record_events([event("said", uuid="u", content="Hello", by="desk")])
        assert (await client.until("system", subtype="user_input"))["text"] == "Hello"


class BlockedWire:
    """A socket whose peer reads the first message and then nothing until `resume` is set."""

    def __init__(self, *incoming: dict[str, Any]) -> None:
        self._incoming = [json.dumps(one) for one in incoming]
        self.sent: list[dict[str, Any]] = []
        self.blocked, self.received_all, self.resume = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.joined, self._error_sent = asyncio.Event(), asyncio.Event()

    async def receive(self) -> str | None:
        if not self.sent:
            return self._incoming.pop(0)
        if self._incoming:
            await self.blocked.wait()
            self.received_all.set()
            return self._incoming.pop(0)
        await self._error_sent.wait()
        return None

    async def send(self, text: str) -> None:
        if self.sent:
            self.blocked.set()
            await self.resume.wait()
        self.sent.append(json.loads(text))
        self.joined.set()
        if self.sent[-1]["type"] == "error":
            self._error_sent.set()

    async def close(self, code: int, reason: str) -> None:
        raise AssertionError(reason)


async def test_question_not_yet_sent_on_this_socket_can_be_answered(tmp_path: Path):
    async with serving(tmp_path) as server, asyncio.timeout(TIMEOUT):
        host = await server.quiet_session()
        about = {"sessionId": host.record.id}
        wire = BlockedWire({"type": "get_history", **about}, {"type": "approve", "id": "t", **about})
        following = asyncio.create_task(Client(server.bridge, server.device, wire).run())
        request = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"}
        async with server.client() as other:
            await other.ask("get_history", "history", **about)
            await wire.joined.wait()
            await host.record_events([event("said", uuid="u", content="Hello", by="desk")])
            await wire.blocked.wait()
            asked = event("asked", question=OTHER, kind="permission", hash="0" * 64, request=request)
            await host.record_events([asked])
            await other.until("permission_request")
        await wire.received_all.wait()  # the approval waits for the blocked write
        wire.resume.set()
        await following
    assert [one["type"] for one in wire.sent] == ["history", "system", "permission_request", "error"]
    # The session itself refuses the answer, since it has no process; the dialect would mention get_history.
    assert "get_history" not in wire.sent[-1]["message"]
