"""ClaudeSDKClient with a scripted CLI."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail.claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    CLIConnectionError,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ProcessError,
    ResultMessage,
    ToolPermissionContext,
    create_sdk_mcp_server,
    tool,
)
from handrail.claude_agent_sdk.types import PermissionRuleValue
from tests.claude_agent_sdk.scripted import PATIENCE, scripted, scripted_client

ECHO = """
    while True:
        say(result(prompt()))
"""


async def result_of(client: ClaudeSDKClient) -> Any:
    *_, last = [message async for message in client.receive_response()]
    assert isinstance(last, ResultMessage)
    return last.result


async def test_conversation(tmp_path: Path):
    async with scripted_client(tmp_path, ECHO) as client:
        await client.query("one")
        assert await result_of(client) == "one"
        await client.query("two")
        assert await result_of(client) == "two"


async def test_prompt_of_connect_and_its_session_id(tmp_path: Path):
    script = """
        for _ in range(3):
            line = hear()
            uuids[:] = [line["uuid"]]
            say(result([line["message"]["content"], line["session_id"]]))
    """
    client = ClaudeSDKClient(scripted(tmp_path, script))
    await client.connect("one")
    try:
        assert json.loads(await result_of(client)) == ["one", ""]
        await client.query("two")
        assert json.loads(await result_of(client)) == ["two", "default"]
        await client.query("three", session_id="other")
        assert json.loads(await result_of(client)) == ["three", "other"]
    finally:
        await client.disconnect()
        await client.disconnect()


async def lines(*texts: str, **fields: Any) -> AsyncIterator[dict[str, Any]]:
    for text in texts:
        yield {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None, **fields}


async def test_prompts_of_an_iterable(tmp_path: Path):
    script = """
        heard = [hear() for _ in range(3)]
        say(result([[line["message"]["content"], line["session_id"]] for line in heard]))
    """
    async with scripted_client(tmp_path, script) as client:
        await client.query(lines("one", "two"), session_id="mine")
        await client.query(lines("three", session_id="own"))
        assert json.loads(await result_of(client)) == [["one", "mine"], ["two", "mine"], ["three", "own"]]


async def test_iterable_of_connect_closes_the_input_at_its_end(tmp_path: Path):
    script = """
        prompt()
        say(result(len(sys.stdin.buffer.read())))
        raise SystemExit(0)
    """
    client = ClaudeSDKClient(scripted(tmp_path, script))
    await client.connect(lines("one"))
    try:
        assert [
            message.result async for message in client.receive_messages() if isinstance(message, ResultMessage)
        ] == ["0"]
    finally:
        await client.disconnect()


REQUESTS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "interrupt": ((), {"subtype": "interrupt"}),
    "set_permission_mode": (("plan",), {"subtype": "set_permission_mode", "mode": "plan"}),
    "set_model": (("m",), {"subtype": "set_model", "model": "m"}),
    "reconnect_mcp_server": (("s",), {"subtype": "mcp_reconnect", "serverName": "s"}),
    "toggle_mcp_server": (("s", False), {"subtype": "mcp_toggle", "serverName": "s", "enabled": False}),
    "stop_task": (("t",), {"subtype": "stop_task", "task_id": "t"}),
}


@pytest.mark.parametrize("method", REQUESTS)
async def test_control_request(tmp_path: Path, method: str):
    arguments, request = REQUESTS[method]
    script = """
        heard = hear()
        answer(heard)
        say(result(heard["request"]))
    """
    async with scripted_client(tmp_path, script) as client:
        assert await getattr(client, method)(*arguments) is None
        assert json.loads(await result_of(client)) == request


async def test_answers_of_the_cli_are_returned_whole(tmp_path: Path):
    script = """
        answer(requested("mcp_status"), {"mcpServers": [{"name": "s", "status": "pending", "more": 1}]})
        answer(requested("get_context_usage"), {"totalTokens": 3, "more": 1})
    """
    async with scripted_client(tmp_path, script) as client:
        assert await client.get_mcp_status() == {"mcpServers": [{"name": "s", "status": "pending", "more": 1}]}
        assert await client.get_context_usage() == {"totalTokens": 3, "more": 1}
        assert await client.get_server_info() == {"commands": [], "agents": [], "models": [], "account": {}}


async def test_rewind_that_the_cli_refuses_is_an_error(tmp_path: Path):
    script = """
        answer(requested("rewind_files"), {"canRewind": False, "error": "No file checkpoint found"})
        answer(requested("rewind_files"), {"canRewind": True})
    """
    async with scripted_client(tmp_path, script) as client:
        with pytest.raises(ClaudeSDKError, match="No file checkpoint found") as error:
            await client.rewind_files("u1")
        assert isinstance(error.value, handrail.RewindRefused)
        assert await client.rewind_files("u2") is None


@pytest.mark.parametrize(
    "method",
    ["query", "interrupt", "set_permission_mode", "get_mcp_status", "get_server_info", "rewind_files", "stop_task"],
)
async def test_method_before_connect(method: str):
    arguments = ["x"] if method in ("query", "set_permission_mode", "rewind_files", "stop_task") else []
    with pytest.raises(CLIConnectionError, match="Not connected"):
        await getattr(ClaudeSDKClient(), method)(*arguments)


async def test_receive_before_connect():
    with pytest.raises(CLIConnectionError, match="Not connected"):
        await anext(ClaudeSDKClient().receive_messages())


async def test_client_may_connect_again(tmp_path: Path):
    client = ClaudeSDKClient(scripted(tmp_path, ECHO))
    for text in ("one", "two"):
        async with asyncio.timeout(PATIENCE), client:
            await client.query(text)
            assert await result_of(client) == text


async def test_failed_connect_leaves_the_client_disconnected(tmp_path: Path):
    client = ClaudeSDKClient(scripted(tmp_path, "raise SystemExit(1)"))
    with pytest.raises(CLIConnectionError):
        await client.connect()
    with pytest.raises(CLIConnectionError, match="Not connected"):
        await client.interrupt()


async def test_cancelled_receive_loses_no_message(tmp_path: Path):
    script = """
        prompt()
        answer(requested("interrupt"))
        say(result("late"))
    """
    async with scripted_client(tmp_path, script) as client:
        await client.query("go")
        messages = client.receive_messages()
        await anext(messages)
        waiting = asyncio.ensure_future(anext(client.receive_messages()))
        await asyncio.sleep(0)
        waiting.cancel()
        await client.interrupt()
        assert await result_of(client) == "late"


# Callbacks


async def ask_permission(tmp_path: Path, answer: Any, **request: Any) -> tuple[list[Any], dict[str, Any]]:
    asked: list[Any] = []

    async def can_use_tool(name: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        asked.extend([name, given, context])
        return answer

    script = f"""
        prompt()
        say(result(ask("can_use_tool", **{{**permission(command="ls"), **{request!r}}})))
    """
    async with scripted_client(tmp_path, script, can_use_tool=can_use_tool) as client:
        await client.query("go")
        return asked, json.loads(await result_of(client))


async def test_permission_request(tmp_path: Path):
    suggestion = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow"}
    extra = {"permission_suggestions": [suggestion], "title": "Run ls", "blocked_path": "/x", "agent_id": "a"}
    asked, _ = await ask_permission(tmp_path, PermissionResultAllow(), **extra)
    update = PermissionUpdate("addRules", [PermissionRuleValue("Bash", "ls")], "allow")
    context = ToolPermissionContext(None, [update], "toolu_1", agent_id="a", blocked_path="/x", title="Run ls")
    assert asked == ["Bash", {"command": "ls"}, context]


ANSWERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "allow": (PermissionResultAllow(), {"behavior": "allow", "updatedInput": {"command": "ls"}}),
    "other input": (
        PermissionResultAllow(updated_input={"command": "pwd"}),
        {"behavior": "allow", "updatedInput": {"command": "pwd"}},
    ),
    "update": (
        PermissionResultAllow(updated_permissions=[PermissionUpdate("setMode", mode="plan", destination="session")]),
        {
            "behavior": "allow",
            "updatedInput": {"command": "ls"},
            "updatedPermissions": [{"type": "setMode", "mode": "plan", "destination": "session"}],
        },
    ),
    "deny": (PermissionResultDeny(message="no"), {"behavior": "deny", "message": "no"}),
    "deny without a message": (PermissionResultDeny(), {"behavior": "deny", "message": ""}),
    "deny and stop": (
        PermissionResultDeny(message="no", interrupt=True),
        {"behavior": "deny", "message": "no", "interrupt": True},
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_permission_answer(tmp_path: Path, case: str):
    answer, sent = ANSWERS[case]
    _, response = await ask_permission(tmp_path, answer)
    assert response["response"] == {**sent, "toolUseID": "toolu_1"}


async def test_permission_answer_of_another_type_is_refused(tmp_path: Path):
    _, response = await ask_permission(tmp_path, True)
    assert response["subtype"] == "error"
    assert "can_use_tool returned bool" in response["error"]


async def test_text_of_an_exception_is_sent_without_its_type(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async def broken(*_: Any) -> Any:
        raise ValueError("it is broken")

    script = """
        prompt()
        (id,) = handshake["hooks"]["Stop"][0]["hookCallbackIds"]
        hook = ask("hook_callback", callback_id=id, input={"hook_event_name": "Stop"})
        say(result([hook["error"], ask("can_use_tool", **permission())["error"]]))
    """
    options: dict[str, Any] = {"can_use_tool": broken, "hooks": {"Stop": [HookMatcher(hooks=[broken])]}}
    async with scripted_client(tmp_path, script, **options) as client:
        await client.query("go")
        assert json.loads(await result_of(client)) == ["it is broken"] * 2
    assert "the callback for can_use_tool failed" in caplog.text


async def test_hook_gets_dictionaries_and_the_tool_use_id(tmp_path: Path):
    seen: list[Any] = []

    async def hook(given: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append((given, tool_use_id, context))
        return {"continue_": False, "stopReason": "enough", "hookSpecificOutput": {"hookEventName": "PreToolUse"}}

    script = """
        prompt()
        event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"a": 1}, "of_tomorrow": [1]}
        (id,) = handshake["hooks"]["PreToolUse"][0]["hookCallbackIds"]
        say(result(ask("hook_callback", callback_id=id, input=event, tool_use_id="toolu_9")["response"]))
    """
    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]}
    async with scripted_client(tmp_path, script, hooks=hooks) as client:
        await client.query("go")
        output = json.loads(await result_of(client))
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"a": 1}, "of_tomorrow": [1]}
    assert seen == [(event, "toolu_9", {"signal": None})]
    assert output == {"continue": False, "stopReason": "enough", "hookSpecificOutput": {"hookEventName": "PreToolUse"}}


async def test_asynchronous_hook(tmp_path: Path):
    async def hook(*_: Any) -> Any:
        return {"async_": True, "asyncTimeout": 5}

    script = """
        prompt()
        (id,) = handshake["hooks"]["Stop"][0]["hookCallbackIds"]
        say(result(ask("hook_callback", callback_id=id, input={"hook_event_name": "Stop"})["response"]))
    """
    async with scripted_client(tmp_path, script, hooks={"Stop": [HookMatcher(hooks=[hook])]}) as client:
        await client.query("go")
        assert json.loads(await result_of(client)) == {"async": True, "asyncTimeout": 5}


CALL_TOOL = """
    def mcp(method, **params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return ask("mcp_message", server_name="calc", message=message)["response"]["mcp_response"]["result"]
    prompt()
    mcp("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "c", "version": "1"})
    say(result(mcp("tools/call", name="add", arguments={"a": 1, "b": 2})["content"][0]["text"]))
"""


async def test_tool_in_this_process(tmp_path: Path):
    @tool("add", "Add two numbers", {"a": int, "b": int})
    async def add(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}

    servers = {"calc": create_sdk_mcp_server("calc", tools=[add])}
    async with scripted_client(tmp_path, CALL_TOOL, mcp_servers=servers) as client:
        await client.query("go")
        assert await result_of(client) == "3"


async def test_server_of_the_mcp_package(tmp_path: Path):
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("calc")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    servers = {"calc": {"type": "sdk", "name": "calc", "instance": server}}
    async with scripted_client(tmp_path, CALL_TOOL, mcp_servers=servers) as client:
        await client.query("go")
        assert await result_of(client) == "3"


# stderr


async def test_stderr_callback_gets_lines(tmp_path: Path):
    heard: list[str] = []
    script = 'prompt(); print("one\\ntwo", file=sys.stderr, flush=True); say(result()); raise SystemExit(0)'
    async with scripted_client(tmp_path, script, stderr=heard.append) as client:
        await client.query("go")
        _ = [message async for message in client.receive_messages()]
    assert heard == ["one", "two"]


async def test_stderr_of_the_cli_is_shown_without_a_callback(tmp_path: Path):
    script = 'prompt(); print("shown", file=sys.stderr, flush=True); say(result()); raise SystemExit(0)'
    file = io.StringIO()
    async with scripted_client(tmp_path, script, debug_stderr=file) as client:
        await client.query("go")
        _ = [message async for message in client.receive_messages()]
    assert file.getvalue() == "shown\n"


async def test_process_error_of_the_client(tmp_path: Path):
    async with scripted_client(tmp_path, "prompt(); raise SystemExit(4)") as client:
        await client.query("go")
        with pytest.raises(ProcessError) as error:
            _ = [message async for message in client.receive_messages()]
        assert error.value.exit_code == 4
        with pytest.raises(CLIConnectionError) as lost:
            await client.query("more")
        assert isinstance(lost.value, handrail.Disconnected)


def test_options_of_a_client_are_its_own():
    assert ClaudeSDKClient().options == ClaudeAgentOptions()
