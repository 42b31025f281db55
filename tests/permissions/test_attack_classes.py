"""No relative of the known attacks is allowed, and each class has at least ten of them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide
from handrail.permissions.paths.matching import Anchors
from tests.permissions.attack_classes import Attack, attacks, harmless
from tests.permissions.bash_cases import rules

FILES = (
    "away/secret",
    "away/data/x",
    "proj/a.txt",
    "proj/a2.txt",
    "proj/.env",
    "proj/x.c",
    "proj/src/app.ts",
    "proj/kit/sub/f",
    "proj/a=b/c",
    "proj/dot/.husky/pre-commit",
    "proj/vendor/bare/HEAD",
    "proj/vendor/bare/refs/heads/x",
    "proj/vendor/bare/objects/x",
    "proj/vendor/nested/.git/HEAD",
    "proj/vendor/nested/deep/x",
    "proj/.git/HEAD",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layout").resolve()
    for name in FILES:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    os.symlink(folder / "away", folder / "proj/kit/up")
    os.symlink(folder / "away/secret", folder / "proj/key")
    return folder


KINDS = Counter(attack.kind for attack in attacks("/o", "/a"))


def is_allowed(attack: Attack, anchors: Anchors) -> bool:
    given = {name: attack.given.get(name, ()) for name in ("allow", "deny", "ask")}
    circumstances = Circumstances(anchors=anchors, mode=attack.given.get("mode", "default"), rules=rules(**given))
    return decide("Bash", {"command": attack.command}, circumstances, Disk(anchors)).behavior == "allow"


@pytest.mark.parametrize("kind", KINDS)
def test_no_attack_of_a_class_is_allowed(kind: str, root: Path):
    anchors = anchors_of(str(root / "proj"), home=str(root / "home"))
    found = [attack for attack in attacks(str(root / "away/secret"), str(root / "away")) if attack.kind == kind]
    assert [attack.command for attack in found if is_allowed(attack, anchors)] == []


def test_every_class_has_enough_attacks():
    assert len(KINDS) >= 24
    assert {kind: count for kind, count in KINDS.items() if count < 10} == {}


def test_folders_are_compared_unless_links_are_in_them(root: Path):
    anchors = anchors_of(str(root / "proj"))

    def decided(command: str, *allow: str) -> str:
        circumstances = Circumstances(anchors=anchors, rules=rules(allow=allow))
        return decide("Bash", {"command": command}, circumstances, Disk(anchors)).behavior

    assert decided("diff src a=b") == "allow"
    assert decided("diff src kit") == "ask"
    assert decided("diff src kit", "Bash(diff src kit)") == "allow"


def test_harmless_commands_of_every_class_are_allowed(root: Path):
    anchors = anchors_of(str(root / "proj"), home=str(root / "home"))
    found = list(harmless())
    assert {attack.kind for attack in found} == set(KINDS)
    assert [attack.command for attack in found if not is_allowed(attack, anchors)] == []
