"""Every control request: its fields and its answer."""

import asyncio
import inspect
from typing import Any

import pytest

from handrail import ControlRefused, RewindRefused
from handrail.client.controls import Controls
from handrail.schema import agent_answers as wire
from handrail.testing import ScriptedCli
from handrail.testing.scripted_cli import Refusal
from tests.client.conversation import joined

Json = dict[str, Any]
SERVER = {"name": "a", "status": "connected", "serverInfo": {"name": "A", "version": "1"}, "tools": [{"name": "t"}]}
COMMAND = {"name": "clear", "description": "Start anew", "argumentHint": ""}

# Method, its arguments, the request's fields, the answer's payload (None: a bare acknowledgement), the answer's type,
# and what must be read from it.
CALLS: list[tuple[str, tuple[Any, ...], Json, Json, Json | None, type | None, Json]] = [
    ("side_question", ("Why?",), {}, {"question": "Why?"}, {"response": "Because", "synthetic": True},
     wire.SideQuestionAnswer, {"response": "Because", "synthetic": True}),
    ("set_model", ("opus",), {}, {"model": "opus"}, {"model": "claude-opus-5-5"},
     wire.SetModelAnswer, {"model": "claude-opus-5-5"}),
    ("set_model", (), {}, {}, {"model": "default"}, wire.SetModelAnswer, {"model": "default"}),
    ("set_permission_mode", ("plan",), {}, {"mode": "plan"}, {"mode": "plan"},
     wire.SetPermissionModeAnswer, {"mode": "plan"}),
    ("set_max_thinking_tokens", (2048,), {}, {"max_thinking_tokens": 2048}, None, None, {}),
    ("set_max_thinking_tokens", (None,), {"thinking_display": "omitted"},
     {"max_thinking_tokens": None, "thinking_display": "omitted"}, None, None, {}),
    ("list_models", (), {}, {}, {"models": [{"value": "m", "displayName": "M"}]},
     wire.ModelsAnswer, {"models": [wire.Model(value="m", display_name="M")]}),
    ("mcp_status", (), {}, {}, {"mcpServers": [SERVER]}, wire.McpStatusAnswer, {"servers": [
        wire.McpServerStatus(name="a", status="connected", server_info=wire.McpServerInfo(name="A", version="1"),
                             tools=[wire.McpTool(name="t")])]}),
    ("mcp_set_servers", ({"a": {"command": "x"}},), {}, {"servers": {"a": {"command": "x"}}},
     {"added": ["a"], "removed": ["b"], "errors": {"c": "no"}},
     wire.McpSetServersAnswer, {"added": ["a"], "removed": ["b"], "errors": {"c": "no"}}),
    ("mcp_reconnect", ("a",), {}, {"serverName": "a"}, None, None, {}),
    ("mcp_toggle", ("a",), {"enabled": False}, {"serverName": "a", "enabled": False}, None, None, {}),
    ("mcp_authenticate", ("a",), {}, {"serverName": "a"},
     {"authUrl": "https://a.example/", "requiresUserAction": True, "callbackExpected": True},
     wire.McpAuthenticateAnswer, {"auth_url": "https://a.example/", "requires_user_action": True}),
    ("mcp_authenticate", ("a",), {"redirect_uri": "https://me.example/", "redirect_uri_only": True},
     {"serverName": "a", "redirectUri": "https://me.example/", "redirectUriOnly": True},
     {"requiresUserAction": False}, wire.McpAuthenticateAnswer, {"auth_url": "", "callback_expected": False}),
    ("mcp_oauth_callback_url", ("a", "http://localhost/?code=c"), {},
     {"serverName": "a", "callbackUrl": "http://localhost/?code=c"}, None, None, {}),
    ("mcp_clear_auth", ("a",), {}, {"serverName": "a"}, None, None, {}),
    ("mcp_call", ("mcp__a__t", {"x": 1}), {}, {"tool": "mcp__a__t", "arguments": {"x": 1}},
     {"content": [{"type": "text", "text": "1"}], "structuredContent": {"y": 1}},
     wire.McpCallAnswer, {"content": [{"type": "text", "text": "1"}], "structured_content": {"y": 1}}),
    ("mcp_call", ("mcp__a__t",), {}, {"tool": "mcp__a__t"}, {"content": []}, wire.McpCallAnswer, {"content": []}),
    ("mcp_list_resources", (), {}, {}, {"resources": [{"server": "a", "uri": "b://c", "mimeType": "text/plain"}]},
     wire.McpResourcesAnswer,
     {"resources": [wire.McpResource(server="a", uri="b://c", mime_type="text/plain")], "supported": True}),
    ("mcp_list_resources", ("a",), {}, {"serverName": "a"}, {"resources": [], "errors": {"a": "late"}},
     wire.McpResourcesAnswer, {"resources": [], "errors": {"a": "late"}}),
    ("mcp_read_resource", ("a", "file:///x"), {}, {"serverName": "a", "uri": "file:///x"},
     {"contents": [{"text": "x"}]}, wire.McpReadResourceAnswer, {"contents": [{"text": "x"}]}),
    ("rewind_files", ("u-1",), {}, {"user_message_id": "u-1"}, {"canRewind": True, "skippedLinks": 1},
     wire.RewindFilesAnswer, {"can_rewind": True, "skipped_links": 1}),
    ("rewind_files", ("u-1",), {"dry_run": True}, {"user_message_id": "u-1", "dry_run": True},
     {"canRewind": True, "filesChanged": ["/a"], "insertions": 2, "deletions": 3},
     wire.RewindFilesAnswer, {"files_changed": ["/a"], "insertions": 2, "deletions": 3}),
    ("read_file", ("/a",), {"max_bytes": 10}, {"path": "/a", "max_bytes": 10},
     {"contents": "x", "absPath": "/a", "lossy": True},
     wire.ReadFileAnswer, {"contents": "x", "abs_path": "/a", "lossy": True}),
    ("file_suggestions", ("se",), {}, {"query": "se"}, {"suggestions": ["session.py"], "cwd": "/c"},
     wire.FileSuggestionsAnswer, {"suggestions": ["session.py"], "cwd": "/c"}),
    ("seed_read_state", ("/a", 1.5), {}, {"path": "/a", "mtime": 1.5}, None, None, {}),
    ("stop_task", ("t-1",), {}, {"task_id": "t-1"}, None, None, {}),
    ("background_tasks", (), {}, {}, {}, wire.BackgroundTasksAnswer, {"backgrounded": None}),
    ("background_tasks", ("toolu_1",), {}, {"tool_use_id": "toolu_1"}, {"backgrounded": True},
     wire.BackgroundTasksAnswer, {"backgrounded": True}),
    ("get_task_output", ("t-1",), {}, {"task_id": "t-1"}, {"output": "x", "total_bytes": 5, "truncated": True},
     wire.TaskOutputAnswer, {"output": "x", "total_bytes": 5, "truncated": True}),
    ("get_context_usage", (), {"detail": "full"}, {"detail": "full"},
     {"totalTokens": 5, "maxTokens": 10, "percentage": 50, "categories": [{"name": "Messages", "tokens": 5}]},
     wire.ContextUsageAnswer, {"total_tokens": 5, "max_tokens": 10, "percentage": 50}),
    ("get_session_cost", (), {}, {}, {"text": "$1"}, wire.SessionCostAnswer, {"text": "$1"}),
    ("get_usage", (), {}, {}, {"rate_limits_available": True}, wire.UsageAnswer, {"rate_limits_available": True}),
    ("get_binary_version", (), {}, {}, {"version": "2.1.325", "buildTime": "now"},
     wire.BinaryVersionAnswer, {"version": "2.1.325", "build_time": "now"}),
    ("rename_session", ("T",), {}, {"title": "T"}, None, None, {}),
    ("generate_session_title", ("about",), {}, {"description": "about"}, {"title": "T"},
     wire.SessionTitleAnswer, {"title": "T"}),
    ("generate_session_title", ("about",), {"persist": True}, {"description": "about", "persist": True},
     {"title": None}, wire.SessionTitleAnswer, {"title": None}),
    ("get_settings", (), {}, {}, {"effective": {"a": 1}, "sources": [], "applied": {"b": 2}},
     wire.SettingsAnswer, {"effective": {"a": 1}, "applied": {"b": 2}}),
    ("apply_flag_settings", ({"a": 1},), {}, {"settings": {"a": 1}}, None, None, {}),
    ("update_settings", ("user", {"a": 1}), {}, {"source": "user", "settings": {"a": 1}}, None, None, {}),
    ("list_permission_rules", (), {}, {}, {"state": {"rules": [], "originalCwd": "/a"}},
     wire.PermissionRulesAnswer, {"state": wire.PermissionRulesState(original_cwd="/a")}),
    ("get_hooks_listing", (), {}, {}, {"hooks": [{"event": "Stop"}], "eventCatalog": [{"name": "Stop"}]},
     wire.HooksListingAnswer,
     {"hooks": [wire.ListedHook(event="Stop")], "event_catalog": [wire.HookEvent(name="Stop")]}),
    ("reload_plugins", (), {}, {}, {"commands": [COMMAND], "error_count": 1},
     wire.ReloadPluginsAnswer,
     {"commands": [wire.SlashCommand(name="clear", description="Start anew")], "error_count": 1}),
    ("reload_skills", (), {}, {}, {"skills": [COMMAND]},
     wire.SkillsAnswer, {"skills": [wire.SlashCommand(name="clear", description="Start anew")]}),
    ("reload_output_styles", (), {}, {}, {"available_output_styles": ["terse"]},
     wire.OutputStylesAnswer, {"available_output_styles": ["terse"]}),
    ("interrupt", (), {}, {}, {"still_queued": ["u-1"]}, wire.InterruptAnswer, {"still_queued": ["u-1"]}),
    ("interrupt", (), {"cancel_queued": True}, {"cancel_queued": True}, {"still_queued": [], "cancelled": ["u-1"]},
     wire.InterruptAnswer, {"cancelled": ["u-1"]}),
    ("cancel_async_message", ("u-1",), {}, {"message_uuid": "u-1"}, {"cancelled": True},
     wire.CancelAsyncMessageAnswer, {"cancelled": True}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "args", "keywords", "fields", "payload", "view", "read"), CALLS)
async def test_request_fields_and_typed_answer(
    method: str,
    args: tuple[Any, ...],
    keywords: Json,
    fields: Json,
    payload: Json | None,
    view: type | None,
    read: Json,
):
    cli = ScriptedCli(replies={method: payload})
    cli.reply(method, payload)
    async with joined(cli) as session:
        answer = await getattr(session, method)(*args, **keywords)
    assert cli.requests[1] == {"subtype": method, **fields}
    assert type(answer) is (view or type(None))
    assert {name: getattr(answer, name) for name in read} == read


def test_every_control_request_is_tested():
    methods = {name for name, value in vars(Controls).items() if inspect.iscoroutinefunction(value)}
    general = {"request", "control", "initialize", "mcp_message", "_ask"}
    assert {method for method, *_ in CALLS} == methods - general


async def test_unknown_requests_can_be_sent_by_name():
    cli = ScriptedCli(replies={"of_tomorrow": {"yes": True}, "bare": None})
    async with joined(cli) as session:
        assert await session.control("of_tomorrow", colour="blue", nothing=None) == {"yes": True}
        assert await session.control("bare") == {}
        with pytest.raises(ControlRefused, match="Unsupported control request subtype: unheard") as caught:
            await session.control("unheard", timeout=5)
    assert caught.value.code == "unsupported_request"
    assert cli.requests[1] == {"subtype": "of_tomorrow", "colour": "blue", "nothing": None}


async def test_request_returns_the_bytes_of_its_answer():
    cli = ScriptedCli(replies={"get_usage": {"rate_limits": None}})
    async with joined(cli) as session:
        assert (await session.request("get_usage", {})).body == b'{"rate_limits":null}'


async def test_mcp_message_is_sent_to_the_cli():
    cli = ScriptedCli(replies={"mcp_message": {"mcp_response": {"result": 1}}})
    async with joined(cli) as session:
        assert await session.mcp_message("a", {"method": "ping"}) == {"mcp_response": {"result": 1}}
    assert cli.requests[1] == {"subtype": "mcp_message", "server_name": "a", "message": {"method": "ping"}}


async def test_answer_of_unknown_shape_keeps_its_bytes():
    cli = ScriptedCli(replies={"get_session_cost": {"text": {"amount": 1}}})
    async with joined(cli) as session:
        answer = await session.get_session_cost()
    assert (answer.text, answer.raw) == ("", b'{"text":{"amount":1}}')


async def test_unknown_field_in_an_answer_is_kept():
    cli = ScriptedCli(replies={"get_session_cost": {"text": "$1", "currency": "USD"}})
    async with joined(cli) as session:
        assert (await session.get_session_cost()).extra == {"currency": "USD"}


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({"canRewind": False, "error": "No such message."}, "No such message."),
        ({"canRewind": False}, "cannot rewind to this message"),
        (Refusal("File rewinding is not enabled."), "not enabled. .*enable_file_checkpointing=True"),
    ],
)
async def test_failed_rewind_is_an_error(reply: Any, text: str):
    async with joined(ScriptedCli(replies={"rewind_files": reply})) as session:
        with pytest.raises(RewindRefused, match=text):
            await session.rewind_files("u-1")


async def test_answers_may_arrive_in_any_order():
    first = asyncio.Event()

    async def after_the_other(_: Json) -> Json:
        await first.wait()
        return {"text": "slow"}

    def at_once(_: Json) -> Json:
        first.set()
        return {"version": "fast"}

    cli = ScriptedCli(replies={"get_session_cost": after_the_other, "get_binary_version": at_once})
    async with joined(cli) as session:
        slow, fast = await asyncio.gather(session.get_session_cost(), session.get_binary_version())
    assert (slow.text, fast.version) == ("slow", "fast")


async def test_resources_are_empty_with_an_older_cli():
    async with joined(ScriptedCli()) as session:
        answer = await session.mcp_list_resources()
    assert (answer.resources, answer.supported) == ([], False)
