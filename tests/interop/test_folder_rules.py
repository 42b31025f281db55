"""Rules of a folder's own files mean the same to the real CLI when they are passed on with --settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail import Allow, PermissionRequest
from handrail.agent.models.script import ToolUse
from handrail.settings import restrictions_of
from handrail.testing import Lab, text
from tests.interop.scenario import Model, Talk, results_seen

FILES = ("secret/a.txt", "sub/secret/a.txt", "sub/b.txt", "b.txt", "x.txt")
RULES = [
    "Bash(mkdir:*)",
    "Read(/secret/**)",
    "Read(./sub/b.txt)",
    "Read(sub/b.txt)",
    "Read(b.txt)",
    "Read(secret)",
    "Read(/**/b.txt)",
    "Edit(/x.txt)",
    "Edit(./x.txt)",
]


def fill(project: Path) -> None:
    for name in FILES:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")


def write_settings(project: Path, content: str | dict[str, Any]) -> None:
    (project / ".claude").mkdir(exist_ok=True)
    written = content if isinstance(content, str) else json.dumps(content)
    (project / ".claude" / "settings.json").write_text(written)


async def decisions(project: Path, model: Model, talk: Talk, **options: Any) -> dict[str, str]:
    """Let the CLI decide about reading each file, writing one and running `mkdir`, in mode acceptEdits."""
    calls = [ToolUse("Read", {"file_path": str(project / name)}, id=f"Read {name}") for name in FILES]
    calls.append(ToolUse("Write", {"file_path": str(project / "x.txt"), "content": "y"}, id="Write x.txt"))
    calls.append(ToolUse("Bash", {"command": "mkdir -p made"}, id="mkdir"))
    found: dict[str, str] = {}

    async def allow(request: PermissionRequest) -> Allow:
        found[request.tool_use_id] = "ask"
        return Allow()

    given = {"permission_mode": "acceptEdits", "can_use_tool": allow, "cwd": project, **options}
    async with talk(model(calls, text("done")), **given) as session:
        messages = [message async for message in await session.send("go")]
    for result in results_seen(messages):
        found.setdefault(result.tool_use_id, "deny" if result.is_error else "allow")
    return found


@pytest.mark.parametrize("behavior", ["deny", "ask"])
@pytest.mark.parametrize("rule", RULES)
async def test_rule_decides_the_same_when_it_is_passed_on(model: Model, talk: Talk, lab: Lab, rule: str, behavior: str):
    fill(lab.project)
    write_settings(lab.project, {"permissions": {behavior: [rule]}})
    own = await decisions(lab.project, model, talk, setting_sources=("user", "project", "local"))
    passed_on = restrictions_of(str(lab.project), str(lab.home)).settings
    assert await decisions(lab.project, model, talk, setting_sources=("user",), settings=passed_on) == own
    assert behavior in own.values()


@pytest.mark.parametrize("name", ["pro[j]ect (1)", "what*", "trailing "])
async def test_rule_of_a_folder_with_an_odd_name_holds(model: Model, talk: Talk, lab: Lab, name: str):
    project = lab.project / name
    fill(project)
    write_settings(project, {"permissions": {"deny": ["Read(/secret/**)"]}})
    passed_on = restrictions_of(str(project), str(lab.home)).settings
    found = await decisions(project, model, talk, setting_sources=("user",), settings=passed_on)
    assert [call for call, behavior in found.items() if behavior == "deny"] == ["Read secret/a.txt"]


@pytest.mark.parametrize("sources", [("user",), ("user", "project", "local")])
async def test_rules_of_a_broken_file_hold(model: Model, talk: Talk, lab: Lab, sources: tuple[str, ...]):
    """The CLI by itself ignores a file that is not valid JSON."""
    fill(lab.project)
    write_settings(lab.project, '{"permissions": {"deny": ["Bash(mkdir:*)", "Edit(/x.txt"]},,}')
    passed_on = restrictions_of(str(lab.project), str(lab.home), cli_reads_folder=len(sources) > 1).settings
    found = await decisions(lab.project, model, talk, setting_sources=sources, settings=passed_on)
    assert (found["mkdir"], found["Write x.txt"]) == ("deny", "ask")


async def test_mode_that_bypasses_stays_banned(model: Model, talk: Talk, lab: Lab):
    write_settings(lab.project, {"permissions": {"disableBypassPermissionsMode": "disable"}})
    fill(lab.project)
    found = await decisions(
        lab.project,
        model,
        talk,
        setting_sources=("user",),
        settings=restrictions_of(str(lab.project), str(lab.home)).settings,
        permission_mode="bypassPermissions",
        allow_dangerously_skip_permissions=True,
    )
    assert found["Write x.txt"] == "ask"
