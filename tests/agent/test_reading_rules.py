"""Rules about reading hold for every tool that shows what files hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.stage import stage


@pytest.mark.parametrize(
    "call",
    [
        tool_use("Grep", pattern="colour", output_mode="content"),
        tool_use("Grep", pattern="colour"),
        tool_use("Glob", pattern="*.txt"),
    ],
    ids=lambda call: f"{call.name} {call.input.get('output_mode', '')}",
)
async def test_unreadable_files_are_not_found(tmp_path: Path, call: object):
    project = tmp_path / "project"
    project.mkdir()
    for name in ("open.txt", "secret.txt"):
        (project / name).write_text("a colour")
    flags = ("--tools", "Grep,Glob", "--disallowedTools", "Read(./secret.txt)")
    async with stage(tmp_path, Script.of([call], text("done")), *flags) as host:
        await host.turn("look")
        shown = str(host.results_of_tools())
    assert ("open.txt" in shown, "secret.txt" in shown) == (True, False)
