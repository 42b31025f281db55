"""A folder's own deny and ask rules hold in every state of trust, with a real agent in mode acceptEdits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from handrail.bridge.session.launcher import launcher
from handrail.bridge.store.base import SessionRecord
from handrail.model_access.choice import CliChoice
from tests.bridge.stage import Stage, stage

DENY_MKDIR = "Bash(mkdir:*)"


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that answers every prompt with one `mkdir`, then with text."""
    blocks = [{"type": "tool_use", "name": "Bash", "input": {"command": "mkdir made"}}]
    replies = [{"when": {"prompt": "go"}, "blocks": blocks}, {"blocks": [{"type": "text", "text": "done"}]}]
    monkeypatch.setenv("HANDRAIL_SCRIPT", json.dumps({"replies": replies, "helper": None}))


def write_settings(folder: Path, permissions: dict[str, Any], name: str = "settings.json") -> None:
    """Settings with these permissions and an allow rule, so that the folder has to be trusted."""
    path = folder / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"permissions": {"allow": ["Bash(npm test)"], **permissions}}))


async def run(on: Stage, folder: Path, *, trust: bool = False) -> dict[str, Any]:
    """Start a session, let the model run `mkdir`, and return the session with the text of the tool's result."""
    answer = await on.do("start", cwd=str(folder), mode="acceptEdits")
    session = answer["session"]["id"]
    if trust:
        await on.do("accept_trust", session=session, digest=answer["trust"]["digest"])
        answer = await on.do("resume", session=session)
    async with on.viewer(session) as viewer:
        await on.do("send", session=session, text="go")
        result = await viewer.until_result()
        await on.do("stop", session=session)
    return {"trusted": answer["session"]["trusted"], "denied": [d["tool_name"] for d in result["permission_denials"]]}


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
async def test_deny_rule_of_an_untrusted_folder_holds(tmp_path: Path, name: str):
    folder = tmp_path / "clone"
    write_settings(folder, {"deny": [DENY_MKDIR]}, name)
    async with stage(tmp_path) as on:
        assert await run(on, folder) == {"trusted": False, "denied": ["Bash"]}
    assert not (folder / "made").exists()


async def test_deny_rule_of_a_trusted_folder_holds(tmp_path: Path):
    folder = tmp_path / "clone"
    write_settings(folder, {"deny": [DENY_MKDIR]})
    async with stage(tmp_path) as on:
        assert await run(on, folder, trust=True) == {"trusted": True, "denied": ["Bash"]}
    assert not (folder / "made").exists()


async def test_deny_rule_holds_after_one_more_deny_ended_the_trust(tmp_path: Path):
    folder = tmp_path / "clone"
    write_settings(folder, {"deny": [DENY_MKDIR]})
    async with stage(tmp_path) as on:
        assert (await run(on, folder, trust=True))["trusted"]
        write_settings(folder, {"deny": [DENY_MKDIR, "Bash(rmdir:*)"]})
        assert await run(on, folder) == {"trusted": False, "denied": ["Bash"]}
    assert not (folder / "made").exists()


async def test_deny_rule_holds_in_a_file_that_was_cut_off(tmp_path: Path):
    folder = tmp_path / "clone"
    write_settings(folder, {"deny": [DENY_MKDIR]})
    path = folder / ".claude" / "settings.json"
    path.write_text(path.read_text()[:-2])
    async with stage(tmp_path) as on:
        assert (await run(on, folder))["denied"] == ["Bash"]
    assert not (folder / "made").exists()


async def test_ask_rule_of_an_untrusted_folder_asks(tmp_path: Path):
    folder = tmp_path / "clone"
    write_settings(folder, {"ask": [DENY_MKDIR]})
    async with stage(tmp_path) as on:
        session = await on.start(cwd=folder, mode="acceptEdits", prompt="go")
        async with on.viewer(session) as viewer:
            asked = await viewer.until_kind("asked")
            assert not (folder / "made").exists()
            await on.answer(session, asked)
            await viewer.until_result()
    assert (folder / "made").is_dir()


def test_restrictions_and_the_chosen_output_style_are_both_passed_on(tmp_path: Path):
    write_settings(tmp_path, {"deny": [DENY_MKDIR]})
    record = SessionRecord(
        id=str(uuid4()), cwd=str(tmp_path), created=0, changed=0, options={"output_style": "Explanatory"}
    )
    options = launcher(CliChoice.fixed("/bin/true"))(record, resumes=False)
    assert options.settings == {"outputStyle": "Explanatory", "permissions": {"deny": [DENY_MKDIR]}}
