"""Every Bash case is decided as it must be, and what developers type all day asks at most once in twenty."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances, Decision
from handrail.permissions.decide import decide
from handrail.permissions.rules.rule import Behavior, read_rules

CASES = [json.loads(line) for line in (Path(__file__).parent / "corpus" / "bash.jsonl").read_text().splitlines()]
ATTACKS = [case for case in CASES if case["cls"] != "benign"]
BENIGN = [case for case in CASES if case["cls"] == "benign"]


def decided(case: dict[str, Any], root: Path) -> Decision:
    """The cases speak of a home at /tmp/home; the project is an empty folder."""
    project = root / "project"
    project.mkdir(exist_ok=True)
    anchors = anchors_of(str(project), home="/tmp/home")
    rules = [rule for behavior in get_args(Behavior) for rule in read_rules(case[behavior], behavior, "userSettings")]
    circumstances = Circumstances(
        anchors=anchors,
        mode=case["mode"],
        rules=tuple(rules),
        bypass_available=case["mode"] == "bypassPermissions",
    )
    return decide("Bash", {"command": case["cmd"]}, circumstances, Disk(anchors))


@pytest.mark.parametrize("case", ATTACKS, ids=lambda case: case["id"])
def test_an_attack_is_decided_as_it_must_be(case: dict[str, Any], tmp_path: Path):
    assert decided(case, tmp_path).behavior == case["expect"]


def test_common_developer_commands_rarely_ask(tmp_path: Path):
    asked = [case["cmd"] for case in BENIGN if decided(case, tmp_path).behavior != case["expect"]]
    assert len(asked) <= len(BENIGN) // 20, asked
