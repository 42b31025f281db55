"""File tools open exactly the file that the permission decision was about. `make races` runs the long race."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.conversation.calls import run_quietly
from handrail.agent.models.script import Script, text, tool_use
from tests.agent.stage import stage
from tests.files.tool_race import SECRET, is_good, race

JsonObject = dict[str, Any]


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged in one step with renameat2")
async def test_no_call_leads_outside_while_names_are_swapped(tmp_path: Path):
    for turn in range(20):
        base = tmp_path / str(turn)
        base.mkdir()
        found = await race({"Read": 30, "Write": 30, "Edit": 30, "Grep": 4, "Glob": 4}, base)
        assert all(tally["leaked"] == tally["outside"] == 0 for tally in found.values()), found
        # On a loaded machine, a short run may see no swap. Then another run is needed.
        if all(found[name]["done"] and found[name]["refused"] for name in ("Read", "Write", "Edit")):
            return
    pytest.fail(f"the race was never real: {found}")


def test_run_without_swaps_is_not_good():
    tally = {"done": 5, "refused": 5, "leaked": 0, "outside": 0}
    assert is_good({"Read": tally})
    for change in ({"done": 0}, {"refused": 0}, {"leaked": 1}, {"outside": 1}):
        assert not is_good({"Read": {**tally, **change}})


CALLS: dict[str, JsonObject] = {
    "Read": {"file_path": "folder/file"},
    "Write": {"file_path": "folder/new", "content": "x"},
    "Edit": {"file_path": "folder/file", "old_string": "text", "new_string": "other"},
    "NotebookEdit": {"notebook_path": "folder/n.ipynb", "new_source": "x", "cell_id": "a"},
    "Grep": {"pattern": "text", "path": "folder", "output_mode": "content"},
    "Glob": {"pattern": "*", "path": "folder"},
}


@pytest.mark.parametrize("tool", CALLS)
async def test_link_that_appears_while_the_user_is_asked_is_not_followed(tool: str, tmp_path: Path):
    outside, folder = tmp_path / "outside", tmp_path / "project" / "folder"
    for place, content in ((outside, f"text {SECRET}"), (folder, "a text")):
        place.mkdir(parents=True)
        (place / "file").write_text(content)
        (place / "n.ipynb").write_text(json.dumps({"cells": [{"id": "a", "cell_type": "code", "source": content}]}))
    (outside / SECRET).touch()
    before = {path.name: path.read_bytes() for path in outside.iterdir()}

    def exchange(request: JsonObject) -> JsonObject:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(outside)
        return {"behavior": "allow"}

    async with stage(tmp_path, Script.of(text("ok"))) as host:
        host.answers["can_use_tool"] = exchange
        await host.control("apply_flag_settings", settings={"permissions": {"ask": [tool]}})
        if tool == "NotebookEdit":  # a notebook that was not read is refused without a question
            await run_quietly(host.engine.thread(), "Read", {"file_path": "folder/n.ipynb"})
        outcome = await run_quietly(host.engine.thread(), tool, CALLS[tool])
        assert host.requests("can_use_tool")
    assert outcome.is_error
    assert SECRET not in f"{outcome.content} {outcome.detail}"
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


async def test_file_saved_while_the_user_is_asked_is_read_with_the_new_content(tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "a").write_text("old")

    def save(request: JsonObject) -> JsonObject:
        (project / "unfinished").write_text("new")
        (project / "unfinished").rename(project / "a")
        return {"behavior": "allow"}

    async with stage(tmp_path, Script.of(text("ok"))) as host:
        host.answers["can_use_tool"] = save
        await host.control("apply_flag_settings", settings={"permissions": {"ask": ["Read"]}})
        outcome = await run_quietly(host.engine.thread(), "Read", {"file_path": "a"})
    assert outcome.content == "1\tnew"


@pytest.mark.parametrize("before", [None, "old"], ids=["created", "changed"])
async def test_file_changed_while_the_user_is_asked_is_not_overwritten(tmp_path: Path, before: str | None):
    if before is not None:
        (tmp_path / "project").mkdir()
        (tmp_path / "project" / "a").write_text(before)

    def create(request: JsonObject) -> JsonObject:
        (tmp_path / "project" / "a").write_text("theirs")
        return {"behavior": "allow"}

    async with stage(tmp_path, Script.of(text("ok"))) as host:
        host.answers["can_use_tool"] = create
        outcome = await run_quietly(host.engine.thread(), "Write", {"file_path": "a", "content": "ours"})
    assert outcome.is_error
    assert (tmp_path / "project" / "a").read_text() == "theirs"


async def test_relative_path_is_decided_in_the_folder_in_which_it_is_opened(tmp_path: Path):
    """After `cd`, the rules must see the file below the new folder, not one of the same name above it."""
    sub = tmp_path / "project" / "sub"
    sub.mkdir(parents=True)
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "project" / "a").write_text("harmless")
    (sub / "a").symlink_to(tmp_path / "secret")
    script = Script.of(tool_use("Bash", command="cd sub"), tool_use("Read", file_path="a"), text("ok"))
    async with stage(tmp_path, script, "--allowedTools", "Bash(cd:*)") as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        await host.turn("go")
        assert host.engine.thread().desk.cwd == str(sub)
        assert SECRET not in str(host.results_of_tools())
        assert [request["tool_name"] for request in host.requests("can_use_tool")] == ["Read"]


async def test_mentioned_file_is_the_one_that_was_decided_on(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "project" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "project" / "plain").write_text("harmless")
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.turn("see @link and @plain")
        asked = str(host.model.asked[0]["messages"])
    assert "harmless" in asked
    assert SECRET not in asked
