"""handrail permissions: one decision explained, cases checked, the rules in force listed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from handrail.cli.permissions import app
from tests.settings.folder import Folder

HOOK = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    folder = Folder(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder.home))
    monkeypatch.setenv("HOME", str(folder.home.parent))
    monkeypatch.setattr("handrail.settings.files.policy_folder", lambda: str(folder.policy))
    monkeypatch.chdir(folder.path)
    return folder


def run(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], input=given)


def explained(*arguments: object) -> dict[str, Any]:
    result = run("explain", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def checked(folder: Folder, *rows: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    path = folder.put("cases.jsonl", "\n".join(map(json.dumps, rows)))
    result = run("check", path)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


# explain
def test_deciding_rule_is_printed_with_file_and_line(folder: Folder):
    path = folder.put_user({"permissions": {"deny": ["Bash(rm:*)"]}})
    data = explained("Bash", "rm -r build")
    assert (data["decision"], data["rule"], data["source"], data["scope"]) == (
        "deny",
        "Bash(rm:*)",
        f"{path}:4",
        "userSettings",
    )
    text = run("explain", "Bash", "rm -r build").stdout
    assert text.splitlines()[0] == "deny"
    assert f"the rule: Bash(rm:*)  ({path}:4)" in text
    assert "it means: " in text


def test_each_step_is_printed(folder: Folder):
    data = explained("Bash", "ls; make")
    assert data["decision"] == "ask"
    assert data["steps"]
    assert data["reason"]


def test_the_mode_is_that_of_the_settings_unless_another_is_named(folder: Folder):
    folder.put_user({"permissions": {"defaultMode": "acceptEdits"}})
    (folder.path / "a.txt").write_text("x")
    assert explained("Write", str(folder.path / "b.txt"))["decision"] == "allow"
    assert explained("Write", str(folder.path / "b.txt"), "--mode", "default")["decision"] == "ask"
    assert explained("Write", str(folder.path / "b.txt"), "--mode", "dontAsk")["decision"] == "deny"


def test_a_mode_that_asks_nothing_can_be_taken_away(folder: Folder):
    assert explained("Bash", "make", "--mode", "bypassPermissions")["decision"] == "allow"
    folder.put_policy({"permissions": {"disableBypassPermissionsMode": "disable"}})
    assert explained("Bash", "make", "--mode", "bypassPermissions")["decision"] == "ask"


def test_input_is_json_or_what_the_tool_is_about(folder: Folder):
    folder.put_user({"permissions": {"deny": ["Read(.env)"]}})
    assert explained("Read", '{"file_path": ".env"}')["decision"] == "deny"
    assert explained("Read", ".env")["decision"] == "deny"
    assert explained("Bash", "{ ls; }")["decision"] in ("allow", "ask")
    assert explained("mcp__a__b", "{}")["decision"] == "ask"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("mcp__a__b", "text"), "give the input of mcp__a__b as a JSON object"),
        (("Read", "{"), "begins like JSON but is not valid"),
        (("Bash", "ls", "--mode", "yolo"), "'yolo' is not a mode"),
        (("Bash", "ls", "--allow", "Bash("), "--allow: "),
        (("Bash", "ls", "--cwd", "/no/such/folder"), "no such folder"),
    ],
)
def test_unexplainable_call_is_a_usage_error(folder: Folder, arguments: tuple[str, ...], why: str):
    result = run("explain", *arguments)
    assert (result.exit_code, why in result.stderr) == (2, True)


def test_rules_can_be_tried_out(folder: Folder):
    assert explained("Bash", "make", "--allow", "Bash(make:*)")["decision"] == "allow"
    data = explained("Bash", "make", "--allow", "Bash(make:*)", "--ask", "Bash(make)", "--deny", "Bash(ma*)")
    assert (data["decision"], data["rule"], data["source"]) == ("deny", "Bash(ma*)", "cliArg")
    flag = json.dumps({"permissions": {"ask": ["Bash(ls:*)"]}})
    assert explained("Bash", "ls", "--settings", flag)["source"] == "--settings:1"


def test_an_untrusted_folder_forbids_and_does_not_allow(folder: Folder):
    folder.put(".claude/settings.local.json", {**HOOK, "permissions": {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}})
    data = explained("Bash", "make")
    assert (data["decision"], data["trusted"]) == ("ask", False)
    assert explained("Bash", "rm x")["decision"] == "deny"
    assert "the folder is not trusted" in run("explain", "Bash", "make").stdout
    folder.accept()
    assert explained("Bash", "make")["decision"] == "allow"


def test_explanation_follows_every_way_to_trust_the_folder(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.put(".claude/settings.json", {"permissions": {"allow": ["Bash(make)"], "defaultMode": "acceptEdits"}})
    assert (explained("Bash", "make")["decision"], explained("Bash", "make")["mode"]) == ("ask", "default")
    trusted = explained("Bash", "make", "--trust-folder")
    assert (trusted["decision"], trusted["mode"], trusted["trusted"]) == ("allow", "acceptEdits", True)
    assert json.loads(run("list", "--trust-folder", "--json").stdout)["trusted"]
    monkeypatch.setenv("HANDRAIL_TRUST_FOLDER", "1")
    assert explained("Bash", "make")["decision"] == "allow"
    monkeypatch.delenv("HANDRAIL_TRUST_FOLDER")
    answer = {"projects": {str(folder.path): {"hasTrustDialogAccepted": True}}}
    (folder.home / ".claude.json").write_text(json.dumps(answer))
    assert explained("Bash", "make")["decision"] == "allow"


def test_git_is_asked_about_only_if_the_repository_runs_programs(folder: Folder):
    folder.put(".claude/settings.json", {"permissions": {"allow": ["Bash(make)"]}})
    folder.put(".git/HEAD", "ref: refs/heads/main")
    assert explained("Bash", "git status")["decision"] == "allow"
    folder.put(".git/config", "[core]\n\tfsmonitor = ./evil.sh\n")
    assert explained("Bash", "git status")["decision"] == "ask"


def test_broken_settings_are_reported_without_a_failure(folder: Folder):
    path = folder.put_user('{"permissions": {"deny": ["Bash(rm:*)"]}, "allow"')
    data = explained("Bash", "rm x")
    assert data["decision"] == "deny"
    assert data["problems"] == [f"{path}:1:50: the file ends where a colon is expected"]
    assert data["problems"][0] in run("explain", "Bash", "rm x").stderr


def test_output_is_plain_text(folder: Folder):
    text = run("explain", "Bash", "echo \x1b[2J\u202e", "--ask", "Bash(echo:*)").stdout
    assert "\x1b[2J" not in text
    assert "\u202e" not in text


def test_suggestions_are_described(folder: Folder):
    text = run("explain", "Bash", "npm run build").stdout
    assert "could be allowed for next time: every command that begins with `npm run build`; " in text


# check
def test_cases_are_decided_by_their_own_rules_one_object_a_line(folder: Folder):
    folder.put_user({"permissions": {"deny": ["Bash", "Read"]}})
    code, rows = checked(
        folder,
        {"id": "a", "cmd": "make all", "allow": ["Bash(make:*)"], "expect": "allow"},
        {
            "id": "b",
            "cmd": "make all",
            "deny": ["Bash(make:*)"],
            "allow": ["Bash"],
            "mode": "default",
            "expect": "deny",
        },
        {"id": "c", "tool": "Read", "path": "a.txt", "ask": ["Read(a.txt)"], "expect": "ask"},
        {"id": 4, "tool": "WebFetch", "input": {"url": "https://example.org/"}},
        {"cmd": "make", "mode": "dontAsk", "expect": "deny"},
        {"id": "f", "cmd": "make", "mode": "bypassPermissions", "expect": "allow"},
    )
    place = f"{folder.path}/cases.jsonl"
    assert code == 0
    assert rows[:3] == [
        {"id": "a", "decision": "allow", "rule": "Bash(make:*)", "source": f"{place}:1"},
        {"id": "b", "decision": "deny", "rule": "Bash(make:*)", "source": f"{place}:2"},
        {"id": "c", "decision": "ask", "rule": "Read(a.txt)", "source": f"{place}:3"},
    ]
    assert [(row["id"], row["decision"], row["rule"]) for row in rows[3:]] == [
        (4, "ask", None),
        (5, "deny", None),
        ("f", "allow", None),
    ]
    assert all(row["source"] for row in rows)


def test_a_row_that_is_decided_otherwise_fails_the_run(folder: Folder):
    path = folder.put("cases.jsonl", json.dumps({"id": "a", "cmd": "make", "expect": "allow"}))
    result = run("check", path)
    assert result.exit_code == 1
    assert f"{path}:1: a: expected allow, decided ask" in result.stderr
    assert json.loads(result.stdout)["decision"] == "ask"


def test_invalid_line_is_reported_and_the_others_are_decided(folder: Folder):
    rows = [
        "{",
        "",
        '{"id": "a"}',
        '{"tool": "Nothing", "path": "x"}',
        '{"cmd": 1}',
        '{"cmd": "ls", "expect": "allow"}',
    ]
    path = folder.put("cases.jsonl", "\n".join(rows))
    result = run("check", path)
    assert result.exit_code == 1
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()[:-1]] == [
        f"{path}:{n}" for n in (1, 3, 4, 5)
    ]
    assert result.stderr.splitlines()[-1] == "5 rows, 1 with an expectation, 4 wrong"
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == [6]


def test_half_of_a_surrogate_pair_is_decided_and_not_a_traceback(folder: Folder):
    path = folder.put("cases.jsonl", r'{"id": "a\ud800", "cmd": "make \ud800", "deny": ["Bash(make \ud800)"]}')
    result = run("check", path)
    assert (result.exit_code, json.loads(result.stdout)["id"]) == (0, "a\ud800")
    assert json.loads(result.stdout)["decision"] == "deny"
    assert explained("Bash", r'{"command": "make \ud800"}')["decision"] != "allow"


def test_cases_can_come_from_standard_input(folder: Folder):
    result = run("check", "-", given='{"id": "a", "cmd": "ls"}\n')
    assert (result.exit_code, json.loads(result.stdout)["id"]) == (0, "a")


def test_cases_that_are_not_there_are_wrong_usage(folder: Folder):
    result = run("check", folder.path / "nothing")
    assert (result.exit_code, "No such file" in result.stderr) == (2, True)


def test_a_case_names_the_folder_it_is_seen_from(folder: Folder):
    outside = folder.root / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("x")
    row = {"tool": "Read", "path": str(outside / "a.txt")}
    _, rows = checked(folder, row, {**row, "cwd": str(outside)})
    assert [found["decision"] for found in rows] == ["ask", "allow"]
    result = run("check", folder.path / "cases.jsonl", "--cwd", outside)
    assert [json.loads(line)["decision"] for line in result.stdout.splitlines()] == ["allow", "allow"]


def test_without_a_person_asking_means_denying(folder: Folder):
    _, rows = checked(folder, {"cmd": "make", "can_prompt": False})
    assert rows[0]["decision"] == "deny"


# list
def test_rules_are_listed_by_where_they_come_from(folder: Folder):
    user = folder.put_user({"permissions": {"allow": ["Read"], "additionalDirectories": ["/shared"]}})
    policy = folder.put_policy({"permissions": {"deny": ["Bash(rm:*)"], "defaultMode": "plan"}})
    text = run("list").stdout.splitlines()
    assert text[0] == f"the organisation's policy: {policy}"
    assert text[1].split() == ["deny", "Bash(rm:*)", "line", "4"]
    assert text[3] == f"all your folders: {user}"
    assert text[4].split() == ["allow", "Read", "line", "4"]
    assert f"mode: plan  ({policy}:6)" in text
    assert "works in /shared too" in text


def test_rules_that_are_not_in_force_are_marked(folder: Folder):
    folder.put(".claude/settings.json", {**HOOK, "permissions": {"allow": ["Bash"], "ask": ["Read"]}})
    text = run("list").stdout
    assert "allow Bash  line 16  (not in force: the folder is not trusted)" in text
    assert "handrail trust show DIR" in text
    data = json.loads(run("list", "--json").stdout)
    assert [(row["rule"], row["in_force"]) for row in data["rules"]] == [("Read", True), ("Bash", False)]
    assert data["trusted"] is False


def test_a_folder_without_rules_says_so(folder: Folder):
    assert run("list").stdout.splitlines() == ["no rules; the mode decides", "mode: default"]


def test_a_rule_that_cannot_be_read_is_listed_with_its_reason(folder: Folder):
    folder.put_user({"permissions": {"deny": ["Bash(rm"]}})
    data = json.loads(run("list", "--json").stdout)
    assert data["rules"][0]["broken"]
    assert "this deny rule cannot be read" in data["problems"][0]
    assert "this deny rule cannot be read" in run("list").stderr


def test_the_folder_can_be_named(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.put(".claude/settings.json", {"permissions": {"deny": ["Read"]}})
    monkeypatch.chdir(folder.root)
    assert "deny  Read" in run("list", "--cwd", folder.path).stdout
    assert os.getcwd() == str(folder.root)


# what nobody meant to give
LONG = "a" * 5000


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("list", "--cwd", LONG), "File name too long"),
        (("explain", "Read", "x", "--cwd", LONG), "File name too long"),
        (("check", LONG), "File name too long"),
        (("list", "--cwd", "nothing"), "no such folder"),
        (("list", "--cwd", "file.txt"), "is a file"),
    ],
)
def test_a_folder_or_file_that_cannot_be_is_wrong_usage(folder: Folder, arguments: tuple[str, ...], why: str):
    folder.put("file.txt", "x")
    result = run(*arguments)
    assert (result.exit_code, why in result.stderr) == (2, True), result.stderr


def test_missing_settings_file_is_reported(folder: Folder):
    result = run("explain", "Read", "x", "--settings", folder.path / "none.json")
    assert (result.exit_code, "none.json: file not found" in result.stderr) == (0, True)


def test_a_folder_with_a_nul_in_its_name_breaks_the_settings_and_nothing_else(folder: Folder):
    folder.put_user('{"permissions": {"additionalDirectories": ["a\\u0000b"]}}')
    for command in (("explain", "Read", "x"), ("list",)):
        result = run(*command)
        assert (result.exit_code, "must be a list of paths" in result.stderr) == (0, True)


def test_a_row_with_an_invalid_folder_or_mode_is_reported(folder: Folder):
    (folder.path / "below").mkdir()
    rows = (
        {"cmd": "ls", "cwd": "a\0b"},
        {"cmd": "ls", "mode": "yolo"},
        {"tool": "Read", "path": "../x", "cwd": "below", "expect": "ask"},
    )
    path = folder.put("cases.jsonl", "\n".join(map(json.dumps, rows)))
    result = run("check", path)
    assert [line.partition(": ")[2][:30] for line in result.stderr.splitlines()[:-1]] == [
        "`cwd` contains a NUL character",
        "'yolo' is not a mode; it must ",
    ]
    assert result.stderr.splitlines()[-1] == "3 rows, 1 with an expectation, 2 wrong"


def test_a_line_that_never_ends_is_one_wrong_row(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handrail.cli.permission_cases.LONGEST_LINE", 50)
    result = run("check", "-", given="x" * 1000 + '\n{"cmd": "ls"}\n' + "y" * 51)
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()[:-1]] == ["-:1", "-:3"]
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == [2]


def test_unreadable_cases_are_reported(folder: Folder):
    result = run("check", "/proc/self/mem")
    assert (result.exit_code, "cannot be read: Input/output error" in result.stderr) == (1, True)


def test_a_broken_allow_is_listed_and_not_in_force(folder: Folder):
    folder.put_user({"permissions": {"allow": ["Bash(", "Read"], "deny": ["Edit("]}})
    rows = json.loads(run("list", "--json").stdout)["rules"]
    assert [(row["rule"], row["behavior"], row["in_force"]) for row in rows] == [
        ("Edit", "deny", True),
        ("Bash", "allow", False),
        ("Read", "allow", True),
    ]
    assert "so it lets nothing pass" in run("list").stdout


def test_a_broken_policy_is_given_as_the_reason(folder: Folder):
    folder.put_user({"permissions": {"allow": ["Read"], "defaultMode": "bypassPermissions"}})
    (folder.policy / "managed-settings.json").write_text("{")
    assert "not in force: the settings of the organisation" in run("list").stdout
    text = run("explain", "Bash", "make").stdout
    assert "mode bypassPermissions is disabled by the settings, so default applies" in text
