"""Versions of the CLI compared: a program in place of npm installs `handrail-agent` as three versions, one faulty."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.command import piped

NPM = """#!{python}
import json, os, pathlib, sys
match sys.argv[1:]:
    case ["view", *_]:
        print(json.dumps(["1.0.0", "1.0.1-beta", "1.1.0", "1.2.0", "1.3.0"]))
    case ["install", *_, prefix, package]:
        agent = ["{agent}"]
        if package.endswith("@1.2.0"):
            agent = ["{python}", "-m", "handrail.testing.faulty_agent", "two-results", "--", *agent]
        folder = pathlib.Path(prefix, "node_modules", ".bin")
        folder.mkdir(parents=True)
        more = "" if package.endswith("@1.3.0") else "--disallowedTools=WebSearch"
        program = folder / "claude"
        program.write_text(f'#!/bin/sh\\nexec {{" ".join(agent)}} {{more}} "$@"\\n')
        program.chmod(0o755)
"""
AGENT = Path(sys.executable).with_name("handrail-agent")


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "npm"
    program.parent.mkdir()
    program.write_text(NPM.format(python=sys.executable, agent=AGENT))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def test_the_report_shows_drift_and_what_appeared(npm: None, own_home: Path):
    run = piped("conform", "--versions", "3", "--only", "turn.one-result")
    page = run.stdout.decode()
    assert run.returncode == 0, run.stderr.decode()
    lines = [line for line in page.splitlines() if line.startswith("| 1.")]
    assert [line.split(" | ")[0] for line in lines[:3]] == ["| 1.1.0", "| 1.2.0", "| 1.3.0"]
    assert lines[0].endswith("| none |")
    assert "`turn." in lines[1]
    assert lines[2].endswith("| none |")
    assert "| 1.2.0 | 1.3.0 | `tools: WebSearch` | nothing |" in lines
    assert (own_home / ".cache" / "handrail" / "cli" / "1.3.0" / "node_modules" / ".bin" / "claude").exists()


def test_the_report_as_json(npm: None):
    run = piped("conform", "--versions", "1", "--only", "flag.version", "--json")
    [report] = json.loads(run.stdout)
    assert (report["version"], [one["verdict"] for one in report["outcomes"]]) == ("1.3.0", ["agrees"])
    assert "tools: Bash" in report["facts"]
    assert report["unknown"] == []


def test_a_missing_npm_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    run = piped("conform", "--versions", "2")
    assert run.returncode == 1
    assert run.stderr.decode() == (
        "handrail conform: npm was not found; install Node.js, which installs the versions of the CLI\n"
    )
