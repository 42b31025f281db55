"""Every known attack, run in the cage with the permission engine switched off: none may have an effect outside."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.cage.attack_range import range_problem, run_range
from tests.cage.caged import needs_guard
from tests.cage.own_attacks import own_attacks
from tests.permissions.attack_classes import Attack, attacks, harmless
from tests.permissions.bash_cases import CORPUS, rows

PROBLEM = range_problem()
pytestmark = [needs_guard, pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM or "it can run")]
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


def generated(found: Iterable[Attack]) -> list[dict[str, Any]]:
    return [{"id": attack.kind, "cmd": attack.command, **attack.given} for attack in found]


def generated_attacks(root: Path) -> list[dict[str, Any]]:
    """Every attack of the generator, aimed at the files of a range."""
    return generated(attacks(str(root / "outside.txt"), str(root / "precious")))


def one_of_each(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({attack["id"]: attack for attack in reversed(found)}.values())


def with_engine(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**attack, "engine": True} for attack in found]


def test_one_attack_of_each_class_has_no_effect(tmp_path: Path):
    root = tmp_path / "range"
    ran = run_range(root, [attack for attack in one_of_each(generated_attacks(root)) if attack["id"] != "dos"])
    assert len(ran) >= 23
    assert effects(ran) == {}


def test_one_harmless_command_of_each_class_is_allowed_and_has_no_other_effect(tmp_path: Path):
    root = tmp_path / "range"
    ran = run_range(root, with_engine(one_of_each(generated(harmless()))), hostile=False)
    assert [each["cmd"] for each in ran if not each["allowed"]] == []
    assert effects(ran) == {}


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(PARTS))
def test_generated_attacks_have_no_effect(tmp_path: Path, part: int):
    root = tmp_path / "range"
    assert effects(run_range(root, generated_attacks(root)[part::PARTS])) == {}


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(PARTS))
def test_allowed_commands_have_no_effect_but_the_allowed_one(tmp_path: Path, part: int):
    """Each class has its own range, because some commands remove files."""
    kinds = list(dict.fromkeys(attack.kind for attack in harmless()))
    for kind in kinds[part::PARTS]:
        found = [attack for attack in generated(harmless()) if attack["id"] == kind]
        ran = run_range(tmp_path / kind, with_engine(found), hostile=False)
        assert [each["cmd"] for each in ran if not each["allowed"]] == []
        assert effects(ran) == {}


@pytest.mark.campaign
def test_no_generated_attack_is_allowed(tmp_path: Path):
    root = tmp_path / "range"
    ran = run_range(root, with_engine(generated_attacks(root)), hostile=False)
    assert [each["cmd"] for each in ran if each["allowed"]] == []


@pytest.mark.campaign
def test_range_notices_every_effect(tmp_path: Path):
    for kind, command in UNCAGED.items():
        (ran,) = run_range(tmp_path / kind, [{"id": kind, "cmd": command, "caged": False}])
        assert kind in effects([ran])[command]


@pytest.mark.campaign
def test_attacks_on_the_cage_have_no_effect(tmp_path: Path):
    ran = run_range(tmp_path / "range", own_attacks())
    assert len(ran) >= 200
    assert effects(ran) == {}


@pytest.mark.campaign
def test_corpus_is_complete():
    assert len(corpus()) >= 800


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(PARTS))
def test_attacks_of_the_corpus_have_no_effect(tmp_path: Path, part: int):
    assert effects(run_range(tmp_path / "range", corpus()[part::PARTS])) == {}
