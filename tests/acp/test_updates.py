"""Messages of the CLI as updates for an editor, for what a scripted session shows rarely."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from handrail.acp.editors.updates import Shows, Updates
from handrail.schema.messages import read_message


def sent(updates: Updates, message: dict[str, Any], *, stored: bool = False) -> list[dict[str, Any]]:
    view = read_message(message["type"], message.get("subtype", ""), json.dumps(message).encode())
    return [msgspec.to_builtins(update) for update in (updates.of_history if stored else updates.of)(view)]


def said(*blocks: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "id": "msg_1", "type": "message", "model": "m", "content": list(blocks)}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, "uuid": "u"}


def used(call: str, text: str, result: Any = None, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": text, **fields}
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "tool_use_result": result or text}


def call(name: str, call: str = "toolu_1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def delta(text: str, parent: str | None = None) -> dict[str, Any]:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": parent, "uuid": "u"}


def test_a_streamed_block_is_not_sent_again():
    updates = Updates("/w")
    assert [update["content"]["text"] for update in sent(updates, delta("Hel")) + sent(updates, delta("lo"))] == [
        "Hel",
        "lo",
    ]
    assert sent(updates, said({"type": "text", "text": "Hello"})) == []
    assert sent(updates, said({"type": "text", "text": "Not streamed"}))[0]["content"]["text"] == "Not streamed"


def test_a_subagent_shows_its_calls_under_the_call_that_started_it():
    updates = Updates("/w")
    assert sent(updates, delta("inner", parent="toolu_1")) == []
    (shown,) = sent(updates, said({"type": "text", "text": "inner"}, call("Read", file_path="/w/a"), parent="toolu_0"))
    assert (shown["title"], shown["_meta"]) == ("Read a", {"handrail/parentToolCallId": "toolu_0"})


def test_a_call_is_announced_once_and_ends_once():
    updates = Updates("/w")
    assert len(sent(updates, said(call("Bash", command="ls")))) == 1
    assert sent(updates, said(call("Bash", command="ls"))) == []
    (ended,) = sent(updates, used("toolu_1", "a\nb"))
    assert (ended["status"], ended["content"][0]["content"]["text"]) == ("completed", "a\nb")
    assert sent(updates, used("toolu_1", "again")) == []
    assert sent(updates, used("toolu_9", "of a call that was not announced")) == []


def test_a_long_output_is_shortened_in_its_middle():
    updates = Updates("/w")
    sent(updates, said(call("Bash", command="ls")))
    (ended,) = sent(updates, used("toolu_1", "a" * 50_000 + "z"))
    text = ended["content"][0]["content"]["text"]
    assert (len(text) < 33_000, text[0], text[-1], "characters are left out" in text) == (True, "a", "z", True)


def test_the_todo_list_is_the_plan():
    updates = Updates("/w")
    sent(updates, said(call("TodoWrite", todos=[])))
    todos = [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]
    _, plan = sent(updates, used("toolu_1", "Todos have been changed", {"oldTodos": [], "newTodos": todos}))
    assert plan["entries"] == [{"content": "Look", "priority": "medium", "status": "in_progress"}]


def test_calls_without_a_result_fail_when_the_turn_ends():
    updates = Updates("/w")
    sent(updates, said(call("Bash", command="sleep 9")))
    assert [update.status for update in updates.unfinished()] == ["failed"]
    assert list(updates.unfinished()) == []


def test_prompts_are_sent_only_from_a_stored_conversation():
    prompt = {"type": "user", "message": {"role": "user", "content": "hello"}, "parent_tool_use_id": None, "uuid": "u"}
    assert sent(Updates("/w"), prompt) == []
    (shown,) = sent(Updates("/w"), prompt, stored=True)
    assert (shown["sessionUpdate"], shown["content"]["text"]) == ("user_message_chunk", "hello")


def test_a_command_is_shown_in_a_terminal_where_the_editor_has_them():
    updates = Updates("/w", shows=Shows(terminals=True))
    (announced,) = sent(updates, said(call("Bash", command="ls")))
    assert announced["content"] == [{"type": "terminal", "terminalId": "toolu_1"}]
    assert announced["_meta"]["terminal_info"]["terminal_id"] == "toolu_1"
    output, ended = sent(updates, used("toolu_1", "a\nb"))
    assert output["_meta"]["terminal_output"] == {"terminal_id": "toolu_1", "data": "a\nb"}
    assert (ended["status"], ended["_meta"]["terminal_exit"]["exit_code"]) == ("completed", 0)


def test_the_exit_code_of_a_command_is_passed_to_its_terminal():
    updates = Updates("/w", shows=Shows(terminals=True))
    sent(updates, said(call("Bash", command="ls /none")))
    output, ended = sent(updates, used("toolu_1", "Exit code 2\nls: no such file", is_error=True))
    assert output["_meta"]["terminal_output"]["data"] == "ls: no such file"
    assert (ended["status"], ended["_meta"]["terminal_exit"]["exit_code"]) == ("failed", 2)


def test_the_output_of_a_running_command_is_sent_as_text_without_terminals():
    updates = Updates("/w")
    sent(updates, said(call("Bash", command="make")))
    progress = {"type": "tool_progress", "tool_use_id": "toolu_1", "tool_name": "Bash", "output": "compiling"}
    (shown,) = sent(updates, progress)
    assert (shown["status"], shown["content"][0]["content"]["text"]) == ("in_progress", "compiling")


def status(**fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "status", "uuid": "u1", **fields}


def test_a_compaction_begins_and_ends_where_the_editor_shows_it():
    updates = Updates("/w", shows=Shows(compaction=True))
    begun, again = sent(updates, status(status="compacting")), sent(updates, status(status="compacting"))
    ended = sent(updates, status(status=None))
    assert ([one["status"] for one in begun], again) == (["in_progress"], [])
    assert [(one["compactionId"], one["status"]) for one in ended] == [("u1", "completed")]
    sent(updates, status(status="compacting"))
    (failed,) = sent(updates, status(status=None, compact_error="no"))
    assert (failed["status"], failed["error"]) == ("failed", "no")
    assert sent(Updates("/w"), status(status="compacting")) == []


def test_a_retried_request_is_a_notice_where_the_editor_shows_them():
    retry = {"type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10, "error": "overloaded"}
    (notice,) = sent(Updates("/w", shows=Shows(notices=True)), retry)
    assert (notice["severity"], notice["description"]) == ("warning", "Attempt 2 of 10")
    assert sent(Updates("/w"), retry) == []


def started(message: str) -> dict[str, Any]:
    return {**delta(""), "event": {"type": "message_start", "message": {"id": message}}}


def block_start() -> dict[str, Any]:
    return {**delta(""), "event": {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}}


def texts(updates: Updates, *messages: dict[str, Any]) -> list[str]:
    return [update["content"]["text"] for message in messages for update in sent(updates, message)]


def test_a_block_that_begins_again_after_a_reconnection_is_continued():
    updates = Updates("/w")
    assert texts(updates, started("msg_1"), block_start(), delta("Hel")) == ["Hel"]
    assert texts(updates, started("msg_1"), block_start(), delta("Hello w"), delta("orld")) == ["lo w", "orld"]
    assert texts(updates, said({"type": "text", "text": "Hello world"})) == []


def test_the_rest_of_a_block_that_was_completed_meanwhile_is_sent():
    updates = Updates("/w")
    texts(updates, started("msg_1"), block_start(), delta("Hel"))
    assert texts(updates, said({"type": "text", "text": "Hello"})) == ["lo"]
    assert texts(updates, started("msg_2"), block_start(), delta("Hello")) == ["Hello"]
