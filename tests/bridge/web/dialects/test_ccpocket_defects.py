"""Defects of earlier bridges of this protocol, each with a test that it is absent here.

The letters are those of the list of defects; h to j concern files, logins and diffs."""

from __future__ import annotations

import asyncio
import json
from itertools import product
from pathlib import Path

import pytest
import websockets

from handrail.bridge.session.events import event
from handrail.bridge.store.base import NewEvent
from tests.bridge.web.dialects.ccpocket_client import CcpocketClient
from tests.bridge.web.dialects.ccpocket_server import bash, calls, serving, write_script

OTHER = "22222222-2222-4222-8222-222222222222"


def line(**fields: object) -> NewEvent:
    return NewEvent("frame", json.dumps(fields).encode())


async def test_a_all_results_of_parallel_tools_are_sent(tmp_path: Path):
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"r{n}"} for n in range(3)]
    async with serving(tmp_path) as server, server.client() as client:
        host = await server.quiet_session()
        await client.ask("get_history", "history", sessionId=host.record.id)
        await host.record_events([line(type="user", message={"role": "user", "content": results})])
        assert [(await client.until("tool_result"))["content"] for _ in results] == ["r0", "r1", "r2"]


async def test_b_approve_always_grants_only_what_was_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    commands = ["touch one", "touch one", "touch one && touch two", "touch two", "rm -r one"]
    write_script(monkeypatch, tmp_path, *([bash(command)] for command in commands), "Done.")
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start(server.folder)
        await client.send("input", text="Go.")
        asked = await client.until("permission_request")
        assert asked["input"]["command"] == "touch one"
        await client.send("approve_always", id=asked["toolUseId"])
        prompted: list[str] = []
        for _ in commands[2:]:
            asked = await client.until("permission_request")
            prompted.append(asked["input"]["command"])
            await client.send("reject", id=asked["toolUseId"])
        await client.until("result")
        record = (await server.bridge.sessions.get(session)).record
    assert prompted == commands[2:]
    assert [update["rules"] for update in record.rules] == [[{"toolName": "Bash", "ruleContent": "touch one"}]]
    assert {update["destination"] for update in record.rules} == {"session"}
    assert record.mode == "default"


async def test_c_interrupted_question_is_closed_for_every_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [bash("touch one")], "Never mind.")
    async with serving(tmp_path) as server, server.client() as first, server.client() as second:
        session = await first.start(server.folder)
        await second.ask("get_history", "history", sessionId=session)
        await first.send("input", text="Go.")
        ids = [(await client.until("permission_request"))["toolUseId"] for client in (first, second)]
        assert ids[0] == ids[1]
        assert (await server.do("interrupt", session=session))["ok"]
        for client in (first, second):
            while not (client.of("result") and any(one.get("subtype") == "permission_resolved" for one in client.seen)):
                await client.receive()
            (closed,) = [one for one in client.of("system") if one["subtype"] == "permission_resolved"]
            assert closed["toolUseId"] == ids[0]
            await client.send("approve", id=ids[0], sessionId=session)
            assert (await client.until("error"))["errorCode"] == "not_pending"
            await client.quiet()
            assert client.of("status")[-1]["status"] == "idle"
    assert not (server.folder / "one").exists()


async def test_c_second_client_learns_that_the_question_was_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [bash("touch one")], "Done.")
    async with serving(tmp_path) as server, server.client() as first:
        session = await first.start(server.folder)
        await first.send("input", text="Go.")
        asked = await first.until("permission_request")
        async with server.client() as second:  # joins while the question is open
            await second.send("resume_session", sessionId=session, projectPath=str(server.folder))
            assert (await second.until("permission_request"))["toolUseId"] == asked["toolUseId"]
            await second.send("approve", id=asked["toolUseId"])
            closed = await first.until("system", subtype="permission_resolved")
            assert (closed["toolUseId"], closed["by"]) == (asked["toolUseId"], "phone")
            await first.send("approve", id=asked["toolUseId"])
            assert (await first.until("error"))["errorCode"] == "not_pending"
            for client in (first, second):
                assert (await client.until("tool_result"))["toolName"] == "Bash"
                await client.until("result")


async def test_d_no_event_is_lost_or_duplicated_when_a_client_joins(tmp_path: Path):
    count = 10_000
    events = [line(type="assistant", message={"content": [], "id": number}) for number in range(count)]

    async def numbers(client: CcpocketClient, session: str) -> list[int]:
        """The ids of all assistant messages, from the history and then live."""
        past = await client.ask("get_history", "history", sessionId=session)
        seen = [one["message"]["id"] for one in past["messages"] if one["type"] == "assistant"]
        while len(seen) < count:
            one = await client.receive()
            seen += [one["message"]["id"]] if one["type"] == "assistant" else []
        return seen

    async with serving(tmp_path) as server, server.client() as early, server.client() as late:
        host = await server.quiet_session()
        seeing = [asyncio.create_task(numbers(early, host.record.id))]
        for start in range(0, count, 250):
            await host.record_events(events[start : start + 250])
            if start == 5000:
                seeing.append(asyncio.create_task(numbers(late, host.record.id)))
        for seen in await asyncio.gather(*seeing):
            assert seen == list(range(count))
    async with serving(tmp_path) as server, server.client() as client:  # another server process on the same log
        assert await numbers(client, host.record.id) == list(range(count))


async def test_e_concurrent_list_requests_are_all_answered(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as first, server.client() as second:
        await server.quiet_session()
        for client in (first, second, first, second):
            await client.send("list_recent_sessions", limit=5)
        for client in (first, second, second, first):
            assert len((await client.until("recent_sessions"))["sessions"]) == 1


async def test_f_client_gets_only_the_sessions_it_follows(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        mine, other = await server.quiet_session(), await server.quiet_session(OTHER)
        await client.ask("get_history", "history", sessionId=mine.record.id)
        await other.record_events([event("said", uuid="u", content="secret", by="desk")])
        await mine.record_events([event("said", uuid="v", content="mine", by="desk")])
        assert (await client.until("system", subtype="user_input"))["text"] == "mine"
        assert "secret" not in json.dumps([*client.seen, *await client.quiet()])


async def test_g_answer_to_an_unknown_question_is_an_error(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        host = await server.quiet_session()
        types = ("approve", "approve_always", "reject", "answer")
        for session, type in product((host.record.id, OTHER), types):
            await client.send(type, id="toolu_unknown", toolUseId="toolu_unknown", result="A", sessionId=session)
            error = await client.until("error")
            code = "not_pending" if session == host.record.id else "not_found"
            assert (error["errorCode"], error["sessionId"]) == (code, session)


async def test_g2_duplicate_input_is_sent_once_and_acknowledged_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_script(monkeypatch, tmp_path, "First.", "Second.")
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start(server.folder)
        for _ in range(2):
            await client.send("input", text="Go.", clientMessageId="m-1")
        acks = [await client.until("input_ack") for _ in range(2)]
        assert acks[0] == acks[1] == {"type": "input_ack", "sessionId": session, "clientMessageId": "m-1"}
        async with server.client() as again:  # a retry after the first socket was lost
            await again.send("input", text="Go.", clientMessageId="m-1", sessionId=session)
            assert await again.until("input_ack") == acks[0]
        while not client.of("result"):
            await client.receive()
        await client.send("input", text="Go.", clientMessageId="m-2")
        while len(client.of("result")) < 2:
            await client.receive()
        history = await client.ask("get_history", "history", sessionId=session)
    assert [one["result"] for one in client.of("result")] == ["First.", "Second."]
    assert [one["text"] for one in history["messages"] if one.get("subtype") == "user_input"] == ["Go.", "Go."]


async def test_h_symlink_does_not_lead_out_of_the_roots(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        (tmp_path / "outside").mkdir()
        (server.folder / "link").symlink_to(tmp_path / "outside")
        for folder in ("link", "../outside", ".."):
            error = await client.ask("start", "error", projectPath=f"{server.folder}/{folder}")
            assert error["errorCode"] == "bad_folder"


async def test_h_folder_name_may_begin_with_dots(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        (server.folder / "..data").mkdir()
        await client.start(server.folder / "..data")


async def test_i_socket_without_a_valid_token_is_refused(tmp_path: Path):
    async with serving(tmp_path) as server:
        for token in ("wrong", f"{server.device.id}.wrong", server.token[:-1]):
            with pytest.raises(websockets.exceptions.InvalidStatus):
                async with server.client(token):
                    pass


async def test_j_other_message_types_are_unsupported(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        for type in ("get_diff", "git_stage", "read_file", "interrupt", "list_files"):
            await client.send_text(json.dumps({"type": type, "projectPath": str(server.folder)}))
            assert (await client.until("error"))["errorCode"] == "unsupported_message"
        assert await client.quiet() == []


async def test_k_missing_folder_is_refused_and_not_created(tmp_path: Path):
    async with serving(tmp_path) as server, server.client() as client:
        missing = server.folder / "missing"
        for type, session in (("start", None), ("start", OTHER), ("resume_session", OTHER)):
            error = await client.ask(type, "error", projectPath=str(missing), sessionId=session)
            assert error["errorCode"] == "bad_folder"
            assert not missing.exists()


async def test_l_question_is_sent_in_bypass_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    question = {"question": "Which?", "header": "W", "multiSelect": False}
    options = [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]
    asks = calls("AskUserQuestion", questions=[{**question, "options": options}])
    write_script(monkeypatch, tmp_path, [bash("touch one")], [asks], "Done.")
    async with serving(tmp_path, allow_bypass=True) as server, server.client() as client:
        await client.start(server.folder, permissionMode="bypassPermissions")
        await client.send("input", text="Go.")
        asked = await client.until("permission_request")
        assert asked["toolName"] == "AskUserQuestion"
        await client.send("answer", toolUseId=asked["toolUseId"], result='{"Which?": "B"}')
        assert "B" in (await client.until("tool_result", toolName="AskUserQuestion"))["content"]
        await client.until("result")
    assert (server.folder / "one").exists()
