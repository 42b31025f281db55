"""ACP agents behind `handrail-acp`: what hosts see of them, and what agents see of hosts."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from handrail import Options, Session
from handrail.conform.lines import kind, of_type
from handrail.testing.scripted_acp_agent import chunk, thought, tool_call, tool_update
from tests.acp.acp_agent import BIN, NAMED, OPTIONS, Stage, asked, blocks, notices

ALLOW = {"can_use_tool": lambda _: {"behavior": "allow"}}
DENY = {"can_use_tool": lambda _: {"behavior": "deny", "message": "not on a Sunday"}}
COMMANDS = {
    "sessionUpdate": "available_commands_update",
    "availableCommands": [{"name": "web", "description": "Search"}],
}
MODES = {
    "currentModeId": "default",
    "availableModes": [
        {"id": "default", "name": "Default"},
        {"id": "plan", "name": "Plan"},
        {"id": "yolo", "name": "Yo"},
    ],
}
MODEL_OPTION = {
    "id": "model",
    "name": "Model",
    "category": "model",
    "type": "select",
    "currentValue": "small",
    "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large", "description": "Slow"}],
}
MAKE = {"toolCallId": "c1", "title": "`touch made.txt`", "kind": "execute", "rawInput": {"command": "touch made.txt"}}


FOLDER = Path(__file__).parents[1] / "interop" / "acp"
AGENT_SIDES = {
    "python": [os.environ.get("HANDRAIL_PYTHON_SDK", ""), str(FOLDER / "python_agent.py")],
    "typescript": ["node", str(FOLDER / "typescript_agent.mjs"), os.environ.get("HANDRAIL_ACP_SDK", "")],
}
"""The agent sides of the official SDKs, which `make interop` puts between `handrail-acp` and the scripted agent."""
NOT_WITH_SDKS = {
    "test_bad_messages_are_refused_and_the_session_lives": "the SDKs cannot send such messages",
    "test_an_invalid_update_is_reported": "the SDKs cannot send such messages",
    "test_a_damaged_message_is_reported": "the SDKs cannot send such messages",
    "test_models_of_older_agents_are_chosen": "the SDKs lack session/set_model",
    "test_a_session_ends_with_its_agent": "the agent is not the process that ends",
    "test_a_system_prompt_is_passed_on": "the Python SDK lacks system prompts",
    "test_tools_that_the_agent_names_are_kept": "the Python SDK lacks names of tools",
}


@pytest.fixture(params=["directly", *(pytest.param(name, marks=pytest.mark.interop) for name in AGENT_SIDES)])
def stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Run each test directly and through each official SDK."""
    side = AGENT_SIDES.get(request.param, [])
    monkeypatch.setenv("HANDRAIL_TEST_ACP_AGENT", shlex.join(side))
    if side and request.node.originalname in NOT_WITH_SDKS:
        pytest.skip(NOT_WITH_SDKS[request.node.originalname])
    return Stage(tmp_path)


async def test_handshake_tells_what_the_agent_offers(stage: Stage):
    session = {"modes": MODES, "configOptions": [MODEL_OPTION, {"id": "x", "type": "boolean", "currentValue": True}]}
    async with stage.host(session=session, opened=[{"update": COMMANDS}]) as host:
        answer = (await host.request("initialize"))["response"]
    assert [command["name"] for command in answer["commands"]] == ["web"]
    assert [(model["value"], model["displayName"]) for model in answer["models"]] == [
        ("small", "Small"),
        ("large", "Large"),
    ]
    assert answer["current_permission_mode"] == "default"


async def test_a_turn_has_the_lines_of_the_cli(stage: Stage):
    steps = [
        thought("I "),
        thought("look."),
        chunk("Loo"),
        chunk("king."),
        tool_call("c1", "`ls`", kind="execute", rawInput={"command": ["ls", "a b"]}),
        tool_update("c1", status="in_progress"),
        tool_update("c1", status="completed", rawOutput={"stdout": "one\n"}),
        chunk("Done."),
        {"stop": "end_turn", "usage": {"totalTokens": 9, "inputTokens": 4, "outputTokens": 5, "cachedReadTokens": 2}},
    ]
    async with stage.host(steps, flags=["--include-partial-messages"]) as host:
        lines = await host.turn("go")
        assert await host.end() == 0
    shown = [kind(line) for line in lines if line["type"] not in ("stream_event",)]
    assert shown == [
        "system/init",
        "assistant/thinking",
        "assistant/text",
        "assistant/tool_use",
        "user/tool_result",
        "assistant/text",
        "result/success",
    ]
    assert blocks(lines, "assistant", "tool_use")[0]["input"] == {"command": "ls 'a b'", "description": "ls"}
    assert of_type(lines, "user")[0]["tool_use_result"]["stdout"] == "one\n"
    result = lines[-1]
    assert (result["result"], result["num_turns"], result["stop_reason"]) == ("Done.", 2, "end_turn")
    assert result["usage"] == {
        "input_tokens": 4,
        "output_tokens": 5,
        "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 0,
    }
    deltas = [line["event"]["delta"] for line in of_type(lines, "stream_event") if "delta" in line["event"]]
    assert [delta["text"] for delta in deltas if delta.get("type") == "text_delta"] == ["Loo", "king.", "Done."]
    starts = [line["event"]["type"] for line in of_type(lines, "stream_event")]
    assert starts.count("message_start") == starts.count("message_stop") == 2
    first = [line["message"]["id"] for line in of_type(lines, "assistant")]
    assert first[0] == first[1] == first[2] != first[3]


def _part(id: str, text: str, kind: str = "message") -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"update": {"sessionUpdate": f"agent_{kind}_chunk", "messageId": id, "content": content}}


async def test_ids_of_the_agent_separate_messages(stage: Stage):
    steps = [_part("t1", "Hm.", "thought"), _part("m1", "One"), _part("m1", "."), _part("m2", "Two.")]
    async with stage.host(
        [*steps, _part("t2", "So.", "thought"), _part("m3", "Three.")], [_part("m3", " late")]
    ) as host:
        lines = await host.turn("go")
        late = await host.turn("again")
    ids = [line["message"]["id"] for line in of_type(lines, "assistant")]
    texts = [
        block.get("text") or block["thinking"]
        for line in of_type(lines, "assistant")
        for block in line["message"]["content"]
    ]
    assert texts == ["Hm.", "One.", "Two.", "So.", "Three."]
    assert [ids.index(id) for id in ids] == [0, 0, 2, 3, 3]
    assert lines[-1]["result"] == "Three."
    assert late[-1]["result"] == ""


async def test_the_sdk_drives_an_agent(stage: Stage):
    call = tool_call("c1", "Read a.txt", kind="read", locations=[{"path": "a.txt"}])
    cli = stage.launcher({"turns": [[call, tool_update("c1", status="completed", rawOutput="text"), chunk("Read.")]]})
    options = Options(cli_path=cli, cwd=stage.project, env={"HOME": str(stage.home)})
    async with asyncio.timeout(60), Session(options) as session:
        answer = await session.ask("read it")
    assert answer.text == "Read."


TOOLS = [
    ({"kind": "execute", "rawInput": {"command": "ls"}}, "Bash", {"command": "ls"}),
    ({"kind": "read", "rawInput": {"absolute_path": "/a"}}, "Read", {"file_path": "/a"}),
    ({"kind": "read", "locations": [{"path": "/a", "line": 3}]}, "Read", {"file_path": "/a"}),
    ({"kind": "read"}, "A_title", {"title": "A title"}),
    ({"kind": "search", "rawInput": {"pattern": "x", "path": "/src"}}, "Grep", {"pattern": "x", "path": "/src"}),
    ({"kind": "search"}, "Grep", {"pattern": "A title"}),
    ({"kind": "fetch", "rawInput": {"url": "https://a.test/b"}}, "WebFetch", {"url": "https://a.test/b"}),
    ({"kind": "fetch", "rawInput": {"query": "cats"}}, "WebSearch", {"query": "cats"}),
    ({"kind": "fetch"}, "A_title", {"title": "A title"}),
    ({"kind": "edit", "rawInput": {"path": "/a", "content": "x"}}, "Write", {"file_path": "/a", "content": "x"}),
    ({"kind": "edit", "content": [{"type": "diff", "path": "/a", "newText": "x"}]}, "Write", {"content": "x"}),
    (
        {"kind": "edit", "content": [{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}]},
        "Edit",
        {"file_path": "/a", "old_string": "x", "new_string": "y"},
    ),
    (
        {"kind": "edit", "rawInput": {"filePath": "/a", "oldString": "x", "newString": "y"}},
        "Edit",
        {"file_path": "/a", "old_string": "x", "new_string": "y"},
    ),
    ({"kind": "edit", "content": [{"type": "diff", "path": "/a", "oldText": "", "newText": "x"}]}, "Write", {}),
    ({"kind": "search", "title": "glob", "rawInput": {"pattern": "*.py"}}, "Glob", {"pattern": "*.py"}),
    (
        {"kind": "other", "title": "todowrite", "rawInput": {"todos": [{"content": "walk", "status": "pending"}]}},
        "TodoWrite",
        {"todos": [{"content": "walk", "status": "pending", "activeForm": "walk"}]},
    ),
    ({"kind": "other", "rawInput": {"todos": ["walk"]}}, "A_title", {"todos": ["walk"]}),
    ({"kind": "delete", "locations": [{"path": "/a"}]}, "Delete", {"paths": ["/a"]}),
    ({"kind": "think", "rawInput": {"n": 1}}, "A_title", {"n": 1}),
]
NAMED_TOOLS = [
    ({"kind": "other", "name": "fly", "rawInput": [1]}, "fly", {"input": [1]}),
    ({"kind": "read", "name": "Glob", "rawInput": {"pattern": "*"}}, "Glob", {"pattern": "*"}),
    ({"kind": "execute", "name": "Read", "rawInput": {"command": "rm x"}}, "Bash", {"command": "rm x"}),
    ({"kind": "other", "name": "mcp__shop__buy", "rawInput": {"n": 2}}, "mcp__shop__buy", {"n": 2}),
]


async def test_calls_become_tools_that_hosts_know(stage: Stage):
    await _check_tools(stage, TOOLS)


async def test_tools_that_the_agent_names_are_kept(stage: Stage):
    await _check_tools(stage, NAMED_TOOLS)


async def _check_tools(stage: Stage, table: list[tuple[dict[str, Any], str, dict[str, Any]]]) -> None:
    fixed = {"title": "A title", "status": "in_progress"}
    calls = [tool_call(f"c{at}", **{**fixed, **row[0]}) for at, row in enumerate(table)]
    async with stage.host(calls) as host:
        lines = await host.turn("go")
    found = blocks(lines, "assistant", "tool_use")
    assert [block["name"] for block in found] == [row[1] for row in table]
    for block, (_, _, wanted) in zip(found, table, strict=True):
        assert wanted.items() <= block["input"].items(), block
    results = blocks(lines, "user", "tool_result")  # the turn ended before any had one
    assert [block["tool_use_id"] for block in results] == [block["id"] for block in found]
    assert all(block["is_error"] for block in results)


async def test_results_have_the_structure_of_their_tool(stage: Stage):
    diff = [{"type": "diff", "path": "/a", "oldText": "x\n", "newText": "y\n"}]
    picture = {"type": "content", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}}
    note = {"type": "content", "content": {"type": "text", "text": "seen"}}
    steps = [
        tool_call("c1", "Edit", kind="edit", content=diff),
        tool_update("c1", status="completed"),
        tool_call("c2", "Read", kind="read", rawInput={"path": "/a"}),
        tool_update("c2", status="completed", content=[note]),
        tool_call("c3", "Look", kind="think", rawInput={"n": 1}),
        tool_update("c3", status="completed", content=[note, picture]),
        tool_call("c4", "Run", kind="execute", rawInput={"command": "false"}),
        tool_update("c4", status="failed", content=[note]),
        tool_call("c4", "Run again", kind="execute", rawInput={"command": "true"}),
        tool_update("c4", status="completed", rawOutput={"exit": 0}),
        tool_call("c5", "Run", kind="execute", rawInput={"command": "false"}),
        tool_update("c5", status="completed", rawOutput={"output": "no", "metadata": {"exit": 1}}),
        tool_call("c6", "Read", kind="read", rawInput={"path": "/a"}),
        tool_update("c6", status="completed", content=[note], rawOutput={"output": "<file>seen</file>"}),
    ]
    async with stage.host(steps) as host:
        lines = await host.turn("go")
    results = [line["tool_use_result"] for line in of_type(lines, "user")]
    assert results[0]["structuredPatch"][0]["lines"] == ["-x", "+y"]
    assert results[1]["file"]["content"] == "seen"
    found = blocks(lines, "user", "tool_result")
    assert [block["type"] for block in found[2]["content"]] == ["text", "image"]
    assert (found[3]["is_error"], found[3]["content"]) == (True, "seen")
    assert found[4]["content"] == '{"exit": 0}'
    assert (found[5]["is_error"], found[5]["content"]) == (True, "no")
    assert (found[6]["content"], results[6]["file"]["content"]) == ("<file>seen</file>", "seen")
    ids = [block["id"] for block in blocks(lines, "assistant", "tool_use")]
    assert ids == [block["tool_use_id"] for block in found]
    assert len(set(ids)) == 7


async def test_a_call_is_announced_when_it_is_described(stage: Stage):
    steps = [
        tool_call("c1", "Terminal", kind="execute", rawInput={}),
        tool_update("c1", title="`make`", rawInput={"command": "make"}),
        tool_update("c1", status="completed", rawOutput="built"),
        tool_call("c2", "Read", kind="read"),
        chunk("Never mind."),
    ]
    async with stage.host(steps) as host:
        lines = await host.turn("go")
    assert [block["input"] for block in blocks(lines, "assistant", "tool_use")] == [
        {"command": "make"},
        {"title": "Read"},
    ]


async def test_a_call_is_not_announced_with_a_part_of_its_input(stage: Stage):
    steps = [
        tool_call("c1", "bash", kind="execute", rawInput={"cwd": "$CWD"}, locations=[{"path": "$CWD"}]),
        tool_update("c1", status="in_progress", title="make it", rawInput={"cwd": "$CWD", "command": "make"}),
        tool_update("c1", status="completed", rawOutput={"output": "built"}),
        tool_call("c2", "task", kind="think", rawInput={}),
        tool_update("c2", status="in_progress", title="look around", rawInput={"prompt": "look"}),
    ]
    async with stage.host(steps) as host:
        lines = await host.turn("go")
    assert [(block["name"], block["input"]) for block in blocks(lines, "assistant", "tool_use")] == [
        ("Bash", {"command": "make", "description": "make it"}),
        ("task", {"prompt": "look"}),
    ]


async def test_a_plan_becomes_todos(stage: Stage):
    def plan(status: str) -> dict[str, Any]:
        entries = [{"content": "walk", "priority": "high", "status": status}]
        return {"update": {"sessionUpdate": "plan", "entries": entries}}

    async with stage.host([plan("pending"), plan("completed"), chunk("Walked.")]) as host:
        lines = await host.turn("go")
    assert [block["name"] for block in blocks(lines, "assistant", "tool_use")] == ["TodoWrite", "TodoWrite"]
    last = of_type(lines, "user")[-1]["tool_use_result"]
    assert [todos[0]["status"] for todos in (last["oldTodos"], last["newTodos"])] == ["pending", "completed"]
    assert lines[-1]["result"] == "Walked."


# Permissions


async def test_the_host_is_asked_and_allows(stage: Stage):
    steps = [
        tool_call(**_announced(MAKE)),
        asked(MAKE, allowed=[tool_update("c1", status="completed"), chunk("Made.")]),
    ]
    async with stage.host(steps, answers=ALLOW) as host:
        lines = await host.turn("go")
    question = of_type(lines, "control_request")[0]["request"]
    assert (question["tool_name"], question["input"]["command"]) == ("Bash", "touch made.txt")
    announced = next(at for at, line in enumerate(lines) if kind(line) == "assistant/tool_use")
    assert announced < lines.index(of_type(lines, "control_request")[0])
    assert stage.received("outcome") == [{"outcome": "selected", "optionId": "yes"}]
    assert (lines[-1]["result"], lines[-1]["permission_denials"]) == ("Made.", [])


async def test_the_host_is_asked_and_denies(stage: Stage):
    steps = [tool_call(**_announced(MAKE)), asked(MAKE, rejected=[tool_update("c1", status="failed"), chunk("I see.")])]
    async with stage.host(steps, answers=DENY) as host:
        lines = await host.turn("go")
    assert stage.received("outcome") == [{"outcome": "selected", "optionId": "no"}]
    assert [block["content"] for block in blocks(lines, "user", "tool_result")] == ["not on a Sunday"]
    assert [denial["tool_name"] for denial in lines[-1]["permission_denials"]] == ["Bash"]
    assert lines[-1]["result"] == "I see."


async def test_a_denial_with_interrupt_ends_the_turn(stage: Stage):
    answers = {"can_use_tool": lambda _: {"behavior": "deny", "message": "stop", "interrupt": True}}
    steps = [asked(MAKE, cancelled=[{"cancel": True}, {"stop": "cancelled"}])]
    async with stage.host(steps, answers=answers) as host:
        result = (await host.turn("go"))[-1]
        assert (result["subtype"], result["terminal_reason"]) == ("error_during_execution", "aborted_tools")
        assert (await host.turn("again"))[-1]["result"] == "again"


async def test_another_input_cannot_be_allowed(stage: Stage):
    answers = {"can_use_tool": lambda _: {"behavior": "allow", "updatedInput": {"command": "touch other.txt"}}}
    async with stage.host([asked(MAKE, rejected=[chunk("No.")])], answers=answers) as host:
        lines = await host.turn("go")
    assert stage.received("outcome")[0]["optionId"] == "no"
    assert "another input" in notices(lines)[0]


RULED = [
    (["--allowedTools", "Bash(touch *)"], "yes"),
    (["--disallowedTools", "Bash(touch *)"], "no"),
    (["--permission-mode", "dontAsk"], "no"),
    (["--permission-mode", "bypassPermissions"], "yes"),
]


@pytest.mark.parametrize(("flags", "option"), RULED)
async def test_rules_and_modes_decide_before_the_host(stage: Stage, flags: list[str], option: str):
    async with stage.host([asked(MAKE, allowed=[chunk("Ran.")])], flags=flags) as host:
        lines = await host.turn("go")
    assert of_type(lines, "control_request") == []
    assert stage.received("outcome")[0]["optionId"] == option
    assert len(of_type(lines, "system", "permission_denied")) == (option == "no")


VAGUE = [
    {"toolCallId": "c1", "title": "ls", "kind": "execute"},
    {"toolCallId": "c2", "title": "Read", "kind": "other"},
    {"toolCallId": "c3", "title": "Task", "kind": "other", "rawInput": {"prompt": "delete everything"}},
    {"toolCallId": "c4", "title": "mcp__shop__buy", "kind": "other"},
]


async def test_a_call_that_is_only_described_by_its_title_is_asked_about(stage: Stage):
    async with stage.host([asked(call) for call in VAGUE], flags=["--allowedTools", "Bash"], answers=DENY) as host:
        lines = await host.turn("go")
    names = [line["request"]["tool_name"] for line in of_type(lines, "control_request")]
    assert names == ["Bash", "acp_Read", "acp_Task", "acp_mcp__shop__buy"]


def _command(text: str, **fields: Any) -> dict[str, Any]:
    call = {"toolCallId": "c1", "title": text, "kind": "execute", "rawInput": {"command": text}}
    return {**call, **fields}


async def test_a_question_is_about_the_call_as_the_request_describes_it(stage: Stage):
    steps = [
        tool_call(**{**_announced(_command("ls")), "status": "in_progress"}),
        asked(_command("touch made.txt")),
        asked(_command("ls", kind="other", title="/etc", rawInput={"parentDir": "/etc"})),
        asked(_command("ls", toolCallId="c2", rawInput={"cwd": "/"})),
    ]
    async with stage.host(steps, flags=["--allowedTools", "Bash(ls)"], answers=DENY) as host:
        lines = await host.turn("go")
    requests = [line["request"]["input"]["command"] for line in of_type(lines, "control_request")]
    assert requests == [
        "touch made.txt",
        "ls",
    ]  # a request that lacks the command is about the announced one, if there was one
    assert [outcome["optionId"] for outcome in stage.received("outcome")] == ["no", "yes", "no"]
    assert lines[-1]["permission_denials"][0]["tool_input"]["command"] == "touch made.txt"


def _change(*paths: str) -> dict[str, Any]:
    content = [{"type": "diff", "path": path, "newText": "x"} for path in paths]
    return {"toolCallId": "c1", "title": "Change files", "kind": "edit", "content": content}


async def test_every_file_of_a_call_must_be_allowed(stage: Stage):
    files = ["$CWD/a.txt", "$CWD/b.txt"]
    write = {"sessionId": "$SESSION", "path": "$CWD/a.txt", "content": "x"}
    steps = [
        asked(_change(*files)),
        {"request": ["fs/write_text_file", write]},
        asked({**_change("$CWD/a.txt", "$CWD/secret.txt"), "toolCallId": "c2"}),
    ]
    flags = ["--allowedTools", "Edit(a.txt)", "--disallowedTools", "Edit(secret.txt)"]
    async with stage.host(steps, flags=flags, answers=DENY) as host:
        lines = await host.turn("go")
    names = [Path(line["request"]["input"]["file_path"]).name for line in of_type(lines, "control_request")]
    assert names == ["b.txt"]
    assert [outcome["optionId"] for outcome in stage.received("outcome")] == ["no", "no"]


async def test_every_file_that_is_read_must_be_allowed(stage: Stage):
    places = [{"path": "$CWD/a.txt"}, {"path": "/etc/passwd"}]
    async with stage.host(
        [asked({"toolCallId": "c1", "title": "Read files", "kind": "read", "locations": places})], answers=DENY
    ) as host:
        lines = await host.turn("go")
    assert [line["request"]["input"]["file_path"] for line in of_type(lines, "control_request")] == ["/etc/passwd"]
    assert stage.received("outcome")[0]["optionId"] == "no"


async def test_an_interrupt_ends_a_turn_that_waits_for_the_agent_to_start(stage: Stage):
    async with stage.host(hangs=["session/new"]) as host:
        await host.prompt("go")
        await host.request("interrupt")
        result = await host.result()
    assert result["terminal_reason"] == "aborted_streaming"


async def test_a_rule_of_an_answer_decides_the_next_request(stage: Stage):
    rule = {"toolName": "Bash", "ruleContent": "touch *"}
    update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    answers = {"can_use_tool": lambda _: {"behavior": "allow", "updatedPermissions": [update]}}
    steps = [asked(MAKE), asked({**MAKE, "toolCallId": "c2"})]
    async with stage.host(steps, answers=answers) as host:
        lines = await host.turn("go")
    assert len(of_type(lines, "control_request")) == 1
    assert [outcome["optionId"] for outcome in stage.received("outcome")] == ["yes", "yes"]


def test_without_anyone_to_ask_a_call_is_rejected(stage: Stage):
    run = _run(stage, {"turns": [[asked(MAKE, rejected=[chunk("Not made.")])]]}, "-p", "go")
    assert (run.returncode, run.stdout.strip()) == (0, "Not made.")


async def test_leaving_plan_mode_uses_the_option_of_the_chosen_mode(stage: Stage):
    options = [
        {"optionId": "acceptEdits", "name": "Yes, and accept edits", "kind": "allow_always"},
        {"optionId": "default", "name": "Yes", "kind": "allow_once"},
        {"optionId": "plan", "name": "No", "kind": "reject_once"},
    ]
    call = {"toolCallId": "c1", "title": "Ready?", "kind": "switch_mode", "rawInput": {"plan": "1. Walk"}}
    accept = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    answers = {"can_use_tool": lambda _: {"behavior": "allow", "updatedPermissions": [accept]}}
    async with stage.host([{"ask": {"toolCall": call, "options": options}}], answers=answers) as host:
        lines = await host.turn("go")
    assert of_type(lines, "control_request")[0]["request"]["tool_name"] == "ExitPlanMode"
    assert stage.received("outcome")[0]["optionId"] == "acceptEdits"


# Interrupts, modes, models


async def test_an_interrupt_cancels_the_turn(stage: Stage):
    async with stage.host([chunk("One"), {"cancel": True}, chunk(" two"), {"stop": "cancelled"}]) as host:
        await host.prompt("go")
        await host.wait_for("the first text", lambda line: kind(line) == "system/init")
        answer = await host.request("interrupt")
        result = await host.result()
        assert answer["response"]["still_queued"] == []
        assert (result["terminal_reason"], result["is_error"]) == ("aborted_streaming", True)
        assert (await host.turn("again"))[-1]["result"] == "again"
        assert await host.end() == 0
    assert len(stage.received("session/cancel")) == 1


async def test_an_interrupt_withdraws_a_question(stage: Stage):
    async with stage.host([asked(MAKE, cancelled=[{"stop": "cancelled"}])]) as host:
        await host.prompt("go")
        question = await host.next_request()
        await host.request("interrupt")
        result = await host.result()
    assert result["terminal_reason"] == "aborted_tools"
    withdrawn = [line["request_id"] for line in of_type(host.lines, "control_cancel_request")]
    assert withdrawn == [question["request_id"]]
    assert stage.received("outcome") == [{"outcome": "cancelled"}]


async def test_calls_that_an_interrupt_ended_were_interrupted(stage: Stage):
    failed = [{"cancel": True}, tool_update("c1", status="failed"), {"stop": "cancelled"}]
    async with stage.host([tool_call(**_announced(MAKE)), *failed]) as host:
        await host.prompt("go")
        await host.wait_for("the call", lambda line: kind(line) == "assistant/tool_use")
        await host.request("interrupt")
        assert (await host.result())["terminal_reason"] == "aborted_tools"


async def test_modes_of_the_agent_are_chosen(stage: Stage):
    async with stage.host(session={"modes": MODES}, flags=["--permission-mode", "plan"]) as host:
        assert of_type(await host.turn("go"), "system", "init")[0]["permissionMode"] == "plan"
        for mode in ("acceptEdits", "yolo"):
            answer = await host.request("set_permission_mode", mode=mode)
            assert answer["response"]["mode"] == mode
        refused = await host.request("set_permission_mode", mode="unknown")
        bypass = await host.request("set_permission_mode", mode="bypassPermissions")
    assert [chosen["modeId"] for chosen in stage.received("session/set_mode")] == ["plan", "default", "yolo"]
    assert refused["error"] == ("set_permission_mode: Scripted lacks the mode 'unknown'; it offers default, plan, yolo")
    assert (refused["error_code"], bypass["error_code"]) == ("invalid_mode", "bypass_not_launched")


async def test_a_mode_that_the_agent_chose_is_reported_and_loosens_nothing(stage: Stage):
    change = {"update": {"sessionUpdate": "current_mode_update", "currentModeId": "bypassPermissions"}}
    async with stage.host([change, asked(MAKE)], answers=DENY, session={"modes": MODES}) as host:
        lines = await host.turn("go")
    assert [line["permissionMode"] for line in of_type(lines, "system", "status")] == ["bypassPermissions"]
    assert stage.received("outcome")[0]["optionId"] == "no"


async def test_models_of_the_agent_are_chosen(stage: Stage):
    async with stage.host(session={"configOptions": [MODEL_OPTION]}, flags=["--model", "large"]) as host:
        assert of_type(await host.turn("go"), "system", "init")[0]["model"] == "large"
        assert (await host.request("set_model", model="small"))["response"]["model"] == "small"
        refused = await host.request("set_model", model="huge")
        listed = (await host.request("list_models"))["response"]["models"]
    assert [chosen["value"] for chosen in stage.received("session/set_config_option")] == ["large", "small"]
    assert refused["error"] == "set_model: Scripted lacks the model 'huge'; it offers small, large"
    assert [model["value"] for model in listed] == ["small", "large"]


async def test_models_of_older_agents_are_chosen(stage: Stage):
    models = {"currentModelId": "a", "availableModels": [{"modelId": "a", "name": "A"}, {"modelId": "b", "name": "B"}]}
    async with stage.host(session={"models": models}) as host:
        assert (await host.request("set_model", model="b"))["response"]["model"] == "b"
    assert stage.received("session/set_model")[0]["modelId"] == "b"


LACKING = [
    (["--model", "x"], {}, "Scripted offers no choice of models"),
    (["--permission-mode", "plan"], {}, "Scripted lacks the mode 'plan'; it offers no modes"),
    (["--add-dir", "/tmp"], {}, "it lacks sessionCapabilities.additionalDirectories"),
    (["--system-prompt", "Be brief."], {}, "it lacks sessionCapabilities.systemPrompt"),
    (["--resume", "6b1d3a8e-0000-4000-8000-000000000001"], {}, "it lacks loadSession"),
    (
        ["--mcp-config", '{"mcpServers": {"shop": {"type": "http", "url": "https://shop.test"}}}'],
        {},
        "Scripted cannot use the MCP server shop: it lacks the type http",
    ),
]


@pytest.mark.parametrize(("flags", "script", "error"), LACKING)
async def test_what_the_agent_lacks_is_refused_by_name(stage: Stage, flags: list[str], script: Any, error: str):
    async with stage.host(flags=flags, **script) as host:
        await host.prompt("go")
        result = await host.result()
        assert await host.end() == 1
    assert result["is_error"]
    assert error in result["errors"][0]


async def test_what_the_agent_has_is_passed_on(stage: Stage):
    can = {
        "promptCapabilities": {"image": True, "embeddedContext": True},
        "mcpCapabilities": {"http": True},
        "sessionCapabilities": {"additionalDirectories": {}},
    }
    servers = {"shop": {"type": "http", "url": "https://shop.test"}, "desk": {"command": "desk", "env": {"A": "b"}}}
    flags = ["--add-dir", str(stage.home), "--mcp-config", json.dumps({"mcpServers": servers})]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    page = {"type": "document", "source": {"type": "text", "data": "A page"}}
    async with stage.host(flags=flags, initialize={**NAMED, "agentCapabilities": can}) as host:
        await host.turn([{"type": "text", "text": "look"}, image, page])
    opened = stage.received("session/new")[0]
    assert opened["cwd"] == str(stage.project)
    assert opened["additionalDirectories"] == [str(stage.home)]
    assert opened["mcpServers"] == [
        {"name": "shop", "type": "http", "url": "https://shop.test", "headers": []},
        {"name": "desk", "command": "desk", "args": [], "env": [{"name": "A", "value": "b"}]},
    ]
    assert [block["type"] for block in stage.received("session/prompt")[0]["prompt"]] == ["text", "image", "resource"]


async def test_a_system_prompt_is_passed_on(stage: Stage):
    can = {**NAMED, "agentCapabilities": {"sessionCapabilities": {"systemPrompt": {"mode": {"override": {}}}}}}
    async with stage.host(initialize=can) as host:
        await host.request("initialize", systemPrompt=["Be brief."])
        await host.turn("go")
        late = await host.request("initialize", systemPrompt=["Be long."])
    prompt = stage.received("session/new")[0]["systemPrompt"]
    assert (prompt["mode"], prompt["content"][0]["text"]) == ("override", "Be brief.")
    assert "must come before the first prompt" in late["error"]


async def test_a_picture_that_the_agent_cannot_take_is_refused(stage: Stage):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    async with stage.host() as host:
        result = (await host.turn([image]))[-1]
        assert (result["is_error"], result["result"]) == (
            True,
            "Scripted takes no pictures in prompts (it lacks promptCapabilities.image)",
        )
        assert (await host.turn("go"))[-1]["result"] == "go"


# Sessions


OWN = "7a1f5c1e-0000-4000-8000-000000000001"
LOADS = {"agentCapabilities": {"loadSession": True}, **NAMED}


async def test_a_session_is_resumed_under_its_own_id(stage: Stage):
    async with stage.host(flags=["--session-id", OWN]) as host:
        assert (await host.turn("one"))[-1]["session_id"] == OWN
        await host.end()
    history = [{"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "old"}}}]
    async with stage.host(flags=["--resume", OWN], initialize=LOADS, history=history) as host:
        lines = await host.turn("two")
    assert (lines[-1]["session_id"], lines[-1]["result"]) == (OWN, "two")
    assert "old" not in json.dumps(lines)
    assert stage.received("session/load")[0]["sessionId"].startswith("agent-")


async def test_a_session_is_continued_or_forked_where_the_agent_can(stage: Stage):
    async with stage.host() as host:
        first = (await host.turn("one"))[-1]["session_id"]
        await host.end()
    can = {**NAMED, "agentCapabilities": {"sessionCapabilities": {"resume": {}, "fork": {}}}}
    async with stage.host(flags=["--continue"], initialize=can) as host:
        assert (await host.turn("two"))[-1]["session_id"] == first
        await host.end()
    async with stage.host(flags=["--resume", first, "--fork-session"], initialize=can) as host:
        assert (await host.turn("three"))[-1]["session_id"] != first
    methods = [len(stage.received(f"session/{name}")) for name in ("new", "resume", "fork", "load")]
    assert methods == [1, 1, 1, 0]


async def test_the_newest_session_of_the_agent_is_continued(stage: Stage):
    def listed(id: str, folder: str, day: int) -> dict[str, str]:
        return {"sessionId": id, "cwd": folder, "updatedAt": f"2026-01-0{day}T00:00:00Z"}

    here = str(stage.project)
    pages = [[listed("old", here, 1), listed("other", "/other", 9)], [listed("new", here, 3), listed("mid", here, 2)]]
    can = {**NAMED, "agentCapabilities": {"sessionCapabilities": {"resume": {}, "list": {}}}}
    async with stage.host(flags=["--continue"], initialize=can, pages=pages) as host:
        assert (await host.turn("go"))[-1]["result"] == "go"
    assert [resumed["sessionId"] for resumed in stage.received("session/resume")] == ["new"]


@pytest.mark.parametrize(("can", "pages"), [({"list": {}}, [[]]), ({}, [])])
async def test_without_a_session_to_continue_one_is_opened(stage: Stage, can: dict[str, Any], pages: list[Any]):
    able = {**NAMED, "agentCapabilities": {"sessionCapabilities": {"resume": {}, **can}}}
    async with stage.host(flags=["--continue"], initialize=able, pages=pages) as host:
        assert (await host.turn("go"))[-1]["result"] == "go"
    assert len(stage.received("session/new")) == 1


async def test_an_unknown_or_used_session_is_refused(stage: Stage):
    async with stage.host(flags=["--resume", OWN], initialize=LOADS, unknown=[OWN]) as host:
        await host.prompt("go")
        error = (await host.result())["errors"][0]
        assert error.startswith(f"session {OWN} cannot be continued: Scripted: ")
        assert await host.end() == 1
    async with stage.host(flags=["--session-id", OWN]) as host:
        await host.turn("go")
        await host.end()
    async with stage.host(flags=["--session-id", OWN]) as host:
        assert await host.end() == 1
        assert "already in use" in host.stderr


# Questions of the agent


FORM = {"type": "object", "properties": {"name": {"type": "string", "title": "Your name"}}, "required": ["name"]}


def _elicit(**fields: Any) -> dict[str, Any]:
    return {"request": ["elicitation/create", {"sessionId": "$SESSION", "message": "Who?", **fields}]}


async def test_a_form_of_the_agent_is_shown_and_answered(stage: Stage):
    answers = {"elicitation": lambda _: {"action": "accept", "content": {"name": "Ann"}}}
    async with stage.host([_elicit(mode="form", requestedSchema=FORM)], answers=answers) as host:
        lines = await host.turn("go")
    request = of_type(lines, "control_request")[0]["request"]
    assert request == {
        "subtype": "elicitation",
        "mcp_server_name": "Scripted",
        "message": "Who?",
        "mode": "form",
        "requested_schema": FORM,
    }
    assert json.loads(lines[-1]["result"]) == {"action": "accept", "content": {"name": "Ann"}}
    assert set(stage.received("initialize")[0]["clientCapabilities"]["elicitation"]) == {"form", "url"}


async def test_an_address_of_the_agent_is_shown(stage: Stage):
    answers = {"elicitation": lambda _: {"action": "decline"}}
    async with stage.host([_elicit(mode="url", url="https://a.test/", elicitationId="e1")], answers=answers) as host:
        lines = await host.turn("go")
    request = of_type(lines, "control_request")[0]["request"]
    assert (request["mode"], request["url"], request["elicitation_id"]) == ("url", "https://a.test/", "e1")
    assert json.loads(lines[-1]["result"]) == {"action": "decline"}


async def test_a_host_that_shows_no_forms_declines(stage: Stage):
    async with stage.host([_elicit(mode="form", requestedSchema=FORM)]) as host:
        await host.prompt("go")
        request = await host.next_request("elicitation")
        error = {"subtype": "error", "request_id": request["request_id"], "error": "no such request"}
        await host.send({"type": "control_response", "response": error})
        assert json.loads((await host.result())["result"]) == {"action": "decline"}


async def test_an_interrupt_withdraws_a_form(stage: Stage):
    async with stage.host([_elicit(mode="form", requestedSchema=FORM), {"stop": "cancelled"}]) as host:
        await host.prompt("go")
        request = await host.next_request("elicitation")
        await host.request("interrupt")
        assert (await host.result())["terminal_reason"] == "aborted_streaming"
    withdrawn = [line["request_id"] for line in of_type(host.lines, "control_cancel_request")]
    assert withdrawn == [request["request_id"]]


def test_forms_are_not_offered_without_a_user(stage: Stage):
    assert _run(stage, {}, "-p", "go").stdout == "go\n"
    assert "elicitation" not in stage.received("initialize")[0]["clientCapabilities"]


# Files of the client


async def test_files_are_read_and_written_in_the_project(stage: Stage):
    (stage.project / "note.txt").write_text("one\ntwo\nthree\n")
    ids = {"sessionId": "$SESSION"}
    change = {
        "toolCallId": "c1",
        "title": "Edit",
        "kind": "edit",
        "content": [{"type": "diff", "path": "$CWD/new/a.txt", "newText": "hi"}],
    }
    steps = [
        {"request": ["fs/read_text_file", {**ids, "path": "$CWD/note.txt", "line": 2, "limit": 1}]},
        asked(change),
        {"request": ["fs/write_text_file", {**ids, "path": "$CWD/new/a.txt", "content": "hi"}]},
    ]
    async with stage.host(steps, answers=ALLOW) as host:
        lines = await host.turn("go")
    assert blocks(lines, "assistant", "text")[0]["text"] == '{"content": "two\\n"}'
    assert len(of_type(lines, "control_request")) == 1
    assert (stage.project / "new" / "a.txt").read_text() == "hi"


ESCAPES = [
    "/etc/passwd",
    "$CWD/../outside.txt",
    "$CWD/link/passwd",
    "$CWD/../../../../etc/passwd",
    "relative/../../x",
    "/",
]


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file"])
async def test_paths_outside_of_the_project_are_refused(stage: Stage, method: str):
    (stage.folder / "outside.txt").write_text("outside")
    (stage.project / "link").symlink_to("/etc")
    steps = [
        {"request": [method, {"sessionId": "$SESSION", "path": path, "content": "x"}]} for path in [*ESCAPES, "$CWD/\0"]
    ]
    async with stage.host(steps, answers=ALLOW) as host:
        lines = await host.turn("go")
    text = blocks(lines, "assistant", "text")[0]["text"]
    assert text.count("refused: ") == len(steps)
    refused = "for /etc/passwd, which is not in the working folders of the session"
    assert notices(lines)[0] == f"Scripted sent {method} {refused}"
    assert of_type(lines, "control_request") == []
    assert (stage.folder / "outside.txt").read_text() == "outside"


async def test_a_write_without_permission_is_asked_for(stage: Stage):
    steps = [{"request": ["fs/write_text_file", {"sessionId": "$SESSION", "path": "$CWD/a.txt", "content": "x"}]}]
    async with stage.host(steps, answers=DENY) as host:
        lines = await host.turn("go")
    assert of_type(lines, "control_request")[0]["request"]["tool_name"] == "Write"
    assert not (stage.project / "a.txt").exists()
    assert "not on a Sunday" in lines[-1]["result"]


# Hostile and broken agents


ASK = "session/request_permission"
HOSTILE = [
    {"raw": "not json"},
    {"raw": "[]"},
    {"raw": "a" * 1024, "times": 70 * 1024},
    {"notify": ["session/update", None]},
    {"notify": ["session/update", {"sessionId": "$SESSION", "update": {"sessionUpdate": "tool_call"}}]},
    {"notify": ["session/update", {"sessionId": "other", "update": chunk("other")["update"]}]},
    {"notify": ["no/such", {}]},
    {"update": {"sessionUpdate": "from_tomorrow", "x": 1}},
    tool_call("t", "A kind from tomorrow", kind="from_tomorrow", status="in_progress"),
    {"update": {"sessionUpdate": "plan", "entries": [{"content": 7}]}},
    tool_update("never", status="completed"),
    {
        "request": [
            "session/request_permission",
            {"sessionId": "$SESSION", "toolCall": {"toolCallId": "x"}, "options": []},
        ]
    },
    {"request": ["session/request_permission", {"sessionId": "other", "toolCall": MAKE, "options": OPTIONS}]},
    {"request": ["session/request_permission", {"toolCall": 7}]},
    {"request": ["terminal/create", {"sessionId": "$SESSION", "command": "ls"}]},
    {"request": ["elicitation/create", {"sessionId": "other", "message": "?", "mode": "form"}]},
    {"request": ["elicitation/create", {"requestId": 1, "message": "?", "mode": "form"}]},
    {"request": ["elicitation/create", {"sessionId": "$SESSION", "message": "?", "mode": "from tomorrow"}]},
    {"request": ["elicitation/create", {"sessionId": "$SESSION", "message": "?", "mode": "url", "url": "file:///etc"}]},
    {"request": ["elicitation/create", {"sessionId": "$SESSION", "message": 7}]},
    {
        "request": [
            "elicitation/create",
            {
                "sessionId": "$SESSION",
                "message": "?",
                "requestedSchema": {"properties": {f"field{at}": {"type": "string"} for at in range(101)}},
            },
        ]
    },
]


async def test_bad_messages_are_refused_and_the_session_lives(stage: Stage):
    async with stage.host(*([step, chunk("Fine.")] for step in HOSTILE), answers=ALLOW) as host:
        for step in HOSTILE:
            lines = await host.turn("go")
            assert lines[-1]["result"].endswith("Fine."), step
            assert ("refused: " in lines[-1]["result"]) == ("request" in step), step
        assert of_type(host.lines, "control_request") == []
        assert (await host.turn("again"))[-1]["result"] == "again"
        assert await host.end() == 0


async def test_an_invalid_update_is_reported(stage: Stage):
    async with stage.host([{"update": {"sessionUpdate": "plan", "entries": 7}}] * 9) as host:
        lines = await host.turn("go")
    assert len(notices(lines)) == 3
    assert notices(lines)[0].startswith("Scripted sent an invalid update: ")


async def test_a_damaged_message_is_reported(stage: Stage):
    cut, long = {"raw": '{"jsonrpc": "2.0", "method"'}, {"raw": '{"jsonrpc": "2.0", ' * 64, "times": 10_000}
    async with stage.host([{"raw": "Loaded credentials."}, cut, {"raw": '{"id": {}}'}, long, chunk("Fine.")]) as host:
        lines = await host.turn("go")
    assert notices(lines) == [
        "Scripted sent a damaged message: the line is not JSON",
        "Scripted sent a damaged message: the line is neither a request nor an answer",
        "Scripted sent a damaged message: the line has 12160000 bytes, more than the limit of 8388608",
    ]
    assert lines[-1]["result"] == "Fine."


MEBIBYTE = 1024 * 1024
ENTRY = {"content": "x", "priority": "low", "status": "pending"}
LARGE = {
    "text": [chunk("a" * MEBIBYTE)] * 40,
    "thoughts": [thought("\x01" * MEBIBYTE)] * 8,
    "one chunk": [chunk("a" * 7 * MEBIBYTE)] * 6,
    "updates": [chunk("a")] * 20_000,
    "a plan": [{"update": {"sessionUpdate": "plan", "entries": [ENTRY] * 9999}}],
    "a title": [tool_call("c", "x" * 6 * MEBIBYTE, kind="execute"), tool_update("c", status="completed")],
    "a diff": [
        tool_call("c", "Edit", kind="edit", content=[{"type": "diff", "path": "/a", "newText": "\n" * 3 * MEBIBYTE}]),
        tool_update("c", status="completed"),
    ],
    "an output": [tool_call("c", "Run"), tool_update("c", status="completed", rawOutput='"' * 3 * MEBIBYTE)],
    "calls": [tool_call(f"c{at}", "Run") for at in range(3000)],
}


@pytest.mark.parametrize("large", LARGE)
async def test_large_updates_reach_the_host_and_the_session_lives(stage: Stage, large: str):
    cli = stage.launcher({"turns": [[*LARGE[large], {"stop": "end_turn"}]]})
    options = Options(cli_path=cli, cwd=stage.project, env={"HOME": str(stage.home)}, include_partial_messages=True)
    async with asyncio.timeout(60), Session(options) as session:
        turn = await session.ask("go")
        assert not turn.message.is_error
        assert (await session.ask("again")).text == "again"


async def test_an_agent_that_ends_fails_its_turn(stage: Stage):
    async with stage.host([chunk("One"), {"exit": 3}]) as host:
        await host.prompt("go")
        result = await host.result()
        assert await host.wait() == 1
    assert result["is_error"]
    assert result["result"] == "Scripted has ended (exit code 3): the script says exit"


async def test_a_session_ends_with_its_agent(stage: Stage):
    async with stage.host() as host:
        await host.turn("go")
        agent = int(stage.received("session/prompt")[0]["sessionId"].split("-")[1])
        os.kill(agent, signal.SIGKILL)
        assert await host.wait() == 1
        assert "Scripted has ended" in host.stderr


async def test_an_agent_ends_with_a_killed_session(stage: Stage):
    async with stage.host() as host:
        await host.turn("go")
        agent = int(stage.received("session/prompt")[0]["sessionId"].split("-")[1])
        host.signal(signal.SIGKILL)
        await host.wait()
        async with asyncio.timeout(30):
            await asyncio.to_thread(_wait_for_end, agent)


@pytest.mark.parametrize("stays", [False, True])
async def test_an_agent_that_never_ends_its_turn_is_ended_after_its_host(stage: Stage, stays: bool):
    flags = ["--include-partial-messages"]
    async with stage.host([chunk("One"), {"hang": True}], flags=flags, stays=stays) as host:
        await host.prompt("go")
        await host.wait_for("the turn", lambda line: line["type"] == "stream_event")
        agent = int(stage.received("session/prompt")[0]["sessionId"].split("-")[1])
        assert host.process.stdin
        assert host.process.stdout
        host.process.stdin.close()
        host.process.stdout._transport.close()  # pyright: ignore - the kernel closes both pipes of a host that died
        assert await host.wait() == 141
        async with asyncio.timeout(30):
            await asyncio.to_thread(_wait_for_end, agent)
    assert len(stage.received("session/cancel")) == 1


async def test_the_end_of_the_input_alone_does_not_cancel_a_turn(stage: Stage):
    async with stage.host([chunk("One"), asked(MAKE, allowed=[chunk("Made.")])]) as host:
        await host.prompt("go")
        question = await host.next_request()
        await host.answer(question, {"behavior": "allow"})
        assert await host.end() == 0
        assert (await host.result())["result"] == "Made."
    assert stage.received("session/cancel") == []


async def test_an_error_of_the_agent_is_the_result_of_its_turn(stage: Stage):
    async with stage.host([{"fail": [-32603, "overloaded"]}]) as host:
        result = (await host.turn("go"))[-1]
        assert (result["is_error"], result["result"]) == (True, "Scripted: overloaded")
        assert (await host.turn("again"))[-1]["result"] == "again"


async def test_an_agent_that_wants_a_sign_in_says_so(stage: Stage):
    ways = {**NAMED, "authMethods": [{"id": "web", "name": "Sign in with a browser"}]}
    async with stage.host([{"fail": [-32000, "Authentication required"]}], initialize=ways) as host:
        result = (await host.turn("go"))[-1]
    assert result["result"] == "Scripted is not signed in; sign in with its own command first (Sign in with a browser)"


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["/no/such/agent"], "/no/such/agent: no such executable"),
        (["true"], "true has ended (exit code 0)"),
    ],
)
def test_a_command_that_is_no_agent_is_named(stage: Stage, command: list[str], error: str):
    run = subprocess.run(
        [BIN / "handrail-acp", "-p", "go", "--", *command],
        env=stage.environment,
        cwd=stage.project,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert run.returncode == 1
    assert error in run.stderr
    assert "Traceback" not in run.stderr


# The command line


def _run(stage: Stage, script: dict[str, Any], *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / "handrail-acp", *flags, "--", *stage.command(script)],
        env=stage.environment,
        cwd=stage.project,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def test_one_prompt_prints_text_or_json(stage: Stage):
    script = {"turns": [[chunk("All is "), chunk("well.")]]}
    assert _run(stage, script, "-p", "go").stdout == "All is well.\n"
    assert json.loads(_run(stage, script, "-p", "go", "--output-format", "json").stdout)["result"] == "All is well."


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (["--no-such-flag"], "unknown option '--no-such-flag'"),
        (["--max-turns", "3"], "option '--max-turns' is not supported by handrail-acp: ACP lacks a limit of turns"),
        (["--effort", "high"], "option '--effort' is not supported by handrail-acp: ACP lacks such a setting"),
        (["--tools", "Read"], "option '--tools' is not supported by handrail-acp"),
        (["--permission-prompt-tool", "mcp__a__b"], "must be stdio"),
    ],
)
def test_flags_without_effect_are_refused(stage: Stage, flags: list[str], error: str):
    run = _run(stage, {}, "-p", "go", *flags)
    assert run.returncode == 1
    assert error in run.stderr
    assert stage.received("initialize") == []


def test_the_command_of_the_agent_is_needed(stage: Stage):
    run = subprocess.run([BIN / "handrail-acp", "-p", "go"], env=stage.environment, capture_output=True, text=True)
    assert run.returncode == 1
    assert "name the ACP agent" in run.stderr


async def test_fields_of_the_handshake_that_acp_lacks_are_refused(stage: Stage):
    async with stage.host() as host:
        answer = await host.request("initialize", hooks={"PreToolUse": [{"hookCallbackIds": ["a"]}]})
        assert answer["error"] == "initialize: hooks is not supported by handrail-acp: hooks do not run in ACP agents"
        assert (await host.turn("go"))[-1]["result"] == "go"


async def test_other_requests_are_answered(stage: Stage):
    update = {"sessionUpdate": "usage_update", "used": 50, "size": 200, "cost": {"amount": 0.5, "currency": "USD"}}
    async with stage.host([{"update": update}]) as host:
        assert "has not reported" in (await host.request("get_context_usage"))["error"]
        assert (await host.turn("go"))[-1]["total_cost_usd"] == 0.5
        assert (await host.request("get_context_usage"))["response"]["percentage"] == 25
        assert (await host.request("mcp_status"))["response"]["mcpServers"] == []
        assert (await host.request("rename_session", title="A walk"))["subtype"] == "success"
        assert (await host.system("session_title_changed"))["title"] == "A walk"
        assert (await host.request("fly"))["error_code"] == "unsupported_request"
        assert (await host.request("end_session"))["subtype"] == "success"
        assert await host.wait() == 0


def _wait_for_end(process: int) -> None:
    with suppress(psutil.NoSuchProcess):
        psutil.wait_procs([psutil.Process(process)], timeout=30)
        assert not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE


def _announced(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": call["toolCallId"], **{name: value for name, value in call.items() if name != "toolCallId"}}
