from __future__ import annotations

from pathlib import Path
from typing import Any

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.stage import stage


async def told(folder: Path, *flags: str, **initialize: Any) -> str:
    async with stage(folder, Script.of(text("ok")), *flags) as host:
        if initialize:
            await host.control("initialize", **initialize)
        await host.turn("go")
        return "\n".join(block["text"] for block in host.model.asked[0]["system"])


async def test_system_prompt_names_the_working_folder(tmp_path: Path) -> None:
    found = await told(tmp_path, "--add-dir", str(tmp_path))
    assert str(tmp_path / "project") in found
    assert f"More folders: {tmp_path}" in found


async def test_system_prompt_flag_replaces_the_default(tmp_path: Path) -> None:
    assert await told(tmp_path, "--system-prompt", "Be a cat.") == "Be a cat."
    assert await told(tmp_path, "--system-prompt", "Be a cat.", "--append-system-prompt", "Purr.") == "Be a cat.\nPurr."
    assert "Purr." in await told(tmp_path, "--append-system-prompt", "Purr.")


async def test_empty_system_prompt_keeps_identity_and_environment(tmp_path: Path) -> None:
    for found in (await told(tmp_path, "--system-prompt", ""), await told(tmp_path, systemPrompt=[""])):
        assert found.startswith("You are the Handrail agent")
        assert str((tmp_path / "project").resolve()) in found
        assert len(found) < 300


async def test_system_prompt_of_the_host_replaces_the_default(tmp_path: Path) -> None:
    assert await told(tmp_path, systemPrompt=["Be", "a cat."]) == "Be\na cat."
    assert await told(tmp_path, systemPrompt="Be a cat.", appendSystemPrompt="Purr.") == "Be a cat.\nPurr."


async def test_appended_text_follows_the_whole_preset(tmp_path: Path) -> None:
    preset = await told(tmp_path)
    appended = await told(tmp_path, appendSystemPrompt="Purr.")
    assert appended.replace("Purr.\n", "") == preset
    assert 2_000 < len(preset) < 3_500


async def test_plan_mode_is_sent_with_prompts_not_in_the_system_prompt(tmp_path: Path) -> None:
    script = Script.of(text("a"), text("b"), text("c"), text("d"))
    async with stage(tmp_path, script, "--permission-mode", "plan") as host:
        await host.turn("one")
        await host.turn("two")
        await host.control("set_permission_mode", mode="default")
        await host.turn("three")
        await host.turn("four")
        last = [request["messages"][-1]["content"] for request in host.model.asked]
        systems = [request["system"] for request in host.model.asked]
    assert all(system == systems[0] for system in systems)
    notes = [[block["text"] for block in content[1:]] for content in last]
    assert "ExitPlanMode" in notes[0][0]
    assert len(notes[1][0]) < len(notes[0][0]) / 3
    assert "has ended" in notes[2][0]
    assert notes[3] == []


async def test_plan_that_the_model_ended_itself_is_not_ended_again(tmp_path: Path) -> None:
    script = Script.of(tool_use("ExitPlanMode", plan="Do it."), text("done"), text("b"))
    async with stage(tmp_path, script, "--permission-mode", "plan") as host:
        await host.turn("one")
        await host.turn("two")
        assert len(host.model.asked[-1]["messages"][-1]["content"]) == 1
