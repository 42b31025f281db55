"""Each flag, variable and setting does something that can be observed: in the request, in a file or on stderr."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from handrail.agent.arguments import Arguments
from handrail.agent.flags import FLAGS
from handrail.agent.models.script import http_error
from handrail.agent.setting_keys import SETTING_KEYS
from handrail.agent.variables import VARIABLES
from handrail.client import command_line
from handrail.testing import Script, ScriptedMessagesApi, text
from tests.agent.models.raw_server import raw_server, response, streamed
from tests.architecture.repository import PACKAGE

JsonObject = dict[str, Any]
OLD = ("--model", "claude-sonnet-4-5")
PIRATE = json.dumps({"pirate": {"description": "d", "prompt": "ARR", "tools": ["Read", "Bash"], "model": "haiku"}})
OVERLOADED = http_error(529, "overloaded_error", "Overloaded")
LIMIT = 60


class Ran(NamedTuple):
    """A process that has exited, and the requests it sent."""

    code: int
    stdout: str
    stderr: str
    requests: list[Any]

    @property
    def body(self) -> JsonObject:
        return self.requests[-1].body

    @property
    def header(self) -> dict[str, str]:
        return self.requests[-1].headers


async def run_process(folder: Path, *words: str, environment: dict[str, str], stdin: bytes = b"") -> Ran:
    (folder / "home").mkdir(exist_ok=True)
    (folder / "project").mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handrail.agent.main", *words),
        cwd=folder / "project",
        env={"HOME": str(folder / "home"), "PATH": os.environ["PATH"], **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(LIMIT):
        out, err = await process.communicate(stdin)
    return Ran(process.returncode or 0, out.decode(), err.decode(), [])


async def run(
    folder: Path,
    *words: str,
    environment: dict[str, str] | None = None,
    settings: JsonObject | None = None,
    replies: tuple[Any, ...] = (text("done"),),
    stdin: bytes = b"",
) -> Ran:
    """Run the agent against a scripted API. `settings` are those of the user."""
    if settings is not None:
        (folder / "home" / ".claude").mkdir(parents=True, exist_ok=True)
        (folder / "home" / ".claude" / "settings.json").write_text(json.dumps(settings))
    async with ScriptedMessagesApi(Script.of(*replies)) as api:
        variables = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-test", **(environment or {})}
        ran = await run_process(folder, *words, environment=variables, stdin=stdin)
        return ran._replace(requests=api.main_requests)


def thinking(ran: Ran) -> Any:
    return ran.body.get("thinking")


def effort(ran: Ran) -> Any:
    return ran.body["output_config"]["effort"]


def tools(ran: Ran) -> set[str]:
    return {tool["name"] for tool in ran.body["tools"]}


def system(ran: Ran) -> str:
    return "\n".join(block["text"] for block in ran.body["system"])


EFFECTS: dict[str, tuple[tuple[str, ...], dict[str, str], JsonObject | None, Callable[[Ran], Any], Any]] = {
    "default model": ((), {}, None, lambda ran: ran.body["model"], "claude-opus-5-5"),
    "--model": (("--model", "haiku"), {}, None, lambda ran: ran.body["model"], "claude-haiku-5-5"),
    "--model [1m]": (
        ("--model", "claude-sonnet-4-5[1m]"),
        {},
        None,
        lambda ran: (ran.body["model"], ran.header["anthropic-beta"]),
        ("claude-sonnet-4-5", "interleaved-thinking-2025-05-14,context-1m-2025-08-07"),
    ),
    "--betas": (("--betas", "a,b"), {}, None, lambda ran: ran.header["anthropic-beta"], "a,b"),
    "--workload": (("--workload", "cron"), {}, None, lambda ran: "workload/cron" in ran.header["user-agent"], True),
    "--effort": (("--effort", "low"), {}, None, effort, "low"),
    "--thinking": ((*OLD, "--thinking", "disabled"), {}, None, thinking, {"type": "disabled"}),
    "--thinking enabled": (
        (*OLD, "--thinking", "enabled"),
        {},
        None,
        thinking,
        {"type": "enabled", "budget_tokens": 31_999},
    ),
    "--max-thinking-tokens": (
        (*OLD, "--max-thinking-tokens", "2000"),
        {},
        None,
        thinking,
        {"type": "enabled", "budget_tokens": 2000},
    ),
    "--thinking-display": (
        ("--thinking-display", "summarized"),
        {},
        None,
        thinking,
        {"type": "adaptive", "display": "summarized"},
    ),
    "--task-budget": (
        ("--task-budget", "50000"),
        {},
        None,
        lambda ran: (ran.body["output_config"]["task_budget"], ran.header["anthropic-beta"]),
        ({"type": "tokens", "total": 50_000}, "task-budgets-2026-03-13"),
    ),
    "--bare": (("--bare",), {}, None, tools, {"Bash", "Edit", "Read"}),
    "--agent": (
        ("--agents", PIRATE, "--agent", "pirate"),
        {},
        None,
        lambda ran: (ran.body["model"], tools(ran), system(ran).startswith("ARR")),
        ("claude-haiku-5-5", {"Read", "Bash"}, True),
    ),
    "agent": (
        ("--agents", PIRATE),
        {},
        {"agent": "pirate"},
        lambda ran: (ran.body["model"], tools(ran)),
        ("claude-haiku-5-5", {"Read", "Bash"}),
    ),
    "--agent and --model": (
        ("--agents", PIRATE, "--agent", "pirate", "--model", "opus"),
        {},
        None,
        lambda ran: ran.body["model"],
        "claude-opus-5-5",
    ),
    "--managed-settings": (
        ("--managed-settings", '{"permissions": {"deny": ["Bash"]}}'),
        {},
        None,
        lambda ran: "Bash" in tools(ran),
        False,
    ),
    "--no-chrome": (("--no-chrome",), {}, None, lambda ran: ran.stdout.strip(), "done"),
    "ANTHROPIC_BETAS": ((), {"ANTHROPIC_BETAS": "one,two"}, None, lambda ran: ran.header["anthropic-beta"], "one,two"),
    "ANTHROPIC_CUSTOM_HEADERS": (
        (),
        {"ANTHROPIC_CUSTOM_HEADERS": "X-Team: rockets"},
        None,
        lambda ran: ran.header["x-team"],
        "rockets",
    ),
    **{
        f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL": (
            ("--model", family),
            {f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL": "my-model"},
            None,
            lambda ran: ran.body["model"],
            "my-model",
        )
        for family in ("fable", "haiku", "opus")
    },
    **{
        f"DISABLE_PROMPT_CACHING_{family.upper()}": (
            ("--model", family),
            {f"DISABLE_PROMPT_CACHING_{family.upper()}": "1"},
            None,
            lambda ran: "cache_control" in json.dumps(ran.body),
            False,
        )
        for family in ("fable", "haiku", "opus", "sonnet")
    },
    "prompt caching is on": ((), {}, None, lambda ran: "cache_control" in json.dumps(ran.body), True),
    "CLAUDE_CODE_ENTRYPOINT": (
        (),
        {"CLAUDE_CODE_ENTRYPOINT": "my-entry"},
        None,
        lambda ran: "my-entry" in ran.header["user-agent"],
        True,
    ),
    "CLAUDE_AGENT_SDK_VERSION": (
        (),
        {"CLAUDE_AGENT_SDK_VERSION": "9.8.7"},
        None,
        lambda ran: "9.8.7" in ran.header["user-agent"],
        True,
    ),
    "CLAUDE_AGENT_SDK_CLIENT_APP": (
        (),
        {"CLAUDE_AGENT_SDK_CLIENT_APP": "my-app/1"},
        None,
        lambda ran: "my-app/1" in ran.header["user-agent"],
        True,
    ),
    "HANDRAIL_MODEL": (
        (),
        {"HANDRAIL_MODEL": "first", "ANTHROPIC_MODEL": "second"},
        None,
        lambda ran: ran.body["model"],
        "first",
    ),
    "CLAUDE_CODE_SIMPLE": ((), {"CLAUDE_CODE_SIMPLE": "1"}, None, tools, {"Bash", "Edit", "Read"}),
    "$schema": ((), {}, {"$schema": "https://example.com/settings.json"}, lambda ran: ran.stderr, ""),
    "model": ((), {}, {"model": "haiku"}, lambda ran: ran.body["model"], "claude-haiku-5-5"),
    "modelSettings": (
        (),
        {},
        {"modelSettings": {"claude-opus-5-5": {"effortLevel": "low"}}},
        effort,
        "low",
    ),
    "language": ((), {}, {"language": "french"}, lambda ran: "answer in french" in system(ran), True),
    "attribution": (
        (),
        {},
        {"attribution": {"commit": "Signed: C", "pr": "Made: P"}},
        lambda ran: ("Signed: C" in system(ran), "Made: P" in system(ran)),
        (True, True),
    ),
    "permissions.deny": ((), {}, {"permissions": {"deny": ["Bash"]}}, lambda ran: "Bash" in tools(ran), False),
    "ANTHROPIC_MODEL": ((), {"ANTHROPIC_MODEL": "my-model"}, None, lambda ran: ran.body["model"], "my-model"),
    "ANTHROPIC_DEFAULT_SONNET_MODEL": (
        ("--model", "sonnet"),
        {"ANTHROPIC_DEFAULT_SONNET_MODEL": "my-sonnet"},
        None,
        lambda ran: ran.body["model"],
        "my-sonnet",
    ),
    "CLAUDE_CODE_EFFORT_LEVEL": (("--effort", "low"), {"CLAUDE_CODE_EFFORT_LEVEL": "max"}, None, effort, "max"),
    "CLAUDE_CODE_EXTRA_BODY": ((), {"CLAUDE_CODE_EXTRA_BODY": '{"top_k": 5}'}, None, lambda ran: ran.body["top_k"], 5),
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": (
        (),
        {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "1234"},
        None,
        lambda ran: ran.body["max_tokens"],
        1234,
    ),
    "DISABLE_PROMPT_CACHING": (
        (),
        {"DISABLE_PROMPT_CACHING": "1"},
        None,
        lambda ran: "cache_control" in json.dumps(ran.body),
        False,
    ),
    "MAX_THINKING_TOKENS": (
        OLD,
        {"MAX_THINKING_TOKENS": "5000"},
        None,
        thinking,
        {"type": "enabled", "budget_tokens": 5000},
    ),
    "env": ((), {}, {"env": {"ANTHROPIC_MODEL": "of-settings"}}, lambda ran: ran.body["model"], "of-settings"),
    "effortLevel": ((), {}, {"effortLevel": "high"}, effort, "high"),
    "alwaysThinkingEnabled": (OLD, {}, {"alwaysThinkingEnabled": False}, thinking, {"type": "disabled"}),
}


@pytest.mark.parametrize("name", EFFECTS)
async def test_effect_on_the_request(tmp_path: Path, name: str):
    words, environment, settings, look, expected = EFFECTS[name]
    ran = await run(tmp_path, "-p", "hi", *words, environment=environment, settings=settings)
    assert ran.code == 0, ran.stderr
    assert look(ran) == expected
    assert ran.stderr == ""


async def test_output_formats(tmp_path: Path):
    assert (await run(tmp_path, "-p", "hi")).stdout == "done\n"
    whole = await run(tmp_path, "-p", "hi", "--output-format", "json")
    assert json.loads(whole.stdout)["result"] == "done"
    verbose = await run(tmp_path, "-p", "hi", "--output-format", "json", "--verbose")
    assert [line["type"] for line in json.loads(verbose.stdout)] == ["system", "assistant", "result"]
    lines = await run(tmp_path, "-p", "hi", "--output-format", "stream-json", "--verbose")
    assert [json.loads(line)["type"] for line in lines.stdout.splitlines()] == ["system", "assistant", "result"]


async def test_lines_are_read_from_stdin(tmp_path: Path):
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "from a line"}}).encode() + b"\n"
    words = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    ran = await run(tmp_path, *words, stdin=line)
    assert "from a line" in json.dumps(ran.body["messages"])


async def test_fallback_models_are_resolved_and_tried_in_order_with_few_retries(tmp_path: Path):
    replies = (OVERLOADED, OVERLOADED, OVERLOADED, text("finally"))
    retries = {"CLAUDE_CODE_MAX_RETRIES": "0"}
    ran = await run(
        tmp_path, "-p", "hi", "--fallback-model", "haiku,sonnet,fable", environment=retries, replies=replies
    )
    assert (ran.code, ran.stdout.strip()) == (0, "finally")
    assert [request.body["model"] for request in ran.requests] == [
        "claude-opus-5-5",
        "claude-haiku-5-5",
        "claude-sonnet-5-5",
        "claude-fable-5-2",
    ]


async def test_an_unknown_agent_ends_a_one_shot_run(tmp_path: Path):
    ran = await run(tmp_path, "-p", "hi", "--agent", "stranger")
    assert (ran.code, ran.requests) == (1, [])
    assert ran.stderr.startswith("--agent 'stranger' not found. Available agents: ")


async def test_agents_of_a_file(tmp_path: Path):
    (tmp_path / "agents.json").write_text(PIRATE)
    ran = await run(tmp_path, "-p", "hi", "--agents", "../agents.json", "--agent", "pirate")
    assert ran.body["model"] == "claude-haiku-5-5"
    missing = await run(tmp_path, "-p", "hi", "--agents", "none.json")
    assert (missing.code, missing.requests) == (1, [])
    assert "--agents" in missing.stderr


async def test_dynamic_sections_move_into_the_first_prompt(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "CLAUDE.md").write_text("REMEMBER")
    ran = await run(tmp_path, "-p", "hi", "--exclude-dynamic-system-prompt-sections")
    folder = str((tmp_path / "project").resolve())
    assert folder not in system(ran)
    assert folder in json.dumps(ran.body["messages"][0])


async def test_bare_leaves_memory_files_and_hooks_out(tmp_path: Path):
    mark = tmp_path / "hook-ran"
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": f"touch {mark}"}]}]}
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "CLAUDE.md").write_text("REMEMBER")
    ran = await run(tmp_path, "-p", "hi", "--bare", settings={"hooks": hooks})
    assert "REMEMBER" not in json.dumps(ran.body)
    assert not mark.exists()
    assert "REMEMBER" in json.dumps((await run(tmp_path, "-p", "hi")).body)
    assert mark.exists()


async def test_debug_writes_a_log_without_the_key(tmp_path: Path):
    log = tmp_path / "debug.txt"
    await run(tmp_path, "-p", "hi", "--debug", "api", "--debug-file", str(log))
    lines = log.read_text().splitlines()
    assert len(lines) == 1
    assert "api: POST /v1/messages claude-opus-5-5: status 200" in lines[0]
    assert "sk-test" not in lines[0]
    assert log.stat().st_mode & 0o777 == 0o600


async def test_debug_alone_writes_to_the_folder_of_the_cli(tmp_path: Path):
    await run(tmp_path, "-p", "hi", "-d")
    [log] = (tmp_path / "home" / ".claude" / "debug").iterdir()
    assert "session: model: claude-opus-5-5" in log.read_text()


async def test_debug_to_stderr(tmp_path: Path):
    ran = await run(tmp_path, "-p", "hi", "--debug-to-stderr", "--debug=!api")
    assert "session: model: claude-opus-5-5" in ran.stderr
    assert "api: POST" not in ran.stderr


async def test_flags_settings_and_variables_without_effect_leave_a_notice(tmp_path: Path):
    ran = await run(
        tmp_path,
        *("-p", "hi", "--chrome"),
        settings={"cleanupPeriodDays": 3, "theme": "dark", "permissions": {"nope": 1}},
        environment={"CLAUDE_CODE_OAUTH_TOKEN": "x"},
    )
    assert ran.code == 0
    assert "--chrome is ignored" in ran.stderr
    assert "settings.json: cleanupPeriodDays, permissions.nope" in ran.stderr
    assert "CLAUDE_CODE_OAUTH_TOKEN is ignored" in ran.stderr
    assert "theme" not in ran.stderr


async def test_an_unsupported_provider_is_refused(tmp_path: Path):
    ran = await run(tmp_path, "-p", "hi", environment={"CLAUDE_CODE_USE_BEDROCK": "1"})
    assert (ran.code, ran.requests) == (1, [])
    assert "CLAUDE_CODE_USE_BEDROCK is not supported" in ran.stderr


async def test_invalid_policy_settings_are_refused(tmp_path: Path):
    ran = await run(tmp_path, "-p", "hi", "--managed-settings", "nope")
    assert (ran.code, ran.requests) == (1, [])
    assert "--managed-settings" in ran.stderr


async def test_settings_of_another_folder_are_read(tmp_path: Path):
    (tmp_path / "other" / ".claude").mkdir(parents=True)
    (tmp_path / "other" / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash"]}}')
    ran = await run(tmp_path, "-p", "hi", "--project-config-root", str(tmp_path / "other"))
    assert "Bash" not in tools(ran)


def stop(answer: str) -> list[bytes]:
    start = json.dumps({"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "x"}})
    block = json.dumps({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": answer}})
    ends = ['{"type":"content_block_stop","index":0}', '{"type":"message_stop"}']
    return streamed(*(f"data: {event}\n\n".encode() for event in (start, block, *ends)))


def head_of(head: str) -> dict[str, str]:
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in head.splitlines())}


async def test_a_key_helper_of_the_user_is_run_and_its_key_sent(tmp_path: Path):
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "settings.json").write_text('{"apiKeyHelper": "echo key-of-helper"}')
    async with raw_server(stop("done")) as server:
        ran = await run_process(tmp_path, "-p", "hi", environment={"ANTHROPIC_BASE_URL": server.url})
    assert (ran.code, ran.stdout.strip()) == (0, "done")
    headers = head_of(server.heads[0])
    assert (headers["x-api-key"], headers["authorization"]) == ("key-of-helper", "Bearer key-of-helper")


async def test_a_key_helper_of_an_untrusted_folder_is_not_run(tmp_path: Path):
    mark = tmp_path / "ran"
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    (tmp_path / "project" / ".claude" / "settings.json").write_text(json.dumps({"apiKeyHelper": f"touch {mark}"}))
    await run(tmp_path, "-p", "hi")
    assert not mark.exists()


async def test_a_failing_key_helper_is_named(tmp_path: Path):
    ran = await run(tmp_path, "-p", "hi", settings={"apiKeyHelper": "exit 3"})
    assert ran.code == 1
    assert "apiKeyHelper exited with code 3" in ran.stdout


async def test_files_are_downloaded_before_the_session(tmp_path: Path):
    (tmp_path / "project").mkdir()
    async with raw_server([response(b"CONTENT")], stop("done")) as server:
        environment = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"}
        await run_process(tmp_path, "-p", "hi", "--file", "file_abc:sub/doc.txt", environment=environment)
    assert server.heads[0].startswith("GET /v1/files/file_abc/content ")
    [found] = (tmp_path / "project").glob("*/uploads/sub/doc.txt")
    assert found.read_text() == "CONTENT"


@pytest.mark.parametrize("spec", ["nocolon", "file_a:../out", "file_a:/etc/x", "a/b:c", "file_a:"])
async def test_invalid_file_specs_are_refused(tmp_path: Path, spec: str):
    ran = await run(tmp_path, "-p", "hi", "--file", spec)
    assert (ran.code, ran.requests) == (1, [])
    assert "FILE_ID:RELATIVE_PATH" in ran.stderr


# The tables

OFFICIAL = """
--tools --allowedTools --disallowedTools --system-prompt --system-prompt-file --append-system-prompt --mcp-config
--strict-mcp-config --permission-mode --allow-dangerously-skip-permissions --permission-prompts
--permission-prompt-tool --continue --resume --session-id --fork-session --resume-session-at --resume-drops-turn
--max-turns --max-budget-usd --task-budget --model --fallback-model --betas --thinking --thinking-display
--max-thinking-tokens --effort --json-schema --settings --managed-settings --managed-settings-in-initialize
--await-initialize --setting-sources --agent --plugin-dir --plugin-dir-no-mcp --add-dir --project-config-root
--include-partial-messages --include-hook-events --session-mirror --no-session-persistence --debug --debug-file
--output-format --input-format --verbose
""".split()
"""The flags that the official SDKs send."""


def own_flags() -> set[str]:
    """The flags that our SDK sends: those of its tables, and those written out in its source."""
    tables = (command_line.VALUES, command_line.SWITCHES, command_line.JOINED, command_line.REPEATED)
    written = re.findall(r'"(--[A-Za-z][A-Za-z-]+)', Path(command_line.__file__).read_text())
    return {flag for table in tables for flag in table.values()} | set(written)


@pytest.mark.parametrize("name", sorted({*OFFICIAL, *own_flags()}))
def test_every_flag_of_an_sdk_works(name: str):
    flag = next((flag for flag in FLAGS if name in flag.names.split()), None)
    assert flag is not None, f"{name} is unknown"
    assert flag.state == "works"
    assert flag.field in Arguments.__struct_fields__


SOURCES = {path: path.read_text() for path in (PACKAGE / "agent").rglob("*.py")}


def test_the_table_of_variables_has_every_variable_that_is_read():
    literal = re.compile(r'"((?:ANTHROPIC|API|BASH|CLAUDE|DISABLE|HANDRAIL|MAX|MCP)_[A-Z_]*[A-Z])"')
    found = {
        name for path, source in SOURCES.items() if path.name != "variables.py" for name in literal.findall(source)
    }
    listed = {variable.name for variable in VARIABLES}
    assert found - listed - SET_FOR_CHILDREN == set()


SET_FOR_CHILDREN = {
    *("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE", "HANDRAIL_AGENT_CALL", "HANDRAIL_AGENT_CHILD"),
}
"""Variables that the agent sets for its child processes."""


def test_the_table_of_settings_has_every_setting_that_is_read():
    sources = [*SOURCES.values(), *(path.read_text() for path in (PACKAGE / "settings").rglob("*.py"))]
    read = {name for source in sources for name in re.findall(r'(?:settings\.values|values)\.get\("(\w+)"', source)}
    listed = {part for key in SETTING_KEYS for part in (key.name, key.name.partition(".")[0])}
    assert read - listed == set()
