"""Later parts of a command see what earlier parts have changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide
from tests.permissions.bash_cases import rules


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    project = tmp_path.resolve() / "proj"
    for name in ("plain/f", "kit/f", "dot/.husky/x", "a.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")
    os.symlink(tmp_path, project / "kit/up")
    return project


def decided(project: Path, command: str, *allow: str) -> str:
    anchors = anchors_of(str(project), home="/h")
    circumstances = Circumstances(anchors=anchors, mode="acceptEdits", rules=rules(allow=allow))
    return decide("Bash", {"command": command}, circumstances, Disk(anchors)).behavior


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p build && touch build/x",
        "cp a.txt b.txt && rm b.txt",
        "mv a.txt b.txt && cat b.txt",
        "cp -r plain x && touch x/f",
        "mv plain x; rm x/f",
        "sed -i s/x/y/ a.txt && cat a.txt",
        "mv kit x; touch other",
        "cp -r plain/f x; cat x",
        "mv plain x; touch xy/up",
    ],
)
def test_changes_without_links_are_followed(project: Path, command: str):
    assert decided(project, command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "mv kit x; touch x/up/f",
        "cp -r kit x; cat x/up/f",
        "mv kit/up x; cat x/f",
        "mv missing x; touch x/f",
        "mv k* x; touch x/f",
        'mv "$y" x; touch x/f',
        "cp -r plain x; git -C x status",
        "cp -r dot/. .",
        "cp -rT dot .",
        "cp -r .. x",
    ],
)
def test_changes_that_may_lead_away_are_asked_about(project: Path, command: str):
    assert decided(project, command) == "ask"


def test_unpacked_files_may_be_links(project: Path):
    assert decided(project, "tar xf a.tar; touch x/f", "Bash(tar:*)") == "ask"
    assert decided(project, "git checkout x; touch f", "Bash(git checkout:*)") == "ask"
    assert decided(project, "make; touch f", "Bash(make:*)") == "allow"
