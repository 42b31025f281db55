"""Trust that the user gave in the CLI's dialog counts for our agent in the same places as for the CLI itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail import Deny, PermissionRequest
from handrail.testing import Lab, text
from tests.interop.scenario import Model, Talk, bash

AGENT = Path(sys.executable).with_name("handrail-agent")
SETTINGS = json.dumps({"permissions": {"allow": ["Bash(touch made)"]}})
Case = tuple[Path, dict[str, str]]


def folder(path: Path) -> Path:
    """A folder with an allow rule."""
    (path / ".claude").mkdir(parents=True)
    (path / ".claude" / "settings.json").write_text(SETTINGS)
    return path


def accept(folder: Path, state_file: Path) -> None:
    state_file.parent.mkdir(parents=True, exist_ok=True)
    state_file.write_text(json.dumps({"projects": {str(folder): {"hasTrustDialogAccepted": True}}}))


def git(*words: object) -> None:
    identity = ("-c", "user.email=a@b", "-c", "user.name=n")
    subprocess.run(["git", *identity, *map(str, words)], check=True, capture_output=True)


def no_answer(lab: Lab) -> Case:
    return folder(lab.project / "a"), {}


def this_folder(lab: Lab) -> Case:
    accept(lab.project / "a", lab.home / ".claude.json")
    return folder(lab.project / "a"), {}


def folder_above(lab: Lab) -> Case:
    accept(lab.project, lab.home / ".claude.json")
    return folder(lab.project / "a"), {}


def top_of_the_repository(lab: Lab) -> Case:
    git("init", lab.project)
    accept(lab.project, lab.home / ".claude.json")
    return folder(lab.project / "a"), {}


def folder_in_the_repository(lab: Lab) -> Case:
    git("init", lab.project)
    accept(lab.project / "a", lab.home / ".claude.json")
    return folder(lab.project / "a"), {}


def worktree(lab: Lab) -> Case:
    main = lab.project / "main"
    git("init", main)
    git("-C", main, "commit", "--allow-empty", "-m", "x")
    git("-C", main, "worktree", "add", lab.project / "tree")
    accept(main, lab.home / ".claude.json")
    return folder(lab.project / "tree"), {}


def named_config_home(lab: Lab) -> Case:
    accept(lab.project / "a", lab.home / "named" / ".claude.json")
    return folder(lab.project / "a"), {"CLAUDE_CONFIG_DIR": str(lab.home / "named")}


def other_config_home(lab: Lab) -> Case:
    accept(lab.project / "a", lab.home / ".claude.json")
    return folder(lab.project / "a"), {"CLAUDE_CONFIG_DIR": str(lab.home / "named")}


def older_state_file(lab: Lab) -> Case:
    accept(lab.project / "a", lab.home / ".claude" / ".config.json")
    return folder(lab.project / "a"), {}


CASES: dict[Callable[[Lab], Case], bool] = {
    no_answer: False,
    this_folder: True,
    folder_above: False,
    top_of_the_repository: True,
    folder_in_the_repository: False,
    worktree: True,
    named_config_home: True,
    other_config_home: False,
    older_state_file: True,
}


@pytest.mark.parametrize("which", ["claude", "agent"])
@pytest.mark.parametrize("case", CASES, ids=[case.__name__ for case in CASES])
async def test_answer_in_the_cli_counts_in_the_same_places(
    lab: Lab, model: Model, talk: Talk, cli: Path, case: Callable[[Lab], Case], which: str
):
    cwd, variables = case(lab)
    asked: list[str] = []

    async def deny(request: PermissionRequest) -> Deny:
        asked.append(request.tool_name)
        return Deny("no")

    options = {"cwd": cwd, "variables": variables, "setting_sources": ("user", "project", "local")}
    path = cli if which == "claude" else AGENT
    async with talk(model(bash("touch made"), text("done")), cli_path=path, can_use_tool=deny, **options) as session:
        await session.ask("go")
    assert (asked == []) is CASES[case]
    assert (cwd / "made").exists() is CASES[case]
