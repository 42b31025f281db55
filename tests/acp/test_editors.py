"""What an editor sees of a session, through `handrail acp`."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from handrail.acp.rpc import RpcError
from handrail.testing import Script, hang, http_error, reply, text, thinking, tool_use
from tests.acp.editor import TestEditor, an_editor, choosing

PERMISSION = "session/request_permission"
FOLDER = Path(__file__).parents[1] / "interop" / "acp"
CLIENT_SIDES = {
    "python": [os.environ.get("HANDRAIL_PYTHON_SDK", ""), str(FOLDER / "python_editor.py")],
    "typescript": ["node", str(FOLDER / "typescript_editor.mjs"), os.environ.get("HANDRAIL_ACP_SDK", "")],
}
"""The client sides of the official SDKs, which `make interop` puts between the tests and `handrail acp`."""


@pytest.fixture(
    autouse=True, params=["directly", *(pytest.param(name, marks=pytest.mark.interop) for name in CLIENT_SIDES)]
)
def client_side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test directly and through each official SDK."""
    monkeypatch.setenv("HANDRAIL_TEST_EDITOR", shlex.join(CLIENT_SIDES.get(request.param, [])))


async def test_initialize_tells_what_is_supported(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([])) as editor:
        answer = await editor.initialize()
    assert answer["protocolVersion"] == 1
    assert answer["agentInfo"]["name"] == "handrail"
    can = answer["agentCapabilities"]
    assert {name for name, supported in can["promptCapabilities"].items() if supported} == {"image", "embeddedContext"}
    assert sorted(can["sessionCapabilities"]) == ["additionalDirectories", "close", "delete", "fork", "list", "resume"]


async def test_text_and_thoughts_arrive_once_and_before_the_end_of_the_prompt(tmp_path: Path):
    script = Script([reply(thinking("Let me see."), text("Hello there, editor."))])
    async with an_editor(tmp_path / "w", script) as editor:
        session = await editor.open()
        assert await editor.prompt(session, "hi") == "end_turn"
        assert editor.text() == "Hello there, editor."
        assert editor.text("agent_thought_chunk") == "Let me see."
        await editor.until(lambda: editor.of_kind("usage_update"))
        assert editor.of_kind("usage_update")[0]["size"] > 0


async def test_commands_of_the_session_are_offered(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([])) as editor:
        await editor.open()
        await editor.until(lambda: editor.of_kind("available_commands_update"))
        names = [command["name"] for command in editor.of_kind("available_commands_update")[0]["availableCommands"]]
    assert "compact" in names


async def test_an_edit_is_announced_asked_about_and_shown_as_a_diff(tmp_path: Path):
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    edit = tool_use("Edit", file_path=str(folder / "a.txt"), old_string="one", new_string="two")
    read = tool_use("Read", file_path=str(folder / "a.txt"))
    async with an_editor(folder, Script([reply(read), reply(edit), reply(text("Done."))])) as editor:
        editor.answers[PERMISSION] = choosing("allow")
        session = await editor.open()
        assert await editor.prompt(session, "edit it") == "end_turn"
        read_call, call = editor.of_kind("tool_call")
        assert (read_call["kind"], read_call["title"]) == ("read", "Read a.txt")
        assert (call["kind"], call["title"], call["status"]) == ("edit", "Edit a.txt", "pending")
        assert call["content"] == [{"type": "diff", "path": str(folder / "a.txt"), "oldText": "one", "newText": "two"}]
        ((_, asked),) = editor.asked
        assert asked["toolCall"]["toolCallId"] == call["toolCallId"]
        assert [option["kind"] for option in asked["options"]] == ["allow_once", "allow_always", "reject_once"]
        assert editor.of_kind("tool_call_update")[-1]["status"] == "completed"
    assert (folder / "a.txt").read_text() == "two\n"


async def test_a_rejected_call_fails_and_nothing_changes(tmp_path: Path):
    write = tool_use("Write", file_path=str(tmp_path / "w" / "b.txt"), content="x")
    async with an_editor(tmp_path / "w", Script([reply(write), reply(text("As you wish."))])) as editor:
        editor.answers[PERMISSION] = choosing("reject")
        session = await editor.open()
        assert await editor.prompt(session, "write it") == "end_turn"
        assert editor.of_kind("tool_call_update")[-1]["status"] == "failed"
    assert not (tmp_path / "w" / "b.txt").exists()


async def test_always_allowing_a_command_asks_once(tmp_path: Path):
    runs = [reply(tool_use("Bash", command="mkdir -p sub")) for _ in range(2)]
    async with an_editor(tmp_path / "w", Script([*runs, reply(text("Done."))])) as editor:
        editor.answers[PERMISSION] = choosing("allow_always")
        session = await editor.open()
        assert await editor.prompt(session, "go") == "end_turn"
        assert [method for method, _ in editor.asked] == [PERMISSION]


async def test_cancel_while_the_model_writes(tmp_path: Path):
    script = Script([reply(text("Wait…"), hang()), reply(text("Again."))])
    async with an_editor(tmp_path / "w", script) as editor:
        session = await editor.open()
        running = asyncio.create_task(editor.prompt(session, "go"))
        await editor.until(editor.text)
        await editor.peer.notify("session/cancel", {"sessionId": session})
        assert await running == "cancelled"
        assert await editor.prompt(session, "again") == "end_turn"
        assert editor.text().endswith("Again.")


async def test_cancel_while_a_question_is_open(tmp_path: Path):
    script = Script([reply(tool_use("Bash", command="mkdir sub")), reply(text("Fine."))])

    async def never(_params: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async with an_editor(tmp_path / "w", script) as editor:
        editor.answers[PERMISSION] = never
        session = await editor.open()
        running = asyncio.create_task(editor.prompt(session, "go"))
        await editor.until(lambda: editor.asked)
        await editor.peer.notify("session/cancel", {"sessionId": session})
        assert await running == "cancelled"
        assert editor.of_kind("tool_call_update")[-1]["status"] == "failed"
    assert not (tmp_path / "w" / "sub").exists()


async def test_a_cancelled_question_ends_the_turn(tmp_path: Path):
    script = Script([reply(tool_use("Bash", command="mkdir sub")), reply(text("Fine."))])

    async def cancelled(_params: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": {"outcome": "cancelled"}}

    async with an_editor(tmp_path / "w", script) as editor:
        editor.answers[PERMISSION] = cancelled
        session = await editor.open()
        assert await editor.prompt(session, "go") == "cancelled"
    assert not (tmp_path / "w" / "sub").exists()


async def test_a_rejected_key_is_an_error_that_asks_to_sign_in(tmp_path: Path):
    script = Script([http_error(401, "authentication_error", "invalid x-api-key", times=9)])
    async with an_editor(tmp_path / "w", script) as editor:
        session = await editor.open()
        with pytest.raises(RpcError) as caught:
            await editor.prompt(session, "go")
    assert caught.value.code == -32000


async def test_a_session_is_listed_loaded_and_deleted(tmp_path: Path):
    script = Script([reply(text("First answer.")), reply(text("Second answer."))])
    async with an_editor(tmp_path / "w", script) as editor:
        session = await editor.open()
        await editor.prompt(session, "the first prompt")
        listed = await editor.peer.request("session/list", {"cwd": str(editor.folder)})
        assert [(item["sessionId"], item["title"]) for item in listed["sessions"]] == [(session, "the first prompt")]
        await editor.peer.request("session/close", {"sessionId": session})
        with pytest.raises(RpcError, match="is not open"):
            await editor.prompt(session, "more")
        editor.updates.clear()
        await editor.peer.request("session/load", {"sessionId": session, "cwd": str(editor.folder), "mcpServers": []})
        await editor.until(lambda: editor.text() == "First answer.")
        assert editor.text("user_message_chunk") == "the first prompt"
        assert await editor.prompt(session, "the second prompt") == "end_turn"
        await editor.peer.request("session/delete", {"sessionId": session})
        listed = await editor.peer.request("session/list", {"cwd": str(editor.folder)})
        assert listed["sessions"] == []


async def test_a_fork_continues_under_another_id(tmp_path: Path):
    script = Script([reply(text("First.")), reply(text("Second."))])
    async with an_editor(tmp_path / "w", script) as editor:
        session = await editor.open()
        await editor.prompt(session, "one")
        forked = await editor.peer.request("session/fork", {"sessionId": session, "cwd": str(editor.folder)})
        assert forked["sessionId"] != session
        assert await editor.prompt(forked["sessionId"], "two") == "end_turn"
        assert editor.updates[-1]["sessionId"] == forked["sessionId"]


async def test_modes_are_offered_and_changed(tmp_path: Path):
    write = tool_use("Write", file_path=str(tmp_path / "w" / "b.txt"), content="x")
    async with an_editor(tmp_path / "w", Script([reply(write), reply(text("Done."))])) as editor:
        await editor.initialize()
        opened = await editor.peer.request("session/new", {"cwd": str(editor.folder), "mcpServers": []})
        offered = [mode["id"] for mode in opened["modes"]["availableModes"]]
        assert (opened["modes"]["currentModeId"], offered) == ("default", ["default", "acceptEdits", "plan", "dontAsk"])
        session = opened["sessionId"]
        await editor.peer.request("session/set_mode", {"sessionId": session, "modeId": "acceptEdits"})
        assert await editor.prompt(session, "write") == "end_turn"
        with pytest.raises(RpcError, match="bypassPermissions"):
            await editor.peer.request("session/set_mode", {"sessionId": session, "modeId": "bypassPermissions"})
    assert editor.asked == []
    assert (tmp_path / "w" / "b.txt").read_text() == "x"


async def test_a_plan_is_approved_and_changes_the_mode(tmp_path: Path):
    script = Script([reply(tool_use("ExitPlanMode", plan="1. Look\n2. Change")), reply(text("On it."))])
    async with an_editor(tmp_path / "w", script, "--permission-mode", "plan") as editor:
        editor.answers[PERMISSION] = choosing("acceptEdits")
        session = await editor.open()
        assert await editor.prompt(session, "plan it") == "end_turn"
        ((_, asked),) = editor.asked
        assert [option["name"] for option in asked["options"]] == [
            "Yes, and accept edits",
            "Yes, and ask before each edit",
            "No, keep planning",
        ]
        await editor.until(lambda: editor.of_kind("current_mode_update"))
        assert editor.of_kind("current_mode_update")[-1]["currentModeId"] == "acceptEdits"


QUESTION = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}],
            "multiSelect": False,
        }
    ]
}


async def test_a_question_of_the_model_is_a_form_where_the_editor_has_forms(tmp_path: Path):
    async def filled(params: dict[str, Any]) -> dict[str, Any]:
        (name,) = params["requestedSchema"]["properties"]
        return {"action": "accept", "content": {name: "Blue"}}

    script = Script([reply(tool_use("AskUserQuestion", **QUESTION)), reply(text("Blue it is."))])
    async with an_editor(tmp_path / "w", script) as editor:
        editor.answers["elicitation/create"] = filled
        session = await editor.open(elicitation={"form": {}})
        assert await editor.prompt(session, "ask me") == "end_turn"
        assert "Blue" in str(editor.of_kind("tool_call_update")[-1]["content"])


async def test_a_question_of_the_model_is_a_choice_where_the_editor_has_no_forms(tmp_path: Path):
    script = Script([reply(tool_use("AskUserQuestion", **QUESTION)), reply(text("Blue it is."))])
    async with an_editor(tmp_path / "w", script) as editor:
        editor.answers[PERMISSION] = choosing("1")
        session = await editor.open()
        assert await editor.prompt(session, "ask me") == "end_turn"
        assert editor.asked[0][1]["toolCall"]["title"] == "Which colour?"
        assert "Blue" in str(editor.of_kind("tool_call_update")[-1]["content"])


async def test_the_tasks_of_the_model_are_the_plan_of_the_editor(tmp_path: Path):
    calls = [
        tool_use("TaskCreate", subject="Look around", description="everywhere"),
        tool_use("TaskUpdate", taskId="1", status="completed"),
        tool_use("TaskUpdate", taskId="1", status="deleted"),
    ]
    script = Script([*map(reply, calls), reply(text("Done."))])
    async with an_editor(tmp_path / "w", script, "--model", "claude-sonnet-4-5") as editor:
        session = await editor.open()
        assert await editor.prompt(session, "plan") == "end_turn"
        assert plans(editor) == [[("Look around", "pending")], [("Look around", "completed")], []]


def plans(editor: TestEditor) -> list[list[tuple[str, str]]]:
    return [[(entry["content"], entry["status"]) for entry in plan["entries"]] for plan in editor.of_kind("plan")]


@pytest.mark.parametrize(
    ("method", "params", "problem"),
    [
        ("session/new", {"cwd": "relative", "mcpServers": []}, "absolute path of a folder"),
        ("session/new", {"cwd": "/no/such/folder", "mcpServers": []}, "absolute path of a folder"),
        ("session/new", {"mcpServers": []}, "cwd"),
        ("session/new", None, "cwd"),
        ("session/list", {"cursor": "later"}, "is not one that session/list returned"),
        ("session/prompt", {"sessionId": "x", "prompt": []}, "is not open"),
        ("session/prompt", {"sessionId": 7, "prompt": []}, "sessionId"),
        ("session/load", {"sessionId": "../../etc", "cwd": "/", "mcpServers": []}, "session"),
        ("session/load", {"sessionId": "0" * 36, "cwd": "/", "mcpServers": []}, "session"),
        ("authenticate", {"methodId": "x"}, "sign in with `claude`"),
        ("no/such", {}, "is not supported"),
    ],
)
async def test_a_bad_request_is_refused_and_the_connection_lives(
    tmp_path: Path, method: str, params: Any, problem: str
):
    async with an_editor(tmp_path / "w", Script([])) as editor:
        await editor.initialize()
        with pytest.raises(RpcError, match=problem):
            await editor.peer.request(method, params)
        assert (await editor.peer.request("session/list", {}))["sessions"] == []
