"""Hooks around the questions of MCP servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.mcp.servers import child
from tests.agent.stage import hooks_for, stage

JsonObject = dict[str, Any]
ALLOW_ALL = "--dangerously-skip-permissions"
ASKS = """
def called(message):
    global call
    call = message
    send({"id": 900, "method": "elicitation/create", "params": {"message": "Who?",
          "requestedSchema": {"type": "object", "properties": {"who": {"type": "string"}}}}})
def other(message):
    if message.get("id") == 900: answer(call, text(json.dumps(message["result"])))
"""
ME = {"action": "accept", "content": {"who": "me"}}
YOU = {"action": "accept", "content": {"who": "you"}}


async def answered(tmp_path: Path, hooks: dict[str, JsonObject]) -> tuple[JsonObject, list[JsonObject], int]:
    """The answer that the server got, the inputs of the hooks, and how often the host was asked."""
    config = json.dumps({"mcpServers": {"el": child(tmp_path, ASKS)}})
    script = Script.of(tool_use("mcp__el__go"), text("ok"))
    async with stage(tmp_path, script, ALLOW_ALL, "--mcp-config", config) as host:
        host.answers["hook_callback"] = lambda request: hooks[request["callback_id"]]
        host.answers["elicitation"] = lambda request: ME
        await host.control("initialize", hooks=hooks_for("Elicitation", "ElicitationResult"))
        await host.turn("go")
        (block,) = host.results_of_tools()[0]["content"]
        inputs = [request["input"] for request in host.requests("hook_callback")]
        return json.loads(block["text"]), inputs, len(host.requests("elicitation"))


def specific(event: str, **fields: Any) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


async def test_hooks_see_the_question_and_the_answer(tmp_path: Path) -> None:
    answer, (asked, given), times = await answered(tmp_path, {"Elicitation": {}, "ElicitationResult": {}})
    assert (answer, times) == (ME, 1)
    assert (asked["mcp_server_name"], asked["message"], asked["mode"]) == ("el", "Who?", "form")
    assert (given["mcp_server_name"], given["action"], given["content"]) == ("el", "accept", {"who": "me"})


async def test_a_hook_answers_instead_of_the_user(tmp_path: Path) -> None:
    hooks = {"Elicitation": specific("Elicitation", **YOU), "ElicitationResult": {}}
    answer, _, times = await answered(tmp_path, hooks)
    assert (answer, times) == (YOU, 0)


async def test_a_hook_overrules_the_answer(tmp_path: Path) -> None:
    hooks = {"Elicitation": {}, "ElicitationResult": {"decision": "block", "reason": "no"}}
    answer, _, times = await answered(tmp_path, hooks)
    assert (answer, times) == ({"action": "decline"}, 1)
