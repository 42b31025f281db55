"""What an editor sees of a session, through `handrail acp`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.acp.rpc import RpcError
from handrail.testing import Script, hang, http_error, reply, text, thinking, tool_use
from tests.acp.editor import TestEditor, an_editor, choosing

PERMISSION = "session/request_permission"
SHOP = Path(__file__).parents[1] / "interop" / "shop_server.py"
pytestmark = pytest.mark.usefixtures("way")


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
        await editor.until(lambda: editor.of_kind("tool_call_update"))
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


def last_prompt(editor: TestEditor) -> str:
    """What the model got as the newest message of the user."""
    assert editor.api is not None
    return str(editor.api.main_requests[-1].body["messages"][-1])


async def test_linked_and_embedded_files_reach_the_model(tmp_path: Path):
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "linked.txt").write_text("the text of the linked file")
    async with an_editor(folder, Script([reply(text("Read."))])) as editor:
        session = await editor.open()
        link = {"type": "resource_link", "uri": (folder / "linked.txt").as_uri(), "name": "linked.txt"}
        resource = {"uri": "file:///buffer.py", "mimeType": "text/plain", "text": "the text of the buffer"}
        assert await editor.prompt(session, "look", link, {"type": "resource", "resource": resource}) == "end_turn"
        assert "the text of the linked file" in str(editor.api and editor.api.main_requests[-1].body["messages"])
        assert "the text of the buffer" in last_prompt(editor)


async def test_audio_in_a_prompt_is_refused(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([reply(text("Heard."))])) as editor:
        session = await editor.open()
        with pytest.raises(RpcError, match="audio"):
            await editor.prompt(session, {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"})
        with pytest.raises(RpcError, match="empty"):
            await editor.prompt(session, "")
        assert await editor.prompt(session, "text") == "end_turn"


async def test_a_system_prompt_of_the_editor_is_refused(tmp_path: Path):
    if "python_editor" in os.environ.get("HANDRAIL_TEST_EDITOR", ""):
        pytest.skip("the Python SDK lacks system prompts")
    async with an_editor(tmp_path / "w", Script([])) as editor:
        await editor.initialize()
        given = {"mode": "append", "content": [{"type": "text", "text": "Be brief."}]}
        with pytest.raises(RpcError, match="a system prompt of the editor is not supported"):
            await editor.peer.request(
                "session/new", {"cwd": str(editor.folder), "mcpServers": [], "systemPrompt": given}
            )


async def test_the_model_is_a_configuration_option(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([reply(text("Here."))])) as editor:
        await editor.initialize()
        opened = await editor.peer.request("session/new", {"cwd": str(editor.folder), "mcpServers": []})
        session, (option,) = opened["sessionId"], opened["configOptions"]
        values = [choice["value"] for choice in option["options"]]
        assert (option["id"], option["currentValue"] in values) == ("model", True)
        wanted = next(value for value in values if value != option["currentValue"])
        request = {"sessionId": session, "configId": "model", "value": wanted}
        changed = await editor.peer.request("session/set_config_option", request)
        assert changed["configOptions"][0]["currentValue"] == wanted
        with pytest.raises(RpcError, match="not one of those"):
            await editor.peer.request("session/set_config_option", {**request, "value": "no-such-model"})
        assert await editor.prompt(session, "hello") == "end_turn"


async def test_a_resumed_session_continues_without_its_history(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([reply(text("One.")), reply(text("Two."))])) as editor:
        session = await editor.open()
        await editor.prompt(session, "first")
        await editor.peer.request("session/close", {"sessionId": session})
        editor.updates.clear()
        await editor.resume(session)
        with pytest.raises(RpcError, match="open already"):
            await editor.resume(session)
        assert await editor.prompt(session, "second") == "end_turn"
        assert editor.text() == "Two."
        assert "One." in str(editor.api and editor.api.main_requests[-1].body["messages"])


async def test_cancel_before_the_model_answers(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([reply(hang()), reply(text("Again."))])) as editor:
        session = await editor.open()
        running = asyncio.create_task(editor.prompt(session, "go"))
        assert editor.api is not None
        await editor.api.hanging()
        await editor.peer.notify("session/cancel", {"sessionId": session})
        assert await running == "cancelled"
        assert await editor.prompt(session, "again") == "end_turn"


async def test_cancel_while_a_command_runs(tmp_path: Path):
    folder = tmp_path / "w"
    folder.mkdir()
    os.mkfifo(folder / "begun")
    os.mkfifo(folder / "never")
    script = Script([reply(tool_use("Bash", command="echo now > begun; cat never")), reply(text("Again."))])
    async with an_editor(folder, script) as editor:
        editor.answers[PERMISSION] = choosing("allow")
        session = await editor.open()
        running = asyncio.create_task(editor.prompt(session, "go"))
        assert await asyncio.to_thread((folder / "begun").read_text) == "now\n"
        await editor.peer.notify("session/cancel", {"sessionId": session})
        assert await running == "cancelled"
        assert editor.of_kind("tool_call_update")[-1]["status"] == "failed"
        assert await editor.prompt(session, "again") == "end_turn"


async def test_cancel_without_a_prompt_changes_nothing(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([reply(text("Here."))])) as editor:
        session = await editor.open()
        await editor.peer.notify("session/cancel", {"sessionId": session})
        await editor.peer.notify("session/cancel", {"sessionId": "unknown"})
        assert await editor.prompt(session, "hello") == "end_turn"


async def test_two_prompts_at_once_are_both_answered(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([reply(text("One.")), reply(text("Two."))])) as editor:
        session = await editor.open()
        ends = await asyncio.gather(editor.prompt(session, "first"), editor.prompt(session, "second"))
        assert ends == ["end_turn", "end_turn"]
        assert "One." in editor.text()


async def test_a_refusal_of_the_model_ends_the_prompt_with_it(tmp_path: Path):
    script = Script([reply(text("Endless"), stop_reason="refusal", times=9)])
    async with an_editor(tmp_path / "w", script) as editor:
        session = await editor.open()
        assert await editor.prompt(session, "go") == "refusal"


async def test_a_command_is_shown_in_a_terminal_of_the_editor(tmp_path: Path):
    script = Script([reply(tool_use("Bash", command="echo shown")), reply(text("Done."))])
    async with an_editor(tmp_path / "w", script) as editor:
        editor.answers[PERMISSION] = choosing("allow")
        session = await editor.open(_meta={"terminal_output": True})
        assert await editor.prompt(session, "go") == "end_turn"
        (call,) = editor.of_kind("tool_call")
        assert call["content"] == [{"type": "terminal", "terminalId": call["toolCallId"]}]
        shown = [one["_meta"] for one in editor.of_kind("tool_call_update") if one.get("_meta")]
        assert shown[0]["terminal_output"]["data"].strip() == "shown"
        assert shown[-1]["terminal_exit"]["exit_code"] == 0


async def test_the_answer_to_a_prompt_has_its_tokens(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([reply(text("Hello."))])) as editor:
        session = await editor.open()
        block = {"type": "text", "text": "hello"}
        answer = await editor.peer.request("session/prompt", {"sessionId": session, "prompt": [block]})
        assert answer["usage"]["totalTokens"] >= answer["usage"]["outputTokens"] > 0


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def test_an_image_reaches_the_model(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([reply(text("A dot."))])) as editor:
        session = await editor.open()
        image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        assert await editor.prompt(session, "what is it?", image) == "end_turn"
        assert "image/png" in last_prompt(editor)


async def test_each_kind_of_tool_is_shown_with_its_kind(tmp_path: Path):
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    calls = {
        "read": tool_use("Read", file_path=str(folder / "a.txt")),
        "search": tool_use("Grep", pattern="one", path=str(folder)),
        "edit": tool_use("Write", file_path=str(folder / "b.txt"), content="two\n"),
        "execute": tool_use("Bash", command="echo done"),
        "fetch": tool_use("WebFetch", url="http://127.0.0.1:1/", prompt="what is there?"),
        "think": tool_use("TaskCreate", subject="Walk", description="around"),
        "other": tool_use("from_tomorrow", given=1),
    }
    script = Script([*map(reply, calls.values()), reply(text("Done."))])
    async with an_editor(folder, script, "--model", "claude-sonnet-4-5") as editor:
        editor.answers[PERMISSION] = choosing("allow")
        session = await editor.open()
        assert await editor.prompt(session, "go") == "end_turn"
        assert [call["kind"] for call in editor.of_kind("tool_call")] == list(calls)
        ends = {one["toolCallId"]: one["status"] for one in editor.of_kind("tool_call_update")}
        ended = {call["kind"]: ends[call["toolCallId"]] for call in editor.of_kind("tool_call")}
        assert ended.keys() == calls.keys()
        assert [ended[kind] for kind in ("read", "edit", "execute", "other")] == ["completed"] * 3 + ["failed"]


async def test_two_sessions_of_an_editor_run_at_once(tmp_path: Path):
    script = Script([reply(text("First."), hang()), reply(text("Second."))])
    async with an_editor(tmp_path / "w", script) as editor:
        first = await editor.open()
        opened = await editor.peer.request("session/new", {"cwd": str(editor.folder), "mcpServers": []})
        running = asyncio.create_task(editor.prompt(first, "one"))
        await editor.until(editor.text)
        assert await editor.prompt(opened["sessionId"], "two") == "end_turn"
        await editor.peer.notify("session/cancel", {"sessionId": first})
        assert await running == "cancelled"
        shown = {
            one["sessionId"]: one["update"]["content"]["text"]
            for one in editor.updates
            if one["update"]["sessionUpdate"] == "agent_message_chunk"
        }
        assert shown == {first: "First.", opened["sessionId"]: "Second."}


async def test_cancel_drops_a_queued_prompt_too(tmp_path: Path):
    async with an_editor(tmp_path / "w", Script([reply(text("Busy."), hang()), reply(text("Later."))])) as editor:
        session = await editor.open()
        running = asyncio.create_task(editor.prompt(session, "first"))
        await editor.until(editor.text)
        queued = asyncio.create_task(editor.prompt(session, "second"))
        # It is answered after the prompt was sent, so that the prompt is queued.
        await editor.peer.request("session/set_mode", {"sessionId": session, "modeId": "default"})
        await editor.peer.notify("session/cancel", {"sessionId": session})
        assert await asyncio.gather(running, queued) == ["cancelled", "cancelled"]
        assert await editor.prompt(session, "third") == "end_turn"
        assert editor.text() == "Busy.Later."
        assert "second" not in last_prompt(editor)


async def test_cancel_while_the_model_thinks(tmp_path: Path):
    script = Script([reply(thinking("Let me see."), hang()), reply(text("Again."))])
    async with an_editor(tmp_path / "w", script) as editor:
        session = await editor.open()
        running = asyncio.create_task(editor.prompt(session, "go"))
        await editor.until(lambda: editor.text("agent_thought_chunk"))
        await editor.peer.notify("session/cancel", {"sessionId": session})
        assert await running == "cancelled"
        assert await editor.prompt(session, "again") == "end_turn"
        assert editor.text() == "Again."


async def test_cancel_while_a_form_is_open(tmp_path: Path):
    async def never(_params: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    script = Script([reply(tool_use("AskUserQuestion", **QUESTION)), reply(text("Again."))])
    async with an_editor(tmp_path / "w", script) as editor:
        editor.answers["elicitation/create"] = never
        session = await editor.open(elicitation={"form": {}})
        running = asyncio.create_task(editor.prompt(session, "ask me"))
        await editor.until(lambda: editor.asked)
        await editor.peer.notify("session/cancel", {"sessionId": session})
        assert await running == "cancelled"
        assert await editor.prompt(session, "again") == "end_turn"


async def test_a_retried_request_is_a_notice_and_can_be_cancelled(tmp_path: Path):
    if "python_editor" in os.environ.get("HANDRAIL_TEST_EDITOR", ""):
        pytest.skip("the Python SDK lacks notices")
    overloaded = http_error(529, "overloaded_error", "Overloaded", times=99)
    async with an_editor(tmp_path / "w", Script([overloaded])) as editor:
        session = await editor.open(session={"notices": {}})
        running = asyncio.create_task(editor.prompt(session, "go"))
        await editor.until(lambda: editor.of_kind("notice"))
        assert editor.of_kind("notice")[0]["title"] == "The model request is retried"
        await editor.peer.notify("session/cancel", {"sessionId": session})
        assert await running == "cancelled"


async def test_a_compaction_is_shown_where_the_editor_shows_it(tmp_path: Path):
    if "python_editor" in os.environ.get("HANDRAIL_TEST_EDITOR", ""):
        pytest.skip("the Python SDK lacks updates about compaction")
    script = Script([reply(text("One.")), reply(text("<summary>We said one.</summary>")), reply(text("Two."))])
    async with an_editor(tmp_path / "w", script) as editor:
        session = await editor.open(session={"compaction": {}})
        assert await editor.prompt(session, "one") == "end_turn"
        assert await editor.prompt(session, "/compact") == "end_turn"
        await editor.until(lambda: len(editor.of_kind("compaction_update")) == 2)
        assert [one["status"] for one in editor.of_kind("compaction_update")] == ["in_progress", "completed"]
        assert await editor.prompt(session, "two") == "end_turn"


async def test_an_mcp_server_of_the_editor_is_used_and_asks_with_a_form(tmp_path: Path):
    async def filled(params: dict[str, Any]) -> dict[str, Any]:
        assert params["message"] == "Which size?"
        return {"action": "accept", "content": {"size": "large"}}

    script = Script([reply(tool_use("mcp__shop__order", item="hat")), reply(text("Ordered."))])
    async with an_editor(tmp_path / "w", script) as editor:
        editor.answers = {"elicitation/create": filled, PERMISSION: choosing("allow")}
        await editor.initialize(elicitation={"form": {}})
        shop = {"name": "shop", "command": sys.executable, "args": [str(SHOP)], "env": []}
        opened = await editor.peer.request("session/new", {"cwd": str(editor.folder), "mcpServers": [shop]})
        assert await editor.prompt(opened["sessionId"], "a hat") == "end_turn"
        assert editor.of_kind("tool_call")[0]["title"] == "order (shop)"
        assert "hat: accept large" in str(editor.of_kind("tool_call_update")[-1]["content"])


async def test_files_of_an_additional_folder_are_read_unasked(tmp_path: Path):
    other = tmp_path / "w" / "other"
    (tmp_path / "w" / "project").mkdir(parents=True)
    other.mkdir()
    (other / "a.txt").write_text("from the other folder")
    script = Script([reply(tool_use("Read", file_path=str(other / "a.txt"))), reply(text("Read."))])
    async with an_editor(tmp_path / "w", script) as editor:
        await editor.initialize()
        given = {"cwd": str(editor.folder / "project"), "mcpServers": [], "additionalDirectories": [str(other)]}
        opened = await editor.peer.request("session/new", given)
        assert await editor.prompt(opened["sessionId"], "read it") == "end_turn"
        assert "from the other folder" in str(editor.of_kind("tool_call_update")[-1]["content"])
        assert editor.asked == []


def buffers(folder: Path, **texts: str) -> Any:
    """An editor that has these texts of files, and the saved text of others."""

    async def read(params: dict[str, Any]) -> dict[str, Any]:
        path = Path(params["path"])
        return {"content": texts.get(path.stem) or await asyncio.to_thread(path.read_text)}

    return read


async def test_unsaved_changes_reach_the_model_and_are_not_overwritten(tmp_path: Path, way: str):
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "open.txt").write_text("saved\n")
    (folder / "other.txt").write_text("also saved\n")
    calls = [
        tool_use("Read", file_path=str(folder / "open.txt")),
        tool_use("Edit", file_path=str(folder / "open.txt"), old_string="saved", new_string="changed"),
        tool_use("Read", file_path=str(folder / "other.txt")),
        tool_use("Edit", file_path=str(folder / "other.txt"), old_string="also saved", new_string="changed"),
    ]
    async with an_editor(folder, Script([*map(reply, calls), reply(text("Done."))])) as editor:
        editor.answers["fs/read_text_file"] = buffers(folder, open="typed, not saved")
        editor.answers[PERMISSION] = choosing("allow")
        session = await editor.open(fs={"readTextFile": True})
        assert await editor.prompt(session, "edit them") == "end_turn"
        assert editor.api is not None
        seen = str(editor.api.main_requests[-1].body["messages"])
    changed = (folder / "open.txt").read_text() != "saved\n"
    # The sessions of a server are shared by several clients, so no editor's buffers apply to them.
    assert (changed, "typed, not saved" in seen) == ((False, True) if way == "own" else (True, False))
    assert (folder / "other.txt").read_text() == "changed\n"


@pytest.mark.parametrize(
    ("method", "params", "problem"),
    [
        ("session/new", {"cwd": "relative", "mcpServers": []}, "folder"),
        ("session/new", {"cwd": "/no/such/folder", "mcpServers": []}, "folder"),
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
