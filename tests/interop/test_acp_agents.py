"""`claude-agent-acp` with the real CLI behind `handrail-acp`: every check of `handrail conform` that ACP allows.

The other checks are named here, each with what ACP or the agent lacks.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.conform.battery import chosen
from tests.acp.acp_agent import BIN
from tests.conform.agents import drifts

AGENT = os.environ.get("HANDRAIL_CLAUDE_ACP", "")
"""The module of the agent; read here, because tests run without the variables of the caller."""
HOOKS = "hooks do not run in ACP agents"
SERVERS = "ACP agents cannot reach MCP servers that run in the host"
NO_SCHEMA = "ACP lacks structured output"
NO_LIMIT = "ACP lacks limits of turns and cost"
NO_RETRIES = "ACP does not report requests to the model, their retries and their status"
NO_SUBAGENTS = "ACP does not report tasks"
NO_PROMPT = "claude-agent-acp takes no system prompt from the protocol"
LACKING = {
    "initialize.agents": "ACP lacks agents of the host",
    "initialize.system-prompt": NO_PROMPT,
    "flag.append-system-prompt": NO_PROMPT,
    "flag.tools": "ACP agents choose their tools",
    "flag.equals-sign": "the agent offers aliases of models, and not the model of the check",
    "control.set-model": "the agent offers aliases of models, and not the models of the check",
    "turn.init-fields": "ACP agents do not list their tools",
    "permission.disallowed-tool": "rules deny calls, and the agent chooses its tools",
    "permission.updated-input": "ACP cannot pass another input on",
    "permission.dont-ask": "the agent's own mode dontAsk denies calls without asking",
    "permission.ask-user-question": "the agent offers questions only to clients with forms",
    "control.answer-without-payload": "ACP lacks thinking budget",
    "control.read-file": "handrail-acp does not read files for hosts",
    "control.rewind": "ACP lacks checkpoints of files",
    "permission.deny-and-interrupt": "the agent may ask its model once more after the interrupt",
    "session.transcript": "the agent stores its conversations",
    "session.resume-continues-the-cost": "the agent does not always report the cost of the earlier run",
    "slash.local": "ACP does not tell local commands from prompts",
    "slash.clear": "ACP does not report that a conversation begins again",
    "slash.compact": "the agent reports compaction as text",
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


TOPICS = sorted({check.name.partition(".")[0] for check in chosen() if check.name not in LACKING})


@pytest.fixture
def command(cli: Path, tmp_path: Path) -> list[str]:
    """The command of the agent, which starts the real CLI."""
    if not AGENT:
        pytest.fail("set HANDRAIL_CLAUDE_ACP, or run `make interop`", pytrace=False)
    launcher = tmp_path / "claude-agent-acp"
    launcher.write_text(f'#!/bin/sh\nCLAUDE_CODE_EXECUTABLE={cli} exec node {AGENT} "$@"\n')
    launcher.chmod(0o700)
    return [str(BIN / "handrail-acp"), "--", str(launcher)]


def test_the_named_checks_exist():
    assert LACKING.keys() - {check.name for check in chosen()} == set()


@pytest.mark.parametrize("topic", TOPICS)
async def test_the_agent_agrees_with_every_check_that_acp_allows(command: list[str], topic: str):
    names = [check.name for check in chosen([topic]) if check.name not in LACKING]
    assert await drifts(command, *names) == {}
