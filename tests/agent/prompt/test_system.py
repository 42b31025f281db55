from __future__ import annotations

from pathlib import Path
from typing import Any

from handrail.agent.models.script import Script, text
from tests.agent.stage import stage


async def told(folder: Path, *flags: str, **initialize: Any) -> str:
    async with stage(folder, Script.of(text("ok")), *flags) as host:
        if initialize:
            await host.control("initialize", **initialize)
        await host.turn("go")
        return "\n".join(block["text"] for block in host.model.asked[0]["system"])


async def test_the_model_is_told_where_it_works(tmp_path: Path) -> None:
    found = await told(tmp_path, "--add-dir", str(tmp_path))
    assert str(tmp_path / "project") in found
    assert f"More folders: {tmp_path}" in found


async def test_notes_for_agents_are_read(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "CLAUDE.md").write_text("Use tabs.")
    assert "Use tabs." in await told(tmp_path)


async def test_notes_that_lead_out_of_the_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_text("the secret")
    (tmp_path / "project" / "CLAUDE.md").symlink_to(tmp_path / "secret")
    assert "the secret" not in await told(tmp_path)


async def test_a_prompt_of_the_command_line_takes_the_place_of_ours(tmp_path: Path) -> None:
    assert await told(tmp_path, "--system-prompt", "Be a cat.") == "Be a cat."
    assert await told(tmp_path, "--system-prompt", "Be a cat.", "--append-system-prompt", "Purr.") == "Be a cat.\nPurr."
    assert (await told(tmp_path, "--append-system-prompt", "Purr.")).endswith("Purr.")


async def test_an_empty_prompt_is_none(tmp_path: Path) -> None:
    assert await told(tmp_path, "--system-prompt", "") == ""


async def test_a_prompt_of_the_host_takes_the_place_of_ours(tmp_path: Path) -> None:
    assert await told(tmp_path, systemPrompt=["Be", "a cat."]) == "Be\na cat."
    assert await told(tmp_path, systemPrompt="Be a cat.", appendSystemPrompt="Purr.") == "Be a cat.\nPurr."


async def test_a_plan_is_spoken_of(tmp_path: Path) -> None:
    assert "ExitPlanMode" in await told(tmp_path, "--permission-mode", "plan")
