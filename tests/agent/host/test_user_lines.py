"""Fields of the host's user lines beside the message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script
from handrail.testing import text
from tests.agent.processes import entries
from tests.agent.stage import stage

HUMAN = {"kind": "human"}


async def test_the_origin_of_a_prompt_is_on_its_result_and_in_the_transcript(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("one"), text("two"))) as host:
        assert (await host.turn("hi", origin=HUMAN))["origin"] == HUMAN
        assert "origin" not in await host.turn("hi")
        path = host.engine.transcript.path
    origins = [entry.get("origin") for entry in entries(path) if entry.get("type") == "user"]
    assert origins == [HUMAN, None]


@pytest.mark.parametrize("origin", [{"kind": "task-notification"}, {"kind": "peer", "from": "x"}, {}, "human", 3, None])
async def test_a_host_cannot_speak_for_others(tmp_path: Path, origin: Any) -> None:
    async with stage(tmp_path, Script.of(text("one"))) as host:
        assert "origin" not in await host.turn("hi", origin=origin)


async def test_a_stamped_prompt_is_merged_and_echoed_like_any_other(tmp_path: Path) -> None:
    script = Script.of(text("one"), text("two"))
    async with stage(tmp_path, script, "--replay-user-messages") as host:
        await host.turn("hi", origin=HUMAN)
        await host.turn("/cost", origin=HUMAN)
        replays = [line["message"]["content"] for line in host.of("user") if line.get("isReplay")]
        assert replays == ["hi"]
        assert host.of("result")[1]["local_command"] == "cost"


async def test_a_prompt_that_the_client_composed_is_taken_verbatim(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("one"), text("two"))) as host:
        (tmp_path / "project" / "a.txt").write_text("SECRET")
        result = await host.turn("/cost of @a.txt", client_composed=True)
        assert result["num_turns"] == 1
        assert "SECRET" not in str(host.model.asked[0]["messages"])
        assert "/cost of @a.txt" in str(host.model.asked[0]["messages"])


@pytest.mark.parametrize("name", ["pasted_content", "inline_pastes", "file_attachments"])
async def test_an_unused_field_is_named_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    async with stage(tmp_path, Script.of(text("one"), text("two"))) as host:
        await host.turn("hi", **{name: ["x"]})
        assert name in capsys.readouterr().err
        await host.turn("hi", **{name: []})
        assert capsys.readouterr().err == ""


async def test_a_bash_command_line_is_named_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with stage(tmp_path, Script.of(text("one"))) as host:
        await host.write({"type": "bash_command", "command": "touch made"})
        await host.turn("hi")
        assert "bash_command" in capsys.readouterr().err
    assert not (tmp_path / "project" / "made").exists()
