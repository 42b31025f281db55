"""Settings files: where they are looked for, and what becomes of those that are not as they should be."""

import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.settings.files import Place, SettingsFile, config_home, places, policy_folder, read_data, read_file
from handrail.settings.plain_file import LIMIT
from tests.settings.folder import Folder

DENY = {"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(rm:*)"], "ask": ["Write"]}}


def damaged(change: tuple[int, bytes]) -> bytes:
    """A good file with some bytes in it written over."""
    at, new = change
    good = json.dumps(DENY).encode()
    return good[:at] + new + good[at + len(new) + 1 :]


def read(path: Path | str) -> SettingsFile:
    return read_file(Place("projectSettings", str(path)))


def test_the_config_home_is_the_variable_or_a_folder_in_the_home(tmp_path: Path):
    assert config_home({"CLAUDE_CONFIG_DIR": "/x/y", "HOME": "/h"}) == "/x/y"
    assert config_home({"HOME": "/h"}) == "/h/.claude"
    assert config_home() == f"{os.environ['HOME']}/.claude"


def test_places_go_from_the_weakest_to_the_strongest(folder: Folder):
    folder.put_policy({}, "managed-settings.d/20-b.json")
    folder.put_policy({}, "managed-settings.d/10-a.json")
    folder.put_policy({}, "managed-settings.d/notes.txt")
    found = places(str(folder.path), str(folder.home), policy=str(folder.policy), flag="{}")
    assert [(place.scope, os.path.relpath(place.path, folder.root)) for place in found if place.text is None] == [
        ("userSettings", "home/.claude/settings.json"),
        ("projectSettings", "project/.mcp.json"),
        ("projectSettings", "project/.claude/settings.json"),
        ("localSettings", "project/.claude/settings.local.json"),
        ("policySettings", "etc/managed-settings.json"),
        ("policySettings", "etc/managed-settings.d/10-a.json"),
        ("policySettings", "etc/managed-settings.d/20-b.json"),
    ]
    assert [place for place in found if place.text is not None] == [Place("flagSettings", "--settings", text="{}")]


def test_mcp_servers_are_looked_for_up_to_the_top_of_the_repository(folder: Folder):
    (folder.path / ".git").mkdir()
    below = folder.path / "a" / "b"
    below.mkdir(parents=True)
    found = [place.path for place in places(str(below), str(folder.home)) if place.kind == "mcp"]
    assert [os.path.relpath(path, folder.path) for path in found] == [".mcp.json", "a/.mcp.json", "a/b/.mcp.json"]


def test_local_settings_count_from_the_top_of_the_repository_too(folder: Folder):
    (folder.path / ".git").mkdir()
    below = folder.path / "a" / "b"
    below.mkdir(parents=True)
    found = [place.path for place in places(str(below), str(folder.home)) if place.scope == "localSettings"]
    assert [os.path.relpath(os.path.dirname(path), folder.path) for path in found] == [".claude", "a/b/.claude"]


def test_local_settings_of_the_repository_count_in_its_other_worktrees(folder: Folder):
    folder.put(".git/worktrees/two/commondir", "../..\n")
    two = folder.root / "two"
    two.mkdir()
    (two / ".git").write_text(f"gitdir: {folder.path}/.git/worktrees/two\n")
    found = [place.path for place in places(str(two), str(folder.home)) if place.scope == "localSettings"]
    assert [os.path.relpath(path, folder.root) for path in found] == [
        "project/.claude/settings.local.json",
        "two/.claude/settings.local.json",
    ]


def test_a_flag_names_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    found = [place for place in places("/p", "/h", policy="/none", flag="more.json") if place.scope == "flagSettings"]
    assert found == [Place("flagSettings", str(tmp_path / "more.json"))]


def test_missing_file_is_not_a_problem(tmp_path: Path):
    file = read(tmp_path / "nothing.json")
    assert (file.data, file.broken, file.problems, file.values, file.rule_texts()) == (None, False, (), {}, [])


def test_each_rule_knows_its_line(folder: Folder):
    file = read(folder.put(".claude/settings.json", DENY))
    assert [(rule.behavior, rule.text, rule.line) for rule in file.rule_texts()] == [
        ("deny", "Bash(rm:*)", 7),
        ("ask", "Write", 10),
        ("allow", "Bash(ls:*)", 4),
    ]
    assert file.line("permissions", "deny") == 6
    assert file.line("nothing") == 0


def test_byte_order_mark_is_accepted(folder: Folder):
    file = read(folder.put("s.json", b"\xef\xbb\xbf" + json.dumps(DENY).encode()))
    assert (file.broken, len(file.rule_texts())) == (False, 3)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.mkdir()


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))


def huge(path: Path) -> None:
    path.write_bytes(b'{"permissions": {"allow": ["Bash"]}}' + b" " * LIMIT)


def enormous(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b'{"permissions": {"allow": ["Bash"]}}')
        file.truncate(3 * 1024**3)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def not_text(path: Path) -> None:
    path.write_bytes(b'{"permissions": {"allow": ["Bash"]}, "x": "\xff"}')


def cut_off(path: Path) -> None:
    path.write_bytes(b'{"permissions":\n {"allow": ["Bash"], ')


def a_list(path: Path) -> None:
    path.write_bytes(b'["permissions"]')


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (fifo, ": a pipe, where a plain file is expected"),
        (directory, ": a directory, where a plain file is expected"),
        (device, ": a device, where a plain file is expected"),
        (listening, ": a socket, where a plain file is expected"),
        (dangling, ": a symbolic link that leads nowhere"),
        (circle, ": Too many levels of symbolic links"),
        (huge, ": larger than 2048 KiB"),
        (enormous, ": larger than 2048 KiB"),
        (empty, ": an empty file; write {} into it, or remove it"),
        (not_text, ": not UTF-8: byte 44 of the file"),
        (cut_off, ":2:22: the file ends where a key in quotes is expected"),
        (a_list, ":1:1: the file must be an object"),
    ],
)
def test_odd_file_is_reported_and_grants_nothing_f17(make, problem: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "settings.json"
    make(path)
    file = read(path)
    assert [str(found) for found in file.problems] == [f"{path}{problem}"]
    assert (file.broken, file.values) == (True, {})
    assert [rule for rule in file.rule_texts() if rule.behavior == "allow"] == []


def test_a_name_with_a_zero_byte_is_a_problem_and_no_traceback():
    assert [str(problem) for problem in read("/tmp/a\0b").problems] == ["/tmp/a\0b: embedded null byte"]


def test_flag_settings_that_are_too_large_are_refused():
    file = read_file(Place("flagSettings", "--settings", text="{" + " " * LIMIT + "}"))
    assert [str(problem) for problem in file.problems] == ["--settings: larger than 2048 KiB"]


def test_deny_rules_of_a_broken_file_count(folder: Folder):
    file = read(
        folder.put("s.json", '{"permissions": {"deny": ["Bash(rm:*)", "Read(/x)"], "allow": ["Bash"], "ask": ["Wr')
    )
    assert [(rule.behavior, rule.text) for rule in file.rule_texts()] == [("deny", "Bash(rm:*)"), ("deny", "Read(/x)")]


def test_deny_rules_beside_a_value_of_the_wrong_kind_count(folder: Folder):
    file = read(folder.put("s.json", {"permissions": {"deny": "Bash(rm:*)", "ask": [1, "Write"], "allow": ["Read"]}}))
    assert [(rule.behavior, rule.text) for rule in file.rule_texts()] == [("deny", "Bash(rm:*)"), ("ask", "Write")]


@pytest.mark.parametrize("odd", [5, None, True, {"a": "Bash"}, ["Bash"]])
def test_an_allow_rule_that_is_no_text_is_reported_and_the_others_count(folder: Folder, odd: object):
    path = folder.put("s.json", {"permissions": {"allow": [odd, "Read"], "deny": ["Write"]}, "model": "m"})
    file = read(path)
    assert [(rule.behavior, rule.text) for rule in file.rule_texts()] == [("deny", "Write"), ("allow", "Read")]
    assert [str(problem) for problem in file.problems] == [
        f"{path}:4:7: this allow rule is ignored: write it in quotes"
    ]
    assert (file.broken, file.values["model"]) == (False, "m")


@pytest.mark.parametrize(
    "rules",
    [{"allow": "Read"}, {"allow": {"a": "Read"}}, {"allow": ["Read"], "deny": [5]}, {"allow": ["Read"], "ask": [{}]}],
)
def test_a_refusal_that_is_no_text_or_a_list_that_is_none_breaks_the_file(folder: Folder, rules: object):
    file = read(folder.put("s.json", {"permissions": rules}))
    assert (file.broken, file.rule_texts()) == (True, [])


def test_duplicate_key_breaks_the_file_and_both_restrict(folder: Folder):
    file = read(
        folder.put("s.json", '{"permissions": {"deny": ["A"]}, "permissions": {"deny": ["B"], "allow": ["C"]}}')
    )
    assert [rule.text for rule in file.rule_texts()] == ["A", "B"]
    assert str(file.problems[0]).endswith(":1:34: duplicate key 'permissions'")


def test_a_file_of_mcp_servers_brings_no_rules(folder: Folder):
    path = folder.put(".mcp.json", {"mcpServers": {}, **DENY})
    file = read_file(Place("projectSettings", str(path), "mcp"))
    assert (file.broken, file.rule_texts()) == (False, [])


def test_many_rules_are_read_quickly(folder: Folder):
    rules = [f"Bash(command{number}:*)" for number in range(50_000)]
    file = read(folder.put("s.json", {"permissions": {"deny": rules}}))
    assert [rule.line for rule in file.rule_texts()] == [*range(4, 50_004)]


def test_policy_folder_depends_on_the_system(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert policy_folder() == "/Library/Application Support/ClaudeCode"
    monkeypatch.setattr("sys.platform", "linux")
    assert policy_folder() == "/etc/claude-code"


@given(st.binary(max_size=60) | st.tuples(st.integers(0, 120), st.binary(max_size=3)).map(damaged))
def test_any_bytes_are_valid_or_broken_without_a_traceback(data: bytes):
    file = read_data(Place("userSettings", "f"), data)
    assert file.problems or not file.broken
    assert all(rule.behavior != "allow" for rule in file.rule_texts()) or not file.broken


def test_missing_flag_settings_are_reported(folder: Folder):
    path = str(folder.path / "none.json")
    assert [str(problem) for problem in folder.load(flag=path).settings.problems] == [f"{path}: file not found"]
