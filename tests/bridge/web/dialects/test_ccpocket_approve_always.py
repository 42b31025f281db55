"""approve_always without a suggestion allows exactly the shown call for the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.web.dialects.ccpocket_client import CcpocketClient
from tests.bridge.web.dialects.ccpocket_server import bash, calls, serving, write_script

QUESTION = {
    "question": "Which?",
    "header": "W",
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
    "multiSelect": False,
}


async def prompted(client: CcpocketClient, always: str) -> list[str]:
    """Send approve_always for one command and reject the others; return the commands that needed an answer."""
    found: list[str] = []
    while True:
        message = await client.receive()
        if message["type"] == "permission_request":
            following = await client.receive()
            if following.get("subtype") == "permission_resolved":
                continue
            found.append(message["input"]["command"])
            type = "approve_always" if found[-1] == always else "reject"
            await client.send(type, id=message["toolUseId"], sessionId=message["sessionId"])
        if message["type"] == "result":
            return found


async def test_exact_command_is_allowed_by_a_session_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    commands = ["rm -r one", "rm -r one", "rm -r two", "rm -rf one"]
    write_script(monkeypatch, tmp_path, *([bash(command)] for command in commands), "Done.")
    async with serving(tmp_path) as server, server.client() as client:
        (server.folder / "one").mkdir()
        (server.folder / "two").mkdir()
        session = await client.start(server.folder)
        await client.send("input", text="Go.")
        assert await prompted(client, "rm -r one") == ["rm -r one", "rm -r two", "rm -rf one"]
        assert client.of("error") == []
        record = (await server.bridge.sessions.get(session)).record
    rule = {"toolName": "Bash", "ruleContent": "rm -r one"}
    assert record.rules == [{"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}]
    assert not (server.folder / "one").exists()
    assert (server.folder / "two").exists()


async def test_call_without_a_rule_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    commands = ["rm *.tmp", "rm *.tmp", "rm *.txt", "rm *.tmp"]
    write_script(monkeypatch, tmp_path, *([bash(command)] for command in commands), "Done.")
    async with serving(tmp_path) as server, server.client() as client, server.client() as other:
        session = await client.start(server.folder)
        await other.ask("get_history", "history", sessionId=session)
        await client.send("input", text="Go.")
        assert await prompted(client, "rm *.tmp") == ["rm *.tmp", "rm *.txt"]
        assert client.of("error") == []
        await other.until("result")
        resolved = [one["by"] for one in other.of("system") if one["subtype"] == "permission_resolved"]
        assert resolved == ["phone"] * 4
        assert [one["input"]["command"] for one in other.of("permission_request")] == commands
        assert (await server.bridge.sessions.get(session)).record.rules == []


async def test_remembered_call_is_asked_again_by_the_next_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [bash("rm *.tmp")], "Done.", [bash("rm *.tmp")], "Done.")
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start(server.folder)
        await client.send("input", text="Go.")
        assert await prompted(client, "rm *.tmp") == ["rm *.tmp"]
        await client.send("stop_session", sessionId=session)
        await client.until("result", subtype="stopped")
        await client.send("input", text="Again.", sessionId=session)
        assert await prompted(client, "") == ["rm *.tmp"]


async def test_user_question_is_allowed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asks = [calls("AskUserQuestion", questions=[QUESTION])]
    write_script(monkeypatch, tmp_path, asks, asks, "Done.")
    async with serving(tmp_path) as server, server.client() as client:
        await client.start(server.folder)
        await client.send("input", text="Go.")
        for _ in range(2):
            asked = await client.until("permission_request")
            await client.send("approve_always", id=asked["toolUseId"])
            assert (await client.until("error"))["errorCode"] == "allowed_once"
        await client.until("result")


@pytest.mark.parametrize("fields", [{"behavior": "deny"}, {"behavior": "allow", "input": {"command": "ls"}}])
async def test_remember_needs_the_unchanged_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, object]
):
    write_script(monkeypatch, tmp_path, [bash("rm *.tmp")], "Done.")
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start(server.folder)
        await client.send("input", text="Go.")
        await client.until("permission_request")
        (question,) = (await server.bridge.sessions.get(session)).questions.all()
        answer = {"session": session, "question": question.id, "hash": question.hash, "remember": True, **fields}
        assert (await server.do("answer", **answer))["error"]["code"] == "bad_answer"


async def test_remember_is_refused_for_a_user_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_script(monkeypatch, tmp_path, [calls("AskUserQuestion", questions=[QUESTION])], "Done.")
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start(server.folder)
        await client.send("input", text="Go.")
        await client.until("permission_request")
        (question,) = (await server.bridge.sessions.get(session)).questions.all()
        answer = {"session": session, "question": question.id, "hash": question.hash, "behavior": "allow"}
        assert (await server.do("answer", **answer, remember=True))["error"]["code"] == "bad_answer"
