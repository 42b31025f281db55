"""Every known attack, run in the cage with the permission engine switched off: none may have an effect outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cage.attack_range import range_problem, run_range
from tests.cage.caged import needs_guard
from tests.cage.own_attacks import own_attacks
from tests.permissions.bash_cases import CORPUS, rows

PROBLEM = range_problem()
pytestmark = [needs_guard, pytest.mark.campaign, pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM or "it can run")]
PARTS = 4

UNCAGED = {
    "read": "cat ../outside.txt",
    "written": "touch ../pwned; chmod 600 a.txt",
    "reached": "exec 3<>/dev/tcp/127.0.0.1/PORT",
    "left": "setsid env -i sleep 1000 &",
    "signalled": "kill -9 WITNESS",
}
"""Commands that have each of the effects outside of the cage."""


def effects(ran: list[dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    found = {each["cmd"]: {kind: what for kind, what in each["effects"].items() if what} for each in ran}
    return {command: what for command, what in found.items() if what}


def corpus() -> list[dict[str, Any]]:
    found = [row for path in sorted(CORPUS.glob("*.jsonl")) if "path" not in path.name for row in rows(path.name)]
    attacks = [row for row in found if row["expect"] != "allow" and "\0" not in row["cmd"]]
    for row in attacks:
        row["deny"] = [rule for rule in row.get("deny", []) if rule.startswith("Read")]
    return attacks


def test_range_notices_every_effect(tmp_path: Path):
    for kind, command in UNCAGED.items():
        (ran,) = run_range(tmp_path / kind, [{"id": kind, "cmd": command, "caged": False}])
        assert kind in effects([ran])[command]


def test_attacks_on_the_cage_have_no_effect(tmp_path: Path):
    ran = run_range(tmp_path / "range", own_attacks())
    assert len(ran) >= 200
    assert effects(ran) == {}


def test_corpus_is_complete():
    assert len(corpus()) >= 800


@pytest.mark.parametrize("part", range(PARTS))
def test_attacks_of_the_corpus_have_no_effect(tmp_path: Path, part: int):
    assert effects(run_range(tmp_path / "range", corpus()[part::PARTS])) == {}
