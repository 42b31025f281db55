"""Which files rules hide from the cage, and where they have to be looked for."""

from __future__ import annotations

import pytest

from handrail.cage.hidden import Hidden, hidden_files
from handrail.files.resolve import anchors_of
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.rules.rule import SourcedRule, parse_rule


def hidden(*rules: str, behavior: str = "deny") -> Hidden | None:
    sourced = tuple(SourcedRule(parse_rule(rule), behavior, "session") for rule in rules)  # type: ignore[arg-type]
    return hidden_files(Circumstances(anchors_of("/w/project", home="/h/me"), rules=sourced))


def test_nothing_is_hidden_without_a_rule_that_denies_reading():
    assert hidden() is None
    assert hidden("Bash(ls)", "Edit(.env)") is None
    assert hidden("Read(.env)", behavior="ask") is None


@pytest.mark.parametrize(
    ("rule", "path", "is_hidden"),
    [
        ("Read(.env)", "/w/project/.env", True),
        ("Read(.env)", "/w/project/deep/er/.ENV", True),
        ("Read(.env)", "/w/project/.env.sample", False),
        ("Read(./secrets/**)", "/w/project/secrets/key", True),
        ("Read(./secrets/**)", "/w/project/src/secrets", False),
        ("Read(secrets)", "/w/project/src/secrets", True),
        ("Read(**/*.pem)", "/w/project/a/b.pem", True),
        ("Read(**/*.pem)", "/w/project/a/b.txt", False),
        ("Read(/config/prod.json)", "/w/project/config/prod.json", True),
        ("Read(//etc/hosts)", "/etc/hosts", True),
        ("Read(~/.config/**)", "/h/me/.config/x", True),
        ("Read(../shared/key)", "/w/shared/key", True),
        ("Read", "/w/project/anything", True),
    ],
)
def test_rules_hide_files(rule: str, path: str, *, is_hidden: bool):
    found = hidden(rule)
    assert found is not None
    on_the_way = [path[: at or 1] for at in range(len(path)) if path[at] == "/"]
    covered = found.concerns(path) and any(found.covers(part) for part in [*on_the_way[1:], path])
    assert covered is is_hidden


@pytest.mark.parametrize(
    ("rule", "concerned", "not_concerned"),
    [
        ("Read(.env)", ["/w/project", "/w/project/src", "/w"], ["/usr", "/w/projects"]),
        ("Read(./secrets/**)", ["/w/project", "/w/project/secrets/a"], ["/w/project/src", "/usr"]),
        ("Read(//usr/share/private/**)", ["/usr", "/usr/share", "/USR"], ["/usr/lib", "/w/project"]),
        ("Read(~/.cargo/**)", ["/h/me/.cargo/bin"], ["/h/me/.pyenv", "/w/project"]),
        ("Read(//**/*.pem)", ["/usr", "/w/project"], []),
        ("Read", ["/usr", "/w/project"], []),
    ],
)
def test_only_folders_that_a_rule_can_mean_are_searched(rule: str, concerned: list[str], not_concerned: list[str]):
    found = hidden(rule)
    assert found is not None
    assert [folder for folder in [*concerned, *not_concerned] if found.concerns(folder)] == concerned
