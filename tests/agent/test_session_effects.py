"""Flags, variables, settings and requests whose effect shows in a session rather than in one request."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from handrail.agent.conversation import subagents
from handrail.agent.models.script import Script
from handrail.testing import When, reply, text, tool_use
from tests.agent.models.raw_server import raw_server, response
from tests.agent.processes import entries, sessions
from tests.agent.stage import stage
from tests.agent.test_flag_effects import head_of, run, run_process, stop
from tests.bridge.certificate import own_certificate

JsonObject = dict[str, Any]
DELEGATE = tool_use("Task", description="look", prompt="look around", run_in_background=False)
SUBAGENT = reply(text("SUBREPORT"), when=When(prompt="look around"))
LONG = "word " * 2_000
RUN = tool_use("Bash", command="echo hi")


def settings_of_user(folder: Path, **settings: Any) -> None:
    (folder / "home" / ".claude").mkdir(parents=True, exist_ok=True)
    (folder / "home" / ".claude" / "settings.json").write_text(json.dumps(settings))


def hook(command: str) -> list[JsonObject]:
    return [{"hooks": [{"type": "command", "command": command}]}]


# Flags


@pytest.mark.parametrize("flags", [(), ("--include-hook-events",)])
async def test_hooks_are_reported_on_request(tmp_path: Path, flags: tuple[str, ...]):
    settings_of_user(tmp_path, hooks={"PreToolUse": hook("true")})
    async with stage(tmp_path, Script.of(RUN, text("ok")), *flags) as host:
        await host.turn("go")
        assert bool(host.of("system", "hook_started")) == bool(flags)


@pytest.mark.parametrize(
    ("flags", "fields"), [((), {}), (("--forward-subagent-text",), {}), ((), {"forwardSubagentText": True})]
)
async def test_text_of_subagents_is_forwarded_on_request(tmp_path: Path, flags: tuple[str, ...], fields: JsonObject):
    async with stage(tmp_path, Script.of(DELEGATE, SUBAGENT, text("ok")), *flags) as host:
        await host.control("initialize", **fields)
        await host.turn("go")
        texts = [line for line in host.of("assistant") if "SUBREPORT" in json.dumps(line["message"])]
        assert bool(texts) == bool(flags or fields)


@pytest.mark.parametrize(
    ("flags", "fields"), [(("--prompt-suggestions",), {}), ((), {"promptSuggestions": True}), ((), {})]
)
async def test_a_prompt_is_suggested_after_the_second_answer(tmp_path: Path, flags: tuple[str, ...], fields: Any):
    replies = (text("one"), text("two"), reply(text("run the tests"), when=When(prompt="Predict the next message")))
    async with stage(tmp_path, Script.of(*replies), *flags) as host:
        await host.control("initialize", **fields)
        await host.turn("hi")
        await host.turn("again")
        await host.end_input()
        await host.exit_code()
        suggested = [line["suggestion"] for line in host.of("prompt_suggestion")]
    assert suggested == (["run the tests"] if flags or fields else [])
    assert all("Predict" not in json.dumps(line) for line in host.lines)


@pytest.mark.parametrize("answer", ["NONE", "none.", "two\nlines", ""])
async def test_invalid_prompt_is_not_suggested(tmp_path: Path, answer: str):
    replies = (text("one"), text("two"), reply(text(answer), when=When(prompt="Predict the next message")))
    async with stage(tmp_path, Script.of(*replies), "--prompt-suggestions") as host:
        await host.turn("hi")
        await host.turn("again")
        await host.end_input()
        await host.exit_code()
        assert host.of("prompt_suggestion") == []


@pytest.mark.parametrize(("mode", "asked"), [("default", 1), ("acceptEdits", 0)])
async def test_the_permission_mode_decides_about_questions(tmp_path: Path, mode: str, asked: int):
    call = tool_use("Write", file_path=str(tmp_path / "project" / "a.txt"), content="x")
    async with stage(tmp_path, Script.of(call, text("ok")), "--permission-mode", mode) as host:
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == asked


@pytest.mark.parametrize("way", ["none", "flag", "setting"])
async def test_more_folders_are_read_without_a_question(tmp_path: Path, way: str):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("x")
    if way == "setting":
        settings_of_user(tmp_path, permissions={"additionalDirectories": [str(other)]})
    flags = ("--add-dir", str(other)) if way == "flag" else ()
    read = tool_use("Read", file_path=str(other / "a.txt"))
    async with stage(tmp_path, Script.of(read, text("ok")), *flags) as host:
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == (way == "none")


@pytest.mark.parametrize(("flag", "servers"), [("--plugin-dir", 1), ("--plugin-dir-no-mcp", 0)])
async def test_a_plugin_may_be_loaded_without_its_servers(tmp_path: Path, flag: str, servers: int):
    plugin = tmp_path / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    entry = {"command": sys.executable, "args": ["-c", "pass"]}
    (plugin / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "p", "mcpServers": {"s": entry}}))
    async with stage(tmp_path, Script.of(text("ok")), flag, str(plugin)) as host:
        await host.turn("go")
        assert [one["name"] for one in host.of("system", "init")[0]["plugins"]] == ["p"]
        assert len((await host.control("mcp_status"))["response"]["mcpServers"]) == servers


# Fields of initialize


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, ""),
        ({"type": "nonsense"}, "/type must be one of"),
        ({"type": "object", "required": "n"}, "/required must be array"),
        ({"$ref": "#/$defs/none"}, "#/$defs/none"),
    ],
)
async def test_a_schema_of_the_handshake_is_used_if_it_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], schema: JsonObject, problem: str
):
    async with stage(tmp_path, Script.of(tool_use("StructuredOutput", n=1), text("ok"))) as host:
        assert (await host.control("initialize", jsonSchema=schema))["subtype"] == "success"
        result = await host.turn("go")
        names = {tool["name"] for tool in host.model.asked[0]["tools"]}
    assert ("StructuredOutput" in names) == (not problem)
    assert result.get("structured_output") == (None if problem else {"n": 1})
    said = capsys.readouterr().err
    assert ("jsonSchema is invalid and was ignored" in said) == bool(problem)
    assert problem in said


@pytest.mark.parametrize("schema", ["{", "[1]", '{"type": "nonsense"}', '{"wibble": 1}'])
async def test_an_invalid_schema_of_the_command_line_ends_the_start(tmp_path: Path, schema: str):
    ran = await run(tmp_path, "-p", "hi", "--json-schema", schema)
    assert (ran.code, ran.requests, ran.stdout) == (1, [], "")
    assert ran.stderr.startswith("Error: --json-schema is not ")


async def test_prompts_of_the_handshake_reach_the_model(tmp_path: Path):
    async def asked(**fields: Any) -> JsonObject:
        async with stage(tmp_path, Script.of(text("ok"))) as host:
            await host.control("initialize", **fields)
            await host.turn("go")
            return host.model.asked[0]

    folder = str(tmp_path / "project")
    own = await asked(systemPrompt=["PIRATE"])
    assert [block["text"] for block in own["system"]] == ["PIRATE"]
    longer = await asked(appendSystemPrompt="AND A PARROT")
    assert "AND A PARROT" in [block["text"] for block in longer["system"]]
    assert folder in json.dumps(longer["system"])
    moved = await asked(excludeDynamicSections=True)
    assert folder not in json.dumps(moved["system"])
    assert folder in json.dumps(moved["messages"][0])


async def test_skills_of_the_handshake_are_offered(tmp_path: Path):
    for name in ("bake", "sew"):
        skill = tmp_path / "home" / ".claude" / "skills" / name
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: to {name}\n---\nDo it.")
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.control("initialize", skills=["bake"])
        await host.turn("go")
        assert [name for name in host.of("system", "init")[0]["skills"] if name in ("bake", "sew")] == ["bake"]


async def test_dialogs_are_never_requested(tmp_path: Path):
    async with stage(tmp_path, Script.of(RUN, text("ok"))) as host:
        await host.control("initialize", supportedDialogKinds=["anything"])
        await host.turn("go")
        assert host.requests("request_user_dialog") == []


async def test_agents_are_listed_as_json(tmp_path: Path):
    ran = await run_process(tmp_path, "agents", "--json", environment={})
    assert ran.code == 0, ran.stderr
    assert isinstance(json.loads(ran.stdout), list)


# Background work


def offered(host: Any, name: str) -> JsonObject:
    [tool] = [tool for tool in host.model.asked[0]["tools"] if tool["name"] == name]
    return tool["input_schema"]["properties"]


OFF = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}


async def test_without_background_tasks_bash_does_not_offer_and_refuses_the_field(tmp_path: Path):
    call = tool_use("Bash", command="echo hi", run_in_background=True)
    async with stage(tmp_path, Script.of(call, text("ok")), environment=OFF) as host:
        await host.turn("go")
        assert "run_in_background" not in offered(host, "Bash")
        [result] = host.results_of_tools()
        assert result["is_error"]
        assert "unexpected parameter `run_in_background`" in result["content"]
        assert host.of("system", "task_started") == []
        assert (await host.control("background_tasks"))["subtype"] == "error"


async def test_without_background_tasks_a_command_ends_at_its_timeout(tmp_path: Path):
    call = tool_use("Bash", command="exec tail -f /dev/null", timeout=100)
    async with stage(tmp_path, Script.of(call, text("ok")), environment=OFF) as host:
        await host.turn("go")
        [result] = host.results_of_tools()
        assert result["is_error"]
        assert "timed out after 0.1s" in result["content"]


@pytest.mark.parametrize("background", [None, True])
async def test_without_background_tasks_subagents_run_in_the_foreground(tmp_path: Path, background: bool | None):
    given = {"description": "look", "prompt": "look around"}
    call = tool_use("Task", **given, **({} if background is None else {"run_in_background": background}))
    async with stage(tmp_path, Script.of(call, SUBAGENT, text("ok")), environment=OFF) as host:
        await host.turn("go")
        assert "run_in_background" not in offered(host, "Task")
        assert [line["is_backgrounded"] for line in host.of("system", "task_started")] == [False]
        assert "SUBREPORT" in json.dumps(host.results_of_tools())


async def test_calls_of_a_subagent_are_reported(tmp_path: Path):
    replies = (DELEGATE, reply(RUN, when=When(prompt="look around")), text("SUBREPORT"), text("ok"))
    async with stage(tmp_path, Script.of(*replies)) as host:
        await host.turn("go")
        [progress] = host.of("system", "task_progress")
    assert (progress["last_tool_name"], progress["subagent_type"]) == ("Bash", "general-purpose")
    assert progress["task_id"] == host.of("system", "task_started")[0]["task_id"]


@pytest.mark.parametrize("wanted", [True, False])
async def test_the_work_of_a_subagent_is_summarized_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: bool
):
    monkeypatch.setattr(subagents, "SUMMARY_EVERY", 0.01)
    (tmp_path / "project").mkdir()
    os.mkfifo(tmp_path / "project" / "go")
    replies = (
        reply(text("Waiting for go"), when=When(prompt="Say what you are doing"), times=None),
        reply(DELEGATE, when=When(prompt="start")),
        reply(tool_use("Bash", command="cat go"), when=When(prompt="look around")),
        reply(text("SUBREPORT"), when=When(tool_result="now")),
        text("ok"),
    )
    async with stage(tmp_path, Script.of(*replies)) as host:
        await host.control("initialize", agentProgressSummaries=wanted)
        await host.say("start")
        await host.until_line("system", "task_progress")
        if wanted:
            await host.until(lambda: [line for line in host.of("system", "task_progress") if line.get("summary")])
        await asyncio.to_thread((tmp_path / "project" / "go").write_text, "now\n")
        await host.result()
        summaries = {line.get("summary") for line in host.of("system", "task_progress")}
    assert summaries == ({None, "Waiting for go"} if wanted else {None})


# The context window


SUMMARY = reply(text("<summary>SHORT</summary>"), when=When(prompt="Write a summary"))


@pytest.mark.parametrize("way", ["DISABLE_AUTO_COMPACT", "DISABLE_COMPACT", "autoCompactEnabled", ""])
async def test_a_full_window_is_compacted_unless_that_is_turned_off(tmp_path: Path, way: str):
    if way == "autoCompactEnabled":
        settings_of_user(tmp_path, autoCompactEnabled=False)
    environment = {"HANDRAIL_CONTEXT_WINDOW": "6000", **({way: "1"} if way.isupper() else {})}
    answers = (text("a"), text("b"), SUMMARY, text("c"))
    async with stage(tmp_path, Script.of(*answers), environment=environment, counts=True) as host:
        for _ in range(2):
            await host.turn(LONG)
        last = await host.turn("and now?")
        assert bool(host.of("system", "compact_boundary")) == (not way)
    expected = (True, "blocking_limit", "Prompt is too long") if way else (False, "completed", "c")
    assert (last["is_error"], last["terminal_reason"], last["result"]) == expected


async def test_the_window_may_be_made_smaller(tmp_path: Path):
    environment = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "3000"}
    async with stage(tmp_path, Script.of(text("a"), SUMMARY, text("b")), environment=environment, counts=True) as host:
        await host.turn(LONG)
        assert (await host.turn("and now?"))["result"] == "b"
        assert len(host.of("system", "compact_boundary")) == 1
        assert "SHORT" in json.dumps(host.model.asked[-1]["messages"])
        assert LONG not in json.dumps(host.model.asked[-1]["messages"])


# Variables


async def test_titles_are_asked_of_the_small_model(tmp_path: Path):
    environment = {"ANTHROPIC_SMALL_FAST_MODEL": "my-small"}
    script = replace(Script.of(), helper=reply(text('{"title": "Bread"}')))
    async with stage(tmp_path, script, environment=environment) as host:
        answer = await host.control("generate_session_title", description="flour, water, salt")
        assert answer["response"] == {"title": "Bread"}
        assert host.model.asked[-1]["model"] == "my-small"
        assert "flour" in json.dumps(host.model.asked[-1]["messages"])


@pytest.mark.parametrize(("form", "word"), [("html", "HTML"), ("markdown", "Markdown")])
async def test_previews_of_questions_are_offered(tmp_path: Path, form: str, word: str):
    for environment, expected in (({"CLAUDE_CODE_QUESTION_PREVIEW_FORMAT": form}, True), ({}, False)):
        async with stage(tmp_path, Script.of(text("ok")), environment=environment) as host:
            await host.turn("go")
            [tool] = [tool for tool in host.model.asked[0]["tools"] if tool["name"] == "AskUserQuestion"]
            assert (word in tool["description"]) == expected


@pytest.mark.parametrize(
    ("environment", "fields"),
    [({"BASH_DEFAULT_TIMEOUT_MS": "100"}, {}), ({"BASH_MAX_TIMEOUT_MS": "100"}, {"timeout": 60_000})],
)
async def test_commands_are_moved_to_the_background_at_their_timeout(
    tmp_path: Path, environment: dict[str, str], fields: JsonObject
):
    call = tool_use("Bash", command="exec tail -f /dev/null", **fields)
    async with stage(tmp_path, Script.of(call, text("ok")), environment=environment) as host:
        await host.turn("go")
        assert "0.1s timeout" in host.results_of_tools()[0]["content"]
        await host.control("stop_task", task_id=host.of("system", "task_started")[0]["task_id"])


async def test_children_keep_the_mark_of_the_bridge(tmp_path: Path):
    call = tool_use("Bash", command="printenv HANDRAIL_CHILD")
    async with stage(tmp_path, Script.of(call, text("ok")), environment={"HANDRAIL_CHILD": "mark-1"}) as host:
        await host.turn("go")
        assert host.results_of_tools()[0]["content"] == "mark-1"


@pytest.mark.parametrize("allowed", [True, False])
async def test_private_addresses_are_fetched_only_on_request(tmp_path: Path, allowed: bool):
    environment = {"HANDRAIL_PRIVATE_ADDRESSES": "allow"} if allowed else {}
    page = response(b"hello", headers="content-type: text/plain\r\n")
    async with raw_server([page]) as server:
        call = tool_use("WebFetch", url=server.url, prompt="what is it?")
        async with stage(tmp_path, Script.of(call, text("a greeting"), text("ok")), environment=environment) as host:
            await host.turn("go")
            assert host.results_of_tools()[0]["is_error"] == (not allowed)
        assert bool(server.heads) == allowed


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "ALL_PROXY"])
async def test_https_requests_use_the_proxy(tmp_path: Path, name: str):
    async with raw_server([response(b"", status="502 Bad Gateway")]) as proxy:
        environment = {
            "ANTHROPIC_BASE_URL": "https://api.invalid",
            "ANTHROPIC_API_KEY": "k",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            name: proxy.url,
        }
        ran = await run_process(tmp_path, "-p", "hi", environment=environment)
    assert ran.code == 1
    assert proxy.heads[0].startswith("CONNECT api.invalid:443 ")


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
async def test_certificates_of_a_file_are_trusted(tmp_path: Path, name: str):
    certificate, key = own_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with raw_server(stop("done"), tls=context) as server:
        environment = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_MAX_RETRIES": "0"}
        refused = await run_process(tmp_path, "-p", "hi", environment=environment)
        trusted = await run_process(tmp_path, "-p", "hi", environment={**environment, name: str(certificate)})
    assert (refused.code, trusted.code, trusted.stdout) == (1, 0, "done\n"), trusted
    assert head_of(server.heads[0])["x-api-key"] == "k"


async def test_http_client_is_loaded_without_trio(tmp_path: Path):
    async with raw_server(stop("done")) as server:
        environment = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k", "PYTHONPROFILEIMPORTTIME": "1"}
        ran = await run_process(tmp_path, "-p", "hi", environment=environment)
    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert (ran.stdout, "httpcore2._api" in imported, "trio._core" in imported) == ("done\n", True, False)


async def test_the_api_is_asked_at_its_address(tmp_path: Path):
    async with raw_server(stop("done")) as server:
        environment = {"ANTHROPIC_BASE_URL": f"{server.url}/below", "ANTHROPIC_API_KEY": "k"}
        await run_process(tmp_path, "-p", "hi", environment=environment)
    assert server.heads[0].startswith("POST /below/v1/messages")


# Settings


@pytest.mark.parametrize("way", ["none", "disableAllHooks", "allowManagedHooksOnly"])
async def test_hooks_of_the_user_are_turned_off(tmp_path: Path, way: str):
    mark = tmp_path / "ran"
    off = {"disableAllHooks": True} if way == "disableAllHooks" else {}
    flags = ("--managed-settings", '{"allowManagedHooksOnly": true}') if way == "allowManagedHooksOnly" else ()
    settings = {"hooks": {"UserPromptSubmit": hook(f"touch {mark}")}, **off}
    await run(tmp_path, "-p", "hi", *flags, settings=settings)
    assert mark.exists() == (way == "none")


@pytest.mark.parametrize(
    ("permissions", "policy", "asked"),
    [
        ({}, {}, 1),
        ({"allow": ["Bash(touch *)"]}, {}, 0),
        ({"allow": ["Bash(touch *)"]}, {"allowManagedPermissionRulesOnly": True}, 1),
        ({"defaultMode": "acceptEdits"}, {}, 0),
        ({"defaultMode": "acceptEdits", "ask": ["Bash(touch *)"]}, {}, 1),
        ({"defaultMode": "bypassPermissions"}, {}, 0),
        ({"defaultMode": "bypassPermissions", "disableBypassPermissionsMode": "disable"}, {}, 1),
    ],
)
async def test_permission_settings_decide_about_questions(
    tmp_path: Path, permissions: JsonObject, policy: JsonObject, asked: int
):
    settings_of_user(tmp_path, permissions=permissions)
    flags = ("--managed-settings", json.dumps(policy)) if policy else ()
    call = tool_use("Bash", command="touch made")
    async with stage(tmp_path, Script.of(call, text("ok")), *flags) as host:
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == asked


async def test_servers_of_settings_are_connected(tmp_path: Path):
    settings_of_user(tmp_path, mcpServers={"notes": {"command": sys.executable, "args": ["-c", "pass"]}})
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        status = (await host.control("mcp_status"))["response"]["mcpServers"]
    assert [one["name"] for one in status] == ["notes"]


@pytest.mark.parametrize("enabled", [True, False])
async def test_the_sandbox_of_the_settings_is_used(tmp_path: Path, enabled: bool):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "bwrap").write_text('#!/bin/sh\necho "in the sandbox"\n')
    (programs / "bwrap").chmod(0o755)
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    settings = {"sandbox": {"enabled": enabled}}
    words = ("-p", "go", "--allowedTools", "Bash")
    replies = (tool_use("Bash", command="touch made"), text("ok"))  # a command that only reads runs in the cage
    ran = await run(tmp_path, *words, environment=environment, settings=settings, replies=replies)
    assert ("in the sandbox" in json.dumps(ran.body["messages"])) == enabled


# Requests


async def test_a_session_ends_on_request(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.turn("go")
        await host.control("end_session")
        assert await host.exit_code() == 0


async def test_hooks_are_listed(tmp_path: Path):
    settings_of_user(tmp_path, hooks={"PreToolUse": hook("check-it")})
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        answer = await host.control("get_hooks_listing")
    assert "check-it" in json.dumps(answer["response"])


async def test_usage_counts_the_turns_of_the_session(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("ok")), counts=True) as host:
        before = (await host.control("get_usage"))["response"]["session"]["model_usage"]
        await host.turn("go")
        after = (await host.control("get_usage"))["response"]["session"]["model_usage"]
    assert before == {}
    [usage] = after.values()
    assert usage["outputTokens"] == 20


@pytest.mark.parametrize(
    ("subtype", "fields"),
    [
        ("set_model", {"model": " "}),
        ("stop_task", {}),
        ("generate_session_title", {}),
        ("read_file", {"path": "/etc/hostname"}),
    ],
)
async def test_a_request_that_cannot_be_done_is_refused(tmp_path: Path, subtype: str, fields: JsonObject):
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        answer = await host.control(subtype, **fields)
        assert answer["subtype"] == "error"
        assert subtype in answer["error"]


async def test_files_that_cannot_be_restored_are_named_in_a_dry_run(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        answer = await host.control("rewind_files", user_message_id="x", dry_run=True)
        assert answer["response"]["canRewind"] is False
        assert answer["response"]["error"]
        assert (await host.control("rewind_files", user_message_id="x"))["subtype"] == "error"


# Pull requests


OPENED = "https://github.com/acme/rocket/pull/42"


@pytest.mark.parametrize(
    ("command", "printed", "linked"),
    [
        ("gh pr create --fill", OPENED, "acme/rocket"),
        ("cd . && FOO=1 gh  pr   merge 42 | cat", f"done: {OPENED}.", "acme/rocket"),
        ("glab mr update 9", "https://gitlab.com/group/sub/rocket/-/merge_requests/42", "group/sub/rocket"),
        ("gh pr view 42", OPENED, ""),
        ("gh pr create", "nothing", ""),
        ("echo", OPENED, ""),
        ("gh pr create && false", OPENED, ""),
    ],
)
async def test_a_session_is_linked_to_the_pull_request_it_changes(
    tmp_path: Path, command: str, printed: str, linked: str
):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("gh", "glab"):
        (programs / name).write_text(f"#!/bin/sh\necho https://github.com/acme/older/pull/1\necho '{printed}'\n")
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    call = tool_use("Bash", command=command if command != "echo" else f"echo {printed}")
    async with stage(tmp_path, Script.of(call, text("one")), environment=environment) as host:
        await host.turn("go")
        first = host.of("system", "init")[0]["session_id"]
    if printed == "nothing":
        linked, wanted = "acme/older", "1"
    else:
        wanted = "42"
    async with stage(tmp_path, Script.of(text("two")), "--from-pr", wanted) as host:
        await host.turn("again")
        assert (host.of("system", "init")[0]["session_id"] == first) == bool(linked)
    found = [entry for path in sessions(tmp_path) for entry in entries(path)]
    assert {entry["prRepository"] for entry in found if entry["type"] == "pr-link"} == ({linked} if linked else set())
