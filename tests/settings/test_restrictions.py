"""Deny and ask rules of a folder's own files, passed on with --settings."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide
from handrail.settings import Restrictions, load, restrictions_of
from handrail.settings.plain_file import LIMIT
from handrail.settings.restrictions import MOST_BYTES
from tests.settings.folder import Folder

HOOK = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}}


def found(folder: Folder, *, cli_reads_folder: bool = False, at: Path | None = None) -> Restrictions:
    return restrictions_of(str(at or folder.path), str(folder.home), cli_reads_folder=cli_reads_folder)


def permissions(**rules: Any) -> dict[str, Any]:
    return {"permissions": {"allow": ["Bash(npm test)"], **rules}}


def test_deny_and_ask_rules_are_returned_and_allow_rules_are_not(folder: Folder):
    folder.put(".claude/settings.json", {**HOOK, **permissions(deny=["Bash(mkdir:*)"], ask=["WebFetch"])})
    folder.put(".claude/settings.local.json", permissions(deny=["Bash(mkdir:*)", "Bash(rm:*)"]))
    assert found(folder).settings == {"permissions": {"deny": ["Bash(mkdir:*)", "Bash(rm:*)"], "ask": ["WebFetch"]}}
    assert found(folder).problems == ()


def test_folder_without_settings_has_no_restrictions(folder: Folder):
    assert found(folder) == Restrictions()
    assert found(folder).settings == {}


def test_user_and_flag_settings_are_not_part_of_it(folder: Folder):
    folder.put_user(permissions(deny=["Bash(rm:*)"]))
    folder.put(".mcp.json", permissions(deny=["Read"]))
    assert found(folder).settings == {}


def test_local_settings_at_the_top_of_the_repository_count_in_a_subfolder(folder: Folder):
    subprocess.run(["git", "init", "-q", str(folder.path)], check=True)
    below = folder.path / "below"
    below.mkdir()
    folder.put(".claude/settings.local.json", permissions(deny=["Edit(/x)"]))
    folder.put(".claude/settings.json", permissions(deny=["Bash"]))
    assert found(folder, at=below).deny == ("Edit(/x)", f"Edit(/{below}/x)")


def test_file_that_the_cli_reads_itself_is_left_to_it(folder: Folder):
    folder.put(".claude/settings.json", permissions(deny=["Bash(mkdir:*)"], disableBypassPermissionsMode="disable"))
    assert found(folder, cli_reads_folder=True) == Restrictions()
    folder.put(".claude/settings.local.json", '{"permissions": {"deny": ["Bash(rm:*)"], "ask": ["Read"]},')
    broken = found(folder, cli_reads_folder=True)
    assert broken.settings == {"permissions": {"deny": ["Bash(rm:*)"], "ask": ["Read"]}}
    assert ["settings.local.json" in problem.path for problem in broken.problems] == [True]


def test_ban_of_the_mode_that_bypasses_is_passed_on(folder: Folder):
    folder.put(".claude/settings.json", permissions(disableBypassPermissionsMode="disable"))
    assert found(folder).settings == {"permissions": {"disableBypassPermissionsMode": "disable"}}
    assert load(str(folder.path), flag=json.dumps(found(folder).settings)).settings.bypass_disabled


@pytest.mark.parametrize(
    "written",
    [
        '{"permissions": {"deny": ["Bash(rm:*)"],,}}',
        '{"permissions": {"deny": ["Bash(rm:*)"]}',
        '{"permissions": {"deny": ["Bash(rm:*)", 5, {"a": ["b"]}], "allow": "Read"}}',
        '{"permissions": {"deny": [], "deny": ["Bash(rm:*)"]}}',
        '{"permissions": {"deny": "Bash(rm:*)"}}',
        '{"env": [], "permissions": {"deny": ["Bash(rm:*)"]}}',
    ],
)
def test_readable_rules_of_a_broken_file_hold(folder: Folder, written: str):
    folder.put(".claude/settings.json", written)
    for cli_reads_folder in (False, True):
        assert "Bash(rm:*)" in found(folder, cli_reads_folder=cli_reads_folder).deny
        assert found(folder, cli_reads_folder=cli_reads_folder).problems


@pytest.mark.parametrize(
    "kind", ["invalid UTF-8", "empty", "too large", "link", "dead link", "pipe", "directory", "[]"]
)
def test_unreadable_file_keeps_the_rules_of_its_last_valid_version(folder: Folder, kind: str):
    path = folder.put(".claude/settings.json", permissions(deny=["Bash(rm:*)"]))
    assert found(folder).deny == ("Bash(rm:*)",)
    path.unlink()
    secret = folder.root / "secret.txt"
    secret.write_text("the secret text")
    match kind:
        case "invalid UTF-8":
            path.write_bytes(b'{"permissions": {"deny": ["Read(\xff)"]}}')
        case "empty":
            path.write_bytes(b"")
        case "too large":
            path.write_bytes(b" " * (LIMIT + 1))
        case "link":
            path.symlink_to(secret)
        case "dead link":
            path.symlink_to(folder.root / "nothing")
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.write_text("[]")
    broken = found(folder)
    assert broken.deny == ("Bash(rm:*)",)
    assert [problem.path for problem in broken.problems] == [str(path)]
    assert "the secret text" not in str(broken)


def test_removed_file_restricts_nothing(folder: Folder):
    path = folder.put(".claude/settings.json", permissions(deny=["Bash(rm:*)"]))
    assert found(folder).deny
    path.unlink()
    assert found(folder) == Restrictions()


# Rules


def test_rules_relative_to_the_project_are_also_passed_on_with_an_absolute_path(folder: Folder):
    rules = ["Read(/secret/**)", "Edit(/x)", "Write(/y)", "Read(./a)", "Read(a/b)", "Read(//etc/x)", "Edit(~/x)"]
    folder.put(".claude/settings.json", permissions(deny=[*rules, "Bash(/bin/ls)", "Read"], ask=["Read(/secret/**)"]))
    added = [f"Read(/{folder.path}/secret/**)", f"Edit(/{folder.path}/x)", f"Write(/{folder.path}/y)"]
    assert sorted(set(found(folder).deny) - {*rules, "Bash(/bin/ls)", "Read"}) == sorted(added)
    assert found(folder).ask == ("Read(/secret/**)", added[0])


@pytest.mark.parametrize("name", ["pro[j]ect (1)", "what*", "back\\slash", "bell\x07", b"byte\xff", "trailing "])
def test_passed_on_rule_covers_the_same_files_in_a_folder_with_an_odd_name(folder: Folder, name: str | bytes):
    path = folder.root / os.fsdecode(name)
    (path / ".claude").mkdir(parents=True)
    (path / "secret").mkdir()
    (path / ".claude" / "settings.json").write_text(json.dumps(permissions(deny=["Read(/secret/**)"])))
    absolute = found(folder, at=path).deny[1]
    assert found(folder, at=path).problems == ()
    loaded = load(
        str(folder.path),  # another folder, so that only an absolute rule can cover the file
        home=str(folder.home),
        flag=json.dumps({"permissions": {"deny": [absolute]}}),
    )
    (rule,) = loaded.settings.rules
    assert not rule.broken
    circumstances = Circumstances(rules=loaded.settings.rules, anchors=anchors_of(str(folder.path)))
    disk = Disk(circumstances.anchors)
    assert decide("Read", {"file_path": str(path / "secret" / "a")}, circumstances, disk).behavior == "deny"
    assert decide("Read", {"file_path": str(folder.path / "secret" / "a")}, circumstances, disk).behavior == "allow"


def test_broken_rule_is_passed_on_and_asks_before_every_use_of_its_tool(folder: Folder):
    folder.put(".claude/settings.json", permissions(deny=["Bash(mkdir", ")("], ask=["Read(/x"]))
    restricted = found(folder)
    assert restricted.deny == ("Bash(mkdir", ")(")
    assert restricted.ask == ("Bash", "Read(/x", "Read(//**)")
    assert ["cannot be read" in problem.text for problem in restricted.problems] == [True] * 3


def test_rule_too_long_for_an_absolute_path_is_passed_on_as_written(folder: Folder):
    rule = f"Read(/{'a' * 4090})"
    folder.put(".claude/settings.json", permissions(deny=[rule]))
    assert found(folder).deny == (rule,)
    assert ["too long" in problem.text for problem in found(folder).problems] == [True]


def test_too_many_rules_become_rules_for_whole_tools(folder: Folder):
    many = [f"Bash(rm {n:05}{'x' * 40})" for n in range(MOST_BYTES // 50)]
    folder.put(".claude/settings.json", permissions(deny=[*many, "Read(/x)"], ask=["WebFetch"]))
    assert found(folder).settings["permissions"] == {"deny": ["Bash", "Read"], "ask": ["WebFetch"]}
    assert ["more deny rules" in problem.text for problem in found(folder).problems] == [True]


def test_too_many_tools_become_a_rule_for_every_tool(folder: Folder):
    folder.put(".claude/settings.json", permissions(deny=[f"mcp__a__{n:042}" for n in range(MOST_BYTES // 50)]))
    assert found(folder).deny == ("*",)


# The same decisions


CASES = [
    ("Bash", {"command": "mkdir made"}),
    ("Bash", {"command": "npm test"}),
    ("Bash", {"command": "rmdir made"}),
    ("Read", {"file_path": "secret/a"}),
    ("Read", {"file_path": "other/secret/a"}),
    ("Edit", {"file_path": "x", "old_string": "a", "new_string": "b"}),
    ("Write", {"file_path": "deep/y.txt", "content": "a"}),
    ("Read", {"file_path": "/etc/shadow"}),
    ("Read", {"file_path": "/etc/hostname"}),
    ("WebFetch", {"url": "https://example.org/"}),
    ("Glob", {"pattern": "secret/**"}),
]
RULES = {
    "plain": permissions(deny=["Bash(mkdir:*)", "Read(/secret/**)", "Edit(./x)"], ask=["Bash(npm:*)", "Write(y.txt)"]),
    "outside": permissions(deny=["Read(/etc/shadow)", "WebFetch(domain:example.org)"], ask=["Read(//etc/hostname)"]),
    "broken rules": permissions(deny=["Bash(mkdir", "Read(/secret", "Edit(/x"], ask=["WebFetch("]),
    "cut off": '{"permissions": {"deny": ["Bash(mkdir:*)", "Read(/secret/**)"], "ask": ["Bash(npm',
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_passed_on_rules_decide_as_the_folders_own(folder: Folder, rules: Any, mode: str):
    """`handrail permissions explain` loads the folder's files; a session gets the restrictions with --settings."""
    folder.put(".claude/settings.json", rules)
    (folder.path / "secret").mkdir()
    (folder.path / "x").write_text("a")
    explained = folder.load().settings.rules
    explained = tuple(rule for rule in explained if rule.behavior != "allow")  # as in an untrusted folder
    passed_on = json.dumps(found(folder).settings)
    (folder.path / ".claude" / "settings.json").unlink()
    session = folder.load(flag=passed_on).settings.rules
    for tool, given in CASES:
        decided: list[str] = []
        for in_force in (explained, session):
            circumstances = Circumstances(
                mode=mode,
                rules=in_force,
                anchors=anchors_of(str(folder.path)),
                bypass_available=mode == "bypassPermissions",
            )
            decided.append(decide(tool, given, circumstances, Disk(circumstances.anchors)).behavior)
        assert decided[0] == decided[1], (tool, given)
