"""OpenCode, a real ACP agent, behind `handrail-acp`, with a scripted model on loopback."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from handrail.conform.lines import kind, of_type
from handrail.testing import Lab, Script, ScriptedMessagesApi, hang, http_error, text, thinking, tool_use
from tests.acp.acp_agent import blocks
from tests.interop import library_server
from tests.interop.opencode import Replies, Shared, command, run_opencode

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("opencode")]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DENY = {"behavior": "deny", "message": "not today"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api() -> AsyncIterator[ScriptedMessagesApi]:
    async with ScriptedMessagesApi() as api:
        yield api


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(api: ScriptedMessagesApi, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shared]:
    """A session for scenarios that only need a turn."""
    lab, replies = Lab(tmp_path_factory.mktemp("opencode")), Replies()
    commands = lab.project / ".opencode" / "command"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("---\ndescription: Greets\n---\nGREETING for $ARGUMENTS\n")
    shared = Shared(lab, api.session(replies), replies)
    flags = ("--include-partial-messages", "--disallowedTools", "Bash(rm *)")
    async with run_opencode(lab, shared.endpoint, *flags, answers={"can_use_tool": shared.asked}, limit=600) as host:
        shared.host = host
        yield shared
        assert await host.end() == 0
    assert lab.leftovers() == []


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def tools(lines: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [(block["name"], block["input"]) for block in blocks(lines, "assistant", "tool_use")]


def results(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return blocks(lines, "user", "tool_result")


# Turns


async def test_the_handshake_lists_models_and_commands(shared: Shared):
    answer = (await shared.host.request("initialize"))["response"]
    assert {"anthropic/scripted", "anthropic/other"} <= {model["value"] for model in answer["models"]}
    assert {"greet", "init"} <= {each["name"] for each in answer["commands"]}


async def test_text_is_streamed(shared: Shared):
    lines = await shared.turn(text("Hello there, friend."))
    deltas = [line["event"]["delta"] for line in of_type(lines, "stream_event") if "delta" in line["event"]]
    streamed = [delta["text"] for delta in deltas if delta.get("type") == "text_delta"]
    assert len(streamed) > 1
    assert "".join(streamed) == lines[-1]["result"] == "Hello there, friend."
    assert lines[-1]["usage"]["input_tokens"] == 100


async def test_a_thought_and_its_text_are_one_message(shared: Shared):
    lines = await shared.turn([thinking("Hm."), text("So.")])
    ids = {line["message"]["id"] for line in of_type(lines, "assistant")}
    assert [kind(line) for line in of_type(lines, "assistant")] == ["assistant/thinking", "assistant/text"]
    assert len(ids) == 1


async def test_the_conversation_continues(shared: Shared):
    await shared.turn(text("Noted."), prompt="the word is walnut")
    await shared.turn(text("Walnut."), prompt="which word?")
    assert "the word is walnut" in json.dumps(shared.last_request["messages"])


async def test_queued_prompts_are_answered_one_after_the_other(shared: Shared):
    shared.says(text("One."), text("Two."))
    await shared.host.prompt("first")
    await shared.host.system("init")  # two prompts that wait together are one turn
    await shared.host.prompt("second")
    assert [(await shared.host.result())["result"] for _ in range(2)] == ["One.", "Two."]


async def test_a_picture_reaches_the_model(shared: Shared):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    await shared.turn(text("A dot."), prompt=[{"type": "text", "text": "What is it?"}, picture])
    sent = shared.last_request["messages"][-1]["content"]
    assert [block["type"] for block in sent if block["type"] == "image"] == ["image"]


async def test_a_document_reaches_the_model(shared: Shared):
    page = {"type": "document", "title": "page.txt", "source": {"type": "text", "data": "PAGETEXT"}}
    await shared.turn(text("Read."), prompt=[{"type": "text", "text": "Read it."}, page])
    assert "PAGETEXT" in json.dumps(shared.last_request["messages"][-1])


async def test_a_command_of_the_agent_runs(shared: Shared):
    lines = await shared.turn(text("Hi Ann."), prompt="/greet Ann")
    assert lines[-1]["result"] == "Hi Ann."
    assert "GREETING for Ann" in json.dumps(shared.last_request["messages"][-1])


async def test_an_error_of_the_model_is_the_result(shared: Shared):
    lines = await shared.turn(http_error(400, message="the model is tired"))
    assert lines[-1]["is_error"]
    assert lines[-1]["result"].startswith("OpenCode: ")
    assert "the model is tired" in lines[-1]["result"]
    assert (await shared.turn(text("Awake.")))[-1]["result"] == "Awake."


async def test_the_context_and_the_cost_are_known(shared: Shared):
    before = (await shared.turn(text("One.")))[-1]["total_cost_usd"]
    after = (await shared.turn(text("Two.")))[-1]["total_cost_usd"]
    assert after > before > 0
    usage = (await shared.host.request("get_context_usage"))["response"]
    assert (usage["maxTokens"], usage["model"]) == (200_000, "anthropic/scripted")


# Tools and permissions


async def test_a_command_is_asked_about_and_runs(shared: Shared):
    lines = await shared.turn(tool_use("bash", command="echo hi > made.txt && echo done"), text("Made."))
    assert [question["input"]["command"] for question in shared.questions] == ["echo hi > made.txt && echo done"]
    assert tools(lines)[0][1]["command"] == "echo hi > made.txt && echo done"
    assert of_type(lines, "user")[0]["tool_use_result"]["stdout"].strip() == "done"
    assert (shared.lab.project / "made.txt").read_text() == "hi\n"


async def test_a_denied_command_does_not_run(shared: Shared):
    lines = await shared.turn(tool_use("bash", command="echo hi > denied.txt"), text("Not made."), answer=DENY)
    assert not (shared.lab.project / "denied.txt").exists()
    assert [result["content"] for result in results(lines)] == ["not today"]
    assert [denial["tool_name"] for denial in lines[-1]["permission_denials"]] == ["Bash"]


async def test_rules_decide_before_the_host(shared: Shared):
    (shared.lab.project / "kept.txt").write_text("kept")
    lines = await shared.turn(tool_use("bash", command="rm kept.txt"), text("Kept."))
    assert shared.questions == []
    assert (shared.lab.project / "kept.txt").exists()
    assert len(of_type(lines, "system", "permission_denied")) == 1


async def test_a_command_that_only_reads_is_not_asked_about(shared: Shared):
    lines = await shared.turn(tool_use("bash", command="ls"), text("Listed."))
    assert shared.questions == []
    assert not results(lines)[0].get("is_error")


async def test_a_rule_of_an_answer_decides_the_next_request(shared: Shared):
    rule = {"toolName": "Bash", "ruleContent": "touch ruled*"}
    update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    await shared.turn(
        tool_use("bash", command="touch ruled1"),
        tool_use("bash", command="touch ruled2"),
        text("Both."),
        answer={"behavior": "allow", "updatedPermissions": [update]},
    )
    assert len(shared.questions) == 1
    assert (shared.lab.project / "ruled2").exists()


async def test_a_file_is_written_and_edited(shared: Shared):
    file = shared.lab.project / "note.txt"
    path = str(file)
    lines = await shared.turn(
        tool_use("write", filePath=path, content="one\ntwo\n"),
        tool_use("edit", filePath=path, oldString="two", newString="three"),
        text("Edited."),
    )
    assert file.read_text() == "one\nthree\n"
    assert tools(lines) == [
        ("Write", {"file_path": path, "content": "one\ntwo\n"}),
        ("Edit", {"file_path": path, "old_string": "two", "new_string": "three"}),
    ]
    assert [(each["tool_name"], each["input"]["file_path"]) for each in shared.questions] == [
        ("Write", path),
        ("Edit", path),
    ]
    patch = of_type(lines, "user")[-1]["tool_use_result"]["structuredPatch"]
    assert [line for line in patch[0]["lines"] if line[0] in "-+"] == ["-two", "+three"]


async def test_a_denied_edit_changes_nothing(shared: Shared):
    path = shared.lab.project / "stays.txt"
    path.write_text("one\n")
    await shared.turn(
        tool_use("read", filePath=str(path)),
        tool_use("edit", filePath=str(path), oldString="one", newString="two"),
        text("Not edited."),
        answer=DENY,
    )
    assert [question["tool_name"] for question in shared.questions] == ["Edit"]
    assert path.read_text() == "one\n"


async def test_a_file_is_read(shared: Shared):
    path = shared.lab.project / "read.txt"
    path.write_text("INSIDE\n")
    lines = await shared.turn(tool_use("read", filePath=str(path)), text("Read."))
    assert tools(lines) == [("Read", {"file_path": str(path)})]
    assert of_type(lines, "user")[0]["tool_use_result"]["file"]["content"] == "INSIDE"
    assert shared.questions == []


async def test_a_file_outside_of_the_project_is_asked_about(shared: Shared):
    outside = shared.lab.outside / "secret.txt"
    outside.write_text("SECRET")
    lines = await shared.turn(tool_use("read", filePath=str(outside)), text("No."), answer=DENY)
    assert [(each["tool_name"], each["input"]["file_path"]) for each in shared.questions] == [("Read", str(outside))]
    assert "SECRET" not in json.dumps(lines)


async def test_todos_are_listed(shared: Shared):
    todos = [{"content": "walk", "status": "pending", "priority": "high"}]
    lines = await shared.turn(tool_use("todowrite", todos=todos), text("Planned."))
    assert [(name, given["todos"][0]["content"]) for name, given in tools(lines)] == [("TodoWrite", "walk")]


async def test_a_fetch_is_asked_about(shared: Shared):
    lines = await shared.turn(tool_use("webfetch", url="http://127.0.0.1:9/x", format="text"), text("No."), answer=DENY)
    assert [(each["tool_name"], each["input"]["url"]) for each in shared.questions] == [
        ("WebFetch", "http://127.0.0.1:9/x")
    ]
    assert results(lines)[0]["is_error"]


async def test_two_calls_of_one_answer_have_their_results(shared: Shared):
    calls = [tool_use("bash", command="echo one"), tool_use("bash", command="echo two")]
    lines = await shared.turn(calls, text("Both."))
    assert sorted(result["content"].strip() for result in results(lines)) == ["one", "two"]
    ids = {block["id"] for block in blocks(lines, "assistant", "tool_use")}
    assert ids == {result["tool_use_id"] for result in results(lines)}


async def test_a_failed_call_is_an_error(shared: Shared):
    lines = await shared.turn(tool_use("read", filePath=str(shared.lab.project / "missing.txt")), text("Missing."))
    assert results(lines)[0]["is_error"]
    assert lines[-1]["result"] == "Missing."


async def test_a_subagent_is_one_call(shared: Shared):
    task = tool_use("task", description="look", prompt="look around", subagent_type="general")
    lines = await shared.turn(task, text("Seen by the subagent."), text("Delegated."))
    assert [name for name, _ in tools(lines)] == ["task"]
    assert "Seen by the subagent." in results(lines)[0]["content"]
    assert lines[-1]["result"] == "Delegated."


# Interrupts, modes, models


async def test_an_interrupt_ends_a_turn(shared: Shared):
    shared.says([text("Begun", unfinished=True), hang()])
    await shared.host.prompt("go")
    await shared.host.wait_for("text", lambda line: line.get("event", {}).get("type") == "content_block_delta")
    await shared.host.request("interrupt")
    result = await shared.host.result()
    assert result["terminal_reason"] == "aborted_streaming"
    assert (await shared.turn(text("Again.")))[-1]["result"] == "Again."


async def test_an_interrupt_withdraws_a_question(shared: Shared):
    shared.says(tool_use("bash", command="touch never.txt"), text("Never."), leave_open=True)
    await shared.host.prompt("go")
    question = await shared.host.next_request()
    await shared.host.request("interrupt")
    assert (await shared.host.result())["terminal_reason"] == "aborted_tools"
    cancelled = [line["request_id"] for line in of_type(shared.host.lines, "control_cancel_request")]
    assert question["request_id"] in cancelled
    assert not (shared.lab.project / "never.txt").exists()
    assert (await shared.turn(text("Again.")))[-1]["result"] == "Again."


async def test_a_denial_with_interrupt_ends_the_turn(shared: Shared):
    lines = await shared.turn(
        tool_use("bash", command="touch never.txt"), text("Never."), answer={**DENY, "interrupt": True}
    )
    assert lines[-1]["terminal_reason"] == "aborted_tools"
    assert (await shared.turn(text("Again.")))[-1]["result"] == "Again."


async def test_models_are_chosen(shared: Shared):
    assert (await shared.host.request("set_model", model="anthropic/other"))["subtype"] == "success"
    lines = await shared.turn(text("Other."))
    assert of_type(lines, "system", "init")[0]["model"] == "anthropic/other"
    assert shared.last_request["model"] == "other"
    refused = await shared.host.request("set_model", model="huge")
    assert refused["error"].startswith("set_model: OpenCode lacks the model 'huge'")
    await shared.host.request("set_model", model="anthropic/scripted")


async def test_modes_are_chosen(shared: Shared):
    assert (await shared.host.request("set_permission_mode", mode="plan"))["response"]["mode"] == "plan"
    await shared.turn(text("Planned."))
    assert "plan" in json.dumps(shared.last_request["messages"][-1]).lower()
    assert (await shared.host.request("set_permission_mode", mode="default"))["response"]["mode"] == "default"
    refused = await shared.host.request("set_permission_mode", mode="fly")
    assert "OpenCode lacks the mode 'fly'; it offers build, plan" in refused["error"]


# Other processes


@pytest.mark.parametrize("fork", [False, True])
async def test_a_session_is_continued(shared: Shared, fork: bool):
    first = (await shared.turn(text("Noted."), prompt="the word is walnut"))[-1]["session_id"]
    shared.says(text("Walnut."))
    flags = ["--fork-session"] if fork else ["--permission-mode", "plan", "--model", "anthropic/other"]
    async with run_opencode(shared.lab, shared.endpoint, "--resume", first, *flags) as host:
        lines = await host.turn("which word?")
        assert await host.end() == 0
    assert (lines[-1]["session_id"] == first) == (not fork)
    assert [block["text"] for block in blocks(lines, "assistant", "text")] == ["Walnut."]
    assert "the word is walnut" in json.dumps(shared.last_request["messages"])
    assert shared.last_request["model"] == ("scripted" if fork else "other")


async def test_one_prompt_prints_its_answer(api: ScriptedMessagesApi, lab: Lab):
    model = api.session(Script.of(text("All is well.")))
    run = await asyncio.to_thread(
        subprocess.run,
        command(lab, "-p", "go"),
        env=lab.environment(model),
        cwd=lab.project,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert (run.returncode, run.stdout) == (0, "All is well.\n")


async def test_a_server_of_the_host_is_used(api: ScriptedMessagesApi, lab: Lab):
    server = {"command": sys.executable, "args": [str(library_server.__file__)]}
    model = api.session(Script.of(tool_use("library_publish"), text("Published.")))
    async with run_opencode(lab, model, "--mcp-config", json.dumps({"mcpServers": {"library": server}})) as host:
        lines = await host.turn("publish")
        assert await host.end() == 0
    assert [name for name, _ in tools(lines)] == ["library_publish"]
    assert not results(lines)[0].get("is_error")


async def test_a_killed_agent_fails_its_turn(api: ScriptedMessagesApi, lab: Lab):
    model = api.session(Script.of([text("Begun", unfinished=True), hang()]))
    async with run_opencode(lab, model) as host:
        await host.prompt("go")
        await model.hanging()
        agent = psutil.Process(host.process.pid).children()[0]
        agent.send_signal(signal.SIGKILL)
        result = await host.result()
        assert await host.wait() == 1
    assert result["is_error"]
    assert result["result"].startswith("OpenCode has ended (")
    assert lab.leftovers() == []


async def test_the_agent_ends_after_its_host(api: ScriptedMessagesApi, lab: Lab):
    model = api.session(Script.of([text("Begun", unfinished=True), hang()]))
    async with run_opencode(lab, model) as host:
        await host.prompt("go")
        await model.hanging()
        assert host.process.stdin
        assert host.process.stdout
        host.process.stdin.close()
        host.process.stdout._transport.close()  # pyright: ignore - the kernel closes both pipes of a host that died
        assert await host.wait() == 141
        await model.dropped()
    assert lab.leftovers() == []
