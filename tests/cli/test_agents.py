"""`handrail agents`, and sessions with the agents it adds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from handrail.testing import scripted_acp_agent
from handrail.testing.scripted_acp_agent import chunk
from tests.cli.command import piped


def test_an_added_agent_answers_a_prompt(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[chunk("Quack.")]]}))
    added = piped(
        *("agents", "add", "duck", "--", sys.executable, scripted_acp_agent.__file__, script), HOME=str(tmp_path)
    )
    assert added.returncode == 0, added.stderr
    listed = json.loads(piped("agents", "list", "--json", HOME=str(tmp_path)).stdout)
    assert next((row["name"], row["state"]) for row in listed) == ("duck", "added")
    answer = piped("run", "--cli", "duck", "say something", HOME=str(tmp_path))
    assert answer.returncode == 0, answer.stderr
    assert b"Quack." in answer.stdout
    assert piped("agents", "remove", "duck", HOME=str(tmp_path)).returncode == 0
    gone = piped("run", "--cli", "duck", "say something", HOME=str(tmp_path))
    assert gone.returncode != 0
    assert b"duck" in gone.stderr


def test_errors_are_one_line(tmp_path: Path):
    for arguments in (["remove", "nothing"], ["add", "claude", "--", "x"]):
        run = piped("agents", *arguments, HOME=str(tmp_path))
        assert run.returncode == 1
        assert run.stderr.startswith(b"handrail agents: ")
        assert run.stderr.count(b"\n") == 1


def test_a_program_that_is_missing_is_mentioned(tmp_path: Path):
    run = piped("agents", "add", "ghost", "--", "no-such-program", HOME=str(tmp_path))
    assert run.returncode == 0
    assert run.stderr == b"no-such-program is not on PATH yet\n"
