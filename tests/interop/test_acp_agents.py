"""Real ACP agents behind `handrail-acp`: every check of `handrail conform` that ACP and the agent allow.

The agents are `claude-agent-acp` with the real CLI, and OpenCode, whose checks take minutes (`make campaigns`). The
other checks are named here, each with what ACP or the agent lacks.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.conform.battery import chosen
from tests.acp.acp_agent import BIN
from tests.conform.agents import drifts
from tests.interop.opencode import launcher

CLAUDE_ACP = os.environ.get("HANDRAIL_CLAUDE_ACP", "")
"""The module of the agent; read here, because tests run without the variables of the caller."""
HOOKS = "hooks do not run in ACP agents"
SERVERS = "ACP agents cannot reach MCP servers that run in the host"
NO_SCHEMA = "ACP lacks structured output"
NO_LIMIT = "ACP lacks limits of turns and cost"
NO_RETRIES = "ACP does not report requests to the model, their retries and their status"
NO_SUBAGENTS = "ACP does not report tasks"
LACKING = {
    "initialize.agents": "ACP lacks agents of the host",
    "flag.tools": "ACP agents choose their tools",
    "turn.init-fields": "ACP agents do not list their tools",
    "permission.disallowed-tool": "rules deny calls, and the agent chooses its tools",
    "permission.updated-input": "ACP cannot pass another input on",
    "control.answer-without-payload": "ACP lacks thinking budget",
    "control.read-file": "handrail-acp does not read files for hosts",
    "control.rewind": "ACP lacks checkpoints of files",
    "session.transcript": "the agent stores its conversations",
    "slash.local": "ACP does not tell local commands from prompts",
    "slash.clear": "ACP does not report that a conversation begins again",
    "one-shot.max-turns": NO_LIMIT,
    "limit.max-turns": NO_LIMIT,
    "limit.errors-list": NO_LIMIT,
    "limit.budget": NO_LIMIT,
    "api.fallback": "ACP lacks fallback models",
    **dict.fromkeys(("api.retried", "api.retry-after", "api.retries-exhausted", "api.invalid-request"), NO_RETRIES),
    "api.broken-stream": NO_RETRIES,
    **dict.fromkeys(("structured.valid", "structured.invalid-then-valid", "structured.not-called"), NO_SCHEMA),
    **dict.fromkeys(("subagent.foreground", "subagent.background"), NO_SUBAGENTS),
    **dict.fromkeys(
        (
            "hook.pre-tool-use",
            "hook.pre-tool-use-denies",
            "hook.pre-tool-use-allows",
            "hook.pre-tool-use-updates-input",
            "hook.matcher",
            "hook.post-tool-use",
            "hook.prompt-blocked",
            "hook.stop-blocked",
            "hook.failing-hook",
        ),
        HOOKS,
    ),
    **dict.fromkeys(
        (
            "mcp.handshake",
            "mcp.listed",
            "mcp.call",
            "mcp.failed-call",
            "mcp.permission",
            "mcp.status",
            "mcp.refused-handshake",
            "mcp.set-servers",
        ),
        SERVERS,
    ),
}
"""Checks that ACP does not allow."""
CLAUDE = {
    **dict.fromkeys(("initialize.system-prompt", "flag.append-system-prompt"), "it takes no system prompt from ACP"),
    **dict.fromkeys(("flag.equals-sign", "control.set-model"), "it offers aliases, and not the models of the check"),
    "permission.dont-ask": "its own mode dontAsk denies calls without asking",
    "permission.ask-user-question": "it asks with a form, which hosts get as an elicitation",
    "permission.deny-and-interrupt": "it may ask its model once more after the interrupt",
    "session.resume-continues-the-cost": "it does not always report the cost of the earlier run",
    "slash.compact": "it reports compaction as text",
}
CLI_INPUT = "the calls of the check have the input of the CLI's tools, and OpenCode's tools have another"
OPENCODE = {
    **dict.fromkeys(("initialize.system-prompt", "flag.append-system-prompt"), "it takes no system prompt from ACP"),
    **dict.fromkeys(("flag.equals-sign", "control.set-model"), "it offers the models of its configuration only"),
    "framing.long-answer": "it needs minutes for 45,000 parts of an answer",
    "turn.unknown-tool": "it answers calls of unknown tools with a tool that succeeds",
    "turn.usage-sums-requests": "it reports the usage of the last request of a turn",
    **dict.fromkeys(
        ("control.set-permission-mode", "permission.accept-edits", "permission.no-question-for-reads"), CLI_INPUT
    ),
    "permission.deny": "it ends its turn after a denial",
    "permission.concurrent-questions": "it asks one question after the other",
    "permission.ask-user-question": "it lacks such a tool",
    "interrupt.while-a-tool-runs": "it reports an interrupted command as completed",
    **dict.fromkeys(("slash.custom", "slash.unknown"), "it has its own commands, and drops unknown ones"),
    "slash.compact": "it does not report compaction",
    "api.max-tokens": "it does not continue an answer that was cut",
}
AGENTS = {"claude": {**LACKING, **CLAUDE}, "opencode": {**LACKING, **OPENCODE}}


def allowed(agent: str) -> list[str]:
    return [check.name for check in chosen() if check.name not in AGENTS[agent]]


CASES = [
    *(pytest.param("claude", topic) for topic in sorted({name.partition(".")[0] for name in allowed("claude")})),
    *(pytest.param("opencode", name, marks=pytest.mark.campaign) for name in allowed("opencode")),
]


def claude_agent(cli: Path, folder: Path) -> str:
    """A program that starts claude-agent-acp with the real CLI."""
    if not CLAUDE_ACP:
        pytest.fail("set HANDRAIL_CLAUDE_ACP, or run `make interop`", pytrace=False)
    path = folder / "claude-agent-acp"
    path.write_text(f'#!/bin/sh\nCLAUDE_CODE_EXECUTABLE={cli} exec node {CLAUDE_ACP} "$@"\n')
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_named_checks_exist(agent: str):
    assert AGENTS[agent].keys() - {check.name for check in chosen()} == set()


@pytest.mark.parametrize(("agent", "pattern"), CASES)
async def test_the_agent_agrees_with_every_check_that_it_allows(cli: Path, tmp_path: Path, agent: str, pattern: str):
    program = launcher(tmp_path) if agent == "opencode" else claude_agent(cli, tmp_path)
    names = [check.name for check in chosen([pattern]) if check.name not in AGENTS[agent]]
    assert await drifts([str(BIN / "handrail-acp"), "--", program], *names) == {}
