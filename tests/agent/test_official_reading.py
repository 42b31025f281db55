"""The official SDK reads what the agent has written. HANDRAIL_PYTHON_SDK names a Python that has it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, thinking, tool_use
from handrail.agent.models.script import reply as answer
from tests.agent.processes import agent

PYTHON = os.environ.get("HANDRAIL_PYTHON_SDK", "")
READ = """
import json, sys
from claude_agent_sdk import get_session_messages, list_sessions
names = ("session_id", "summary", "custom_title", "first_prompt", "cwd", "git_branch")
listed = [[getattr(session, name) for name in names] for session in list_sessions(sys.argv[1])]
said = [(m.type, m.uuid, m.message["content"]) for m in get_session_messages(sys.argv[2], directory=sys.argv[1])]
print(json.dumps({"listed": listed, "said": said}))
"""


def read(folder: Path, id: str) -> Any:
    """What the official SDK finds in a project and in one of its sessions."""
    home = folder / "home"
    ran = subprocess.run(
        [PYTHON, "-c", READ, str(folder / "project"), id],
        env={"CLAUDE_CONFIG_DIR": str(home / "own"), "HOME": str(home), "PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
        timeout=60,
    )
    return json.loads(ran.stdout)


@pytest.mark.interop
async def test_the_official_sdk_lists_and_reads_our_sessions(tmp_path: Path):
    if not PYTHON:
        pytest.skip("HANDRAIL_PYTHON_SDK names no Python with claude-agent-sdk")
    home = tmp_path / "home" / "own"
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    script = Script.of(answer(thinking("hm"), tool_use("Bash", command="echo hi")), text("one"), text("two"))
    environment = {"CLAUDE_CONFIG_DIR": str(home)}
    async with agent(tmp_path, script, "--name", "our title", environment=environment) as running:
        id = (await running.turn("first"))["session_id"]
        await running.turn("second")
        await running.end()
    found = read(tmp_path, id)
    [[listed, summary, title, first, cwd, branch]] = found["listed"]
    assert (listed, summary, title, first) == (id, "our title", "our title", "first")
    assert (cwd, branch) == (str(tmp_path / "project"), "main")
    assert [kind for kind, _, _ in found["said"]] == [
        "user",
        "assistant",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    spoken = [line["uuid"] for line in running.lines if line["type"] in ("user", "assistant")]
    assert set(spoken) <= {uuid for _, uuid, _ in found["said"]}
