"""Commands that only read are marked for the cage; commands that are harmless only there need it."""

from __future__ import annotations

import pytest

from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide, with_hook
from tests.permissions.bash_cases import ANCHORS, Disk, ask_about, ask_for, rules


def decided_with_cage(command: str, *allow: str):
    circumstances = Circumstances(anchors=ANCHORS, rules=rules(allow=allow), cage=True)
    return decide("Bash", {"command": command}, circumstances, Disk())


@pytest.mark.parametrize("command", ["cat a.txt", "ls | wc -l", "timeout 5 cat a.txt", "x=1", "", "bash -c 'ls'"])
def test_reading_commands_run_in_the_cage(command: str):
    decision = ask_about(command)
    assert (decision.behavior, decision.caged) == ("allow", True)


@pytest.mark.parametrize("command", ["npm test", "cat a.txt && npm test", "npm test | tail -3"])
def test_commands_that_a_rule_allows_run_outside(command: str):
    decision = ask_about(command, allow=["Bash(npm test:*)"])
    assert (decision.behavior, decision.caged) == ("allow", False)


@pytest.mark.parametrize("command", ["ps aux | grep node", "df -h", "git config user.name"])
def test_commands_that_the_cage_would_mislead_run_outside(command: str):
    decision = decided_with_cage(command)
    assert (decision.behavior, decision.caged) == ("allow", False)


@pytest.mark.parametrize("command", ["git add -A", "git push", "sed -i s/a/b/ a.txt", "sort -o a.txt a.txt"])
def test_commands_that_would_fail_in_the_cage_are_asked_for_at_once(command: str):
    assert decided_with_cage(command).behavior == "ask"


@pytest.mark.parametrize("command", ["cargo --version", "rustc -V", "pytest --version"])
def test_versions_of_programs_that_load_files_of_the_folder_need_the_cage(command: str):
    assert ask_about(command).behavior == "ask"
    assert decided_with_cage(command).caged


def test_a_mode_that_allows_everything_runs_outside():
    assert not ask_about("make", mode="bypassPermissions").caged


@pytest.mark.parametrize(
    "command", ["ls > a.txt", "cat a.txt | sort >> b.txt", "> a.txt", "ls &> a.txt", "cat < a.txt > b.txt"]
)
def test_output_into_a_file_that_the_mode_allows_is_written_outside(command: str):
    decision = ask_about(command, mode="acceptEdits")
    assert (decision.behavior, decision.caged) == ("allow", False)


@pytest.mark.parametrize("command", ["ls 2>/dev/null", "ls >&2", "ls 2>&1 | head", "cat < a.txt", "cat <<< text"])
def test_output_that_reaches_no_file_stays_in_the_cage(command: str):
    assert ask_about(command, mode="acceptEdits").caged


def test_no_refused_command_is_caged():
    assert not ask_about("npm test").caged
    assert not ask_about("cat a.txt", deny=["Bash(cat:*)"]).caged


def test_file_tools_are_not_caged():
    assert not ask_for("Read", {"file_path": "a.txt"}).caged


def test_a_command_that_is_harmless_only_in_the_cage_asks_without_it():
    decision = ask_about("readelf -a lib.so")
    assert (decision.behavior, decision.steps[0].cage) == ("ask", "must")


def test_a_command_that_is_harmless_only_in_the_cage_is_allowed_there():
    decision = decided_with_cage("readelf -a lib.so | head")
    assert (decision.behavior, decision.caged, decision.suggestions) == ("allow", True, ())


def test_the_cage_does_not_help_if_another_part_runs_outside():
    decision = decided_with_cage("readelf -a lib.so; npm test", "Bash(npm test:*)")
    assert (decision.behavior, decision.caged) == ("ask", False)


@pytest.mark.parametrize("command", ["x=$(ls); cp $x b.txt", "x=$(ls); make $x", "x=$(ls); frob < $x"])
def test_the_cage_does_not_help_a_program_that_does_more_than_read(command: str):
    decision = decided_with_cage(command)
    assert (decision.behavior, decision.caged) == ("ask", False)


@pytest.mark.parametrize(
    ("texts", "behavior"),
    [({"deny": ["Read(a)"]}, "allow"), ({"ask": ["Read(a)"]}, "ask"), ({"deny": ["Read(a"]}, "ask")],
)
def test_the_cage_enforces_rules_that_deny_reading_and_no_others(texts: dict[str, list[str]], behavior: str):
    circumstances = Circumstances(anchors=ANCHORS, rules=rules(**texts), cage=True)
    assert decide("Bash", {"command": "grep -r x ."}, circumstances, Disk()).behavior == behavior


def test_a_hook_that_allows_runs_outside():
    assert not with_hook(ask_about("readelf -a lib.so"), "allow").caged


@pytest.mark.parametrize("command", ["echo $GREETING", "cat ${NAME}.txt", 'grep -r "$PATTERN" .', 'cd "$DIR" && ls'])
def test_a_variable_that_the_cage_drops_is_asked_for(command: str):
    assert decided_with_cage(command).behavior == "ask"


def test_a_condition_on_a_dropped_variable_is_checked_outside():
    decision = decided_with_cage('test -n "$NAME" && ls')
    assert (decision.behavior, decision.caged) == ("allow", False)


@pytest.mark.parametrize(
    "command",
    ["echo $HOME", "x=1; echo $x", "for f in a b; do cat $f; done", "awk '{print $NF}' a.txt", 'echo "$RANDOM $PATH"'],
)
def test_variables_that_are_there_stay_in_the_cage(command: str):
    assert decided_with_cage(command).caged


@pytest.mark.parametrize("command", ['cat "$(ls)" ~bob/y', 'cat "$(ls)" /x/y', 'cat /x/y "$(ls)"'])
def test_a_command_with_one_file_that_the_cage_hides_is_asked_for(command: str):
    assert decided_with_cage(command).behavior == "ask"


def test_each_part_of_a_caged_command_keeps_its_own_reason():
    steps = decided_with_cage("ls; readelf -a lib.so").steps
    assert [step.reason for step in steps] == [
        "it only looks",
        "it runs in the cage, where it can only read the working folders",
    ]


@pytest.mark.parametrize(
    "command", ["python3 -c 'print(1)'", "node -e 1", "perl -e 1", "git --version", "npm --version"]
)
def test_interpreters_and_versions_that_depend_on_the_folder_are_asked_for_with_a_cage_too(command: str):
    assert decided_with_cage(command).behavior == "ask"
