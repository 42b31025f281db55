"""Whole shell commands: each part needs its own permission, and what is not understood is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.permissions.bash.judge import BashJudge
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide
from handrail.permissions.rules.rule import Rule
from tests.permissions.bash_cases import ANCHORS, Disk, ask_about, rules
from tests.permissions.ordinary_commands import build_project, decide_in

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    # The text as a whole
    ("", {}, "allow", "it runs no program"),
    ("# only a comment", {}, "allow", "it runs no program"),
    ("ls \ud800", {"allow": ["Bash"]}, "deny", "it cannot be written as UTF-8, so no shell can be given it"),
    ("ls \x00", {"allow": ["Bash"]}, "deny", "it contains a NUL, so no shell can be given it"),
    ("ls \u202e", {"allow": ["Bash"]}, "ask", "what is shown may not be what runs"),
    ("ls; make", {"deny": ["Bash(ls; make)"]}, "deny", "the rule Bash(ls; make) denies it"),
    ("ls; ls", {"ask": ["Bash(ls; ls)"]}, "ask", "the rule Bash(ls; ls) asks about it"),
    # What is not understood
    ("echo 'a", {}, "ask", "it is not fully understood"),
    ("echo 'a", {"allow": ["Bash"]}, "allow", "the rule Bash allows every command"),
    ("echo 'a", {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}, "ask", "it is not fully understood"),
    ("echo 'a", {"allow": ["Bash"], "deny": ["Read(x)"]}, "ask", "it is not fully understood"),
    ("rm x; echo 'a", {"deny": ["Bash(rm:*)"]}, "deny", "the rule Bash(rm:*) denies it"),
    ("rm x; echo 'a", {"ask": ["Bash(rm:*)"], "allow": ["Bash"]}, "ask", "the rule Bash(rm:*) asks about it"),
    ("( " * 150 + "rm x" + " )" * 150, {"deny": ["Bash(rm:*)"]}, "deny", "the rule Bash(rm:*) denies it"),
    ("( " * 150 + "rm x" + " )" * 150, {"ask": ["Bash(rm:*)"]}, "ask", "the rule Bash(rm:*) asks about it"),
    ("echo 'a", {"allow": ["Bash(echo 'a)"]}, "allow", "allows exactly this"),
    ("bash -c \"echo 'a\"", {}, "ask", "what it runs is not fully understood"),
    ("bash -c \"echo 'a\"", {"allow": ["Bash"]}, "allow", "it is as good as what it runs"),
    ("bash -c \"rm x; echo 'a\"", {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}, "deny", "the rule Bash(rm:*) denies it"),
    ("bash -c \"ls; echo 'a\"", {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}, "ask", "not fully understood"),
    # Rules
    ("make", {"allow": ["Bash(make)"]}, "allow", "the rule Bash(make) allows it"),
    ("make x", {"allow": ["Bash(make)"]}, "ask", "no rule allows it"),
    ("make x", {"allow": ["Bash(make:*)"]}, "allow", "the rule Bash(make:*) allows it"),
    ("make x", {"allow": ["Bash(make"]}, "ask", "no rule allows it"),
    ("make x", {"allow": ["Bash"], "deny": ["Bash(make"]}, "deny", "the rule Bash(make) denies it"),
    ("cargo x", {"allow": ["Bash"], "deny": ["Bash(make"]}, "ask", "the rule Bash(make) may mean this"),
    ('"$x" y', {"allow": ["Bash"], "deny": ["Bash(make:*)"]}, "ask", "the rule Bash(make:*) may mean this"),
    ("make x", {"allow": ["Bash(make:*)"], "ask": ["Bash(make x)"]}, "ask", "the rule Bash(make x) asks about it"),
    # Programs that are not known, wrappers
    ('"$x" y', {}, "ask", "which program it runs is not known before it runs"),
    ('"$x" y', {"allow": ["Bash"]}, "allow", "the rule Bash allows every command"),
    ("timeout 5 ls", {}, "allow", "it is as good as what it runs"),
    ("timeout 5 make", {"allow": ["Bash(make:*)"]}, "allow", "it is as good as what it runs"),
    ("timeout 5 make", {"allow": ["Bash(timeout:*)"]}, "ask", "no rule allows it"),
    ("timeout 5 make", {"deny": ["Bash(make:*)"]}, "deny", "the rule Bash(make:*) denies it"),
    ("sudo make", {"allow": ["Bash(make:*)"]}, "ask", "no rule allows it"),
    ("sudo make x", {"allow": ["Bash(make:*)", "Bash(sudo make:*)"]}, "allow", "the rule Bash(sudo make:*) allows it"),
    ("sudo make", {"allow": ["Bash(make:*)", "Bash(sudo:*)"]}, "ask", "no rule allows it"),
    ("find . -exec frob {} ';'", {"allow": ["Bash(frob:*)"]}, "allow", "it is as good as what it runs"),
    ("tmux new make", {}, "ask", "tmux runs programs that cannot be seen here"),
    ("tmux new make", {"allow": ["Bash(tmux:*)"]}, "ask", "tmux runs programs that cannot be seen here"),
    ("tmux new make", {"allow": ["Bash(tmux new make)"]}, "allow", "the rule Bash(tmux new make) allows it"),
    ("tmux new make", {"allow": ["Bash"]}, "allow", "the rule Bash allows every command"),
    ("tmux new make", {"allow": ["Bash"], "deny": ["Bash(x)"]}, "ask", "tmux runs programs that cannot be seen here"),
    ("nice " * 7 + "ls", {}, "ask", "it is wrapped too often"),
    ("nice " * 6 + "ls", {}, "allow", "it is as good as what it runs"),
    # Arguments that execute
    ("tar -I x y", {"allow": ["Bash(tar:*)"]}, "ask", "-I is not known to be safe for tar"),
    ("tar -I x y", {"allow": ["Bash(tar -I x:*)"]}, "allow", "the rule Bash(tar -I x:*) allows it"),
    ("tar -I x y", {"allow": ["Bash"]}, "allow", "the rule Bash allows every command"),
    ("tar -I x y", {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}, "ask", "-I is not known to be safe for tar"),
    ("tar -I x y", {}, "ask", "no rule allows it"),
    # Variables
    ("A=b make", {"allow": ["Bash(make:*)"]}, "ask", "programs act on what A holds"),
    ("A=b make", {"allow": ["Bash(A=b make)"]}, "allow", "the rule Bash(A=b make) allows it"),
    ("A=b make", {"allow": ["Bash"]}, "allow", "the rule Bash allows every command"),
    ("PATH=b make", {"allow": ["Bash"]}, "allow", "the rule Bash allows every command"),
    ("PATH=b make", {"allow": ["Bash"], "deny": ["Bash(x)"]}, "ask", "programs act on what PATH holds"),
    ("CI=1 make", {"allow": ["Bash(make:*)"]}, "allow", "the rule Bash(make:*) allows it"),
    ("ls | while IFS=, read -r x; do echo $x; done", {}, "allow", "it only looks"),
    ("IFS= read -r x <a", {}, "allow", "it only looks"),
    ("IFS=, read -r PATH", {}, "ask", "programs act on what PATH holds"),
    ("IFS=, ls", {}, "ask", "programs act on what IFS holds"),
    ("IFS=,; read -r x", {}, "ask", "programs act on what IFS holds"),
    ("a=b", {}, "allow", "it runs no program"),
    ("PATH=b", {}, "ask", "programs act on what PATH holds"),
    ("export PATH=b", {}, "ask", "programs act on what PATH holds"),
    ("export PATH+=b", {}, "ask", "programs act on what PATH holds"),
    ("export CI=1 CI", {}, "allow", "it only looks"),
    ("x=5; sort -k $x a", {}, "allow", "it runs no program"),
    ("x=$((2*3)); sleep $x", {}, "allow", "it runs no program"),
    ("for ((i=0;i<3;i++)); do head -n $i a; done", {}, "allow", "it only looks"),
    ("((n=3)); cat a$n", {}, "allow", "it only looks"),
    ("x=y; sort -k $x a", {}, "allow", "it runs no program"),
    ("x='y z'; sort -k $x a", {}, "ask", "which file $x is, is not known"),
    ("for PATH in a; do ls; done", {}, "ask", "programs act on what PATH holds"),
    ("for PATH in a; do ls; done", {"allow": ["Bash"]}, "allow", ""),
    ("for PATH in a; do ls; done", {"allow": ["Bash(for PATH in a; do ls; done)"]}, "allow", ""),
    ("for x in a; do ls; done", {}, "allow", "it only looks"),
    ("for x in a; do make; done", {"allow": ["Bash(make:*)"]}, "allow", "the rule Bash(make:*) allows it"),
    ("npm x", {"allow": ["Bash(npm:*)"]}, "allow", "the rule Bash(npm:*) allows it"),
    ("npm x y", {"allow": ["Bash(npm:*)"]}, "ask", "x executes or overwrites"),
    ("ls | npm x", {"allow": ["Bash(npm:*)"]}, "ask", "x executes or overwrites"),
    ("npm x <a", {"allow": ["Bash(npm:*)"]}, "ask", "x executes or overwrites"),
    ("echo $SECRET", {}, "ask", "no rule allows it"),
    ('printf %s "${SECRET}"', {}, "ask", "no rule allows it"),
    ("echo ${#SECRET}", {}, "ask", "no rule allows it"),
    ("echo $SECRET", {"allow": ["Bash(echo:*)"]}, "allow", "the rule Bash(echo:*) allows it"),
    ("echo $HOME $PWD $?", {}, "allow", "it only looks"),
    ("echo '$SECRET'", {}, "allow", "it only looks"),
    ('x=1; echo "$x"', {}, "allow", "it runs no program"),
    ("npm --version", {}, "ask", "no rule allows it"),
    ("npm -v", {"mode": "plan", "allow": ["Bash(npm:*)"]}, "allow", "the rule Bash(npm:*) allows it"),
    ("npm -x", {"mode": "plan", "allow": ["Bash(npm:*)"]}, "ask", "but in the mode plan"),
    ("git reflog ''", {}, "ask", "no rule allows it"),
    ("make >&-2 x", {"allow": ["Bash(make:*)"]}, "allow", "the rule Bash(make:*) allows it"),
    ("make 2&>/dev/null", {"allow": ["Bash(make 2)"]}, "allow", "the rule Bash(make 2) allows it"),
    ("make 2&>/dev/null", {"allow": ["Bash(make)"]}, "ask", "no rule allows it"),
    ("make >& -x", {"allow": ["Bash(make:*)"]}, "ask", "in the mode default a change of a file is asked for"),
    ("cat ~+/f", {}, "ask", "~+/f is in the home folder of another user"),
    ("make || exit 1", {"allow": ["Bash(make:*)"]}, "allow", "the rule Bash(make:*) allows it"),
    ("ls; exit 1", {}, "ask", "it exits, waits in a loop or keeps running"),
    ("for i in 1 2; do sleep 1; done", {}, "ask", "it exits, waits in a loop or keeps running"),
    ("for i in a b; do cat $i; done", {}, "allow", "it only looks"),
    ("while ls; do sleep 1; done", {}, "allow", "it only looks"),
    ("true <(sleep 2)", {}, "ask", "keeps running in the background"),
    ("sleep 2 &", {}, "ask", "keeps running in the background"),
    ("{ ls; sleep 2; } & cat f", {}, "ask", "keeps running in the background"),
    ("cat f | grep x <(tail -F f)", {}, "ask", "keeps running in the background"),
    ("tail -n3 --follow f & ls", {}, "ask", "keeps running in the background"),
    ("diff <(tail -n 3 f) <(tail -3 g)", {}, "allow", "it only looks"),
    ("ls & cat f", {}, "allow", "it only looks"),
    ("make & sleep 2", {"allow": ["Bash(make:*)"]}, "allow", ""),
    # `cd` without a folder goes home
    ("cd && ls", {}, "ask", "is outside the folders"),
    ("cd -P; du", {}, "ask", "is outside the folders"),
    ("(builtin cd --; git status)", {}, "ask", "is outside the folders"),
    ("cd -L .; ls", {}, "allow", "it only looks"),
    ("cat <<-E\n\t/x/a\nE", {}, "allow", "it only looks"),
    ("cd d && /x/run a", {"allow": ["Bash(/x/run:*)"]}, "allow", "it only looks"),
    ("cd d && ./run a", {"allow": ["Bash(./run:*)"]}, "ask", "no rule allows it"),
    # Modes
    ("make", {"mode": "plan"}, "deny", "in the mode plan nothing is run that may change something"),
    ("make", {"mode": "plan", "allow": ["Bash(make)"]}, "ask", "but in the mode plan nothing is changed unasked"),
    ("make", {"mode": "plan", "allow": ["Bash"]}, "ask", "but in the mode plan nothing is changed unasked"),
    ("make 'a", {"mode": "plan", "allow": ["Bash(make 'a)"]}, "ask", "but in the mode plan"),
    ("make 'a", {"mode": "plan", "allow": ["Bash"]}, "ask", "but in the mode plan"),
    ("tmux new x", {"mode": "plan", "allow": ["Bash"]}, "ask", "but in the mode plan"),
    ('"$x" y', {"mode": "plan", "allow": ["Bash"]}, "ask", "but in the mode plan"),
    ("tar -I x y", {"mode": "plan", "allow": ["Bash"]}, "ask", "but in the mode plan"),
    ("PATH=b ls", {"mode": "plan", "allow": ["Bash"]}, "ask", "but in the mode plan"),
    ("bash -c \"make 'a\"", {"mode": "plan", "allow": ["Bash"]}, "ask", "but in the mode plan"),
    ("ls >x", {"mode": "plan", "allow": ["Bash"]}, "ask", "in the mode plan nothing is changed"),
    ("ls >x", {"mode": "plan", "allow": ["Bash(ls >x)"]}, "ask", "in the mode plan nothing is changed"),
    ("cat /x/y", {"mode": "plan", "allow": ["Bash"]}, "allow", "it only looks"),
    ("ls", {"mode": "plan", "allow": ["Bash"]}, "allow", "it only looks"),
    ("make >/x/y", {"mode": "plan"}, "deny", "in the mode plan"),
    ("ls >/x/y", {"mode": "plan"}, "deny", "in the mode plan nothing is changed"),
    ("touch x", {"mode": "acceptEdits"}, "allow", "it works on files in the working folders"),
    ("sed -i s/a/b/ x", {"mode": "acceptEdits"}, "allow", "it works on files in the working folders"),
    ("truncate -s 0 x", {"mode": "acceptEdits"}, "ask", "no rule allows it"),
    ("make", {"mode": "bypassPermissions"}, "allow", "the mode bypassPermissions lets it pass"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "given", "behavior", "reason"), CASES)
def test_a_command_is_judged(command: str, given: dict[str, Any], behavior: str, reason: str):
    decision = ask_about(command, **given)
    assert (decision.behavior, reason in decision.reason) == (behavior, True), decision.reason


@pytest.mark.parametrize(
    ("command", "given", "behavior", "kind"),
    [
        ("cat a", {}, "allow", "other"),
        ("cat a", {"deny": ["Read(a)"]}, "deny", "rule"),
        ("cat a", {"ask": ["Read(a)"]}, "ask", "rule"),
        ("cat /x/a", {}, "ask", "workingDir"),
        ("cat /x/a", {"allow": ["Read(//x/**)"]}, "allow", "other"),
        ("cat /x/a", {"allow": ["Bash"]}, "allow", "other"),
        ("cat /x/a", {"allow": ["Bash(cat /x/a)"]}, "allow", "other"),
        ("cat /x/a", {"allow": ["Bash(cat:*)"]}, "ask", "workingDir"),
        ("cat /proc/1/environ", {"allow": ["Bash"]}, "ask", "safetyCheck"),
        ("cat -", {}, "allow", "other"),
        ("cat -", {"deny": ["Read"]}, "allow", "other"),
        ("touch -", {"deny": ["Edit"], "allow": ["Bash"]}, "deny", "rule"),
        ("cat <&0", {}, "allow", "other"),
        ("cat <&3-", {"deny": ["Read"]}, "allow", "other"),
        ("cat <0", {"deny": ["Read(0)"]}, "deny", "rule"),
        ("cat <a", {"deny": ["Read(a)"]}, "deny", "rule"),
        ("cat <<<a", {"deny": ["Read(a)"]}, "allow", "other"),
        ("cat <<a\nx\na", {}, "allow", "other"),
        ("ls 2>&1", {}, "allow", "other"),
        *((f"ls >&{descriptor}", {}, "allow", "other") for descriptor in "-0123456789"),
        ("make 'a", {"allow": ["Bash(make 'a)"]}, "allow", "rule"),
        ("ls >/dev/null 2>/dev/stderr", {}, "allow", "other"),
        ("ls >/dev/stdout", {}, "allow", "other"),
        ("ls >/dev/tty", {}, "allow", "other"),
        ("cat /dev/stdin", {}, "allow", "other"),
        ("cat /dev/sda", {}, "ask", "safetyCheck"),
        ("strings /x/a", {}, "ask", "workingDir"),
        ("strings a", {}, "allow", "other"),
        ("ls >a", {}, "ask", "mode"),
        ("ls >&a", {}, "ask", "mode"),
        ("ls >a", {"allow": ["Edit(a)"]}, "allow", "other"),
        ("ls >a", {"mode": "acceptEdits"}, "allow", "other"),
        ("ls >a", {"deny": ["Edit(a)"]}, "deny", "rule"),
        ("ls >>.git/config", {"mode": "acceptEdits"}, "ask", "safetyCheck"),
        ("touch a", {"allow": ["Bash(touch:*)"]}, "allow", "rule"),
        ("touch a", {"allow": ["Bash(touch:*)"], "deny": ["Edit(a)"]}, "deny", "rule"),
        ("touch a", {"allow": ["Bash(touch:*)"], "deny": ["Read(a)"]}, "deny", "rule"),
        ("curl -o a https://x", {"allow": ["Bash(curl:*)"]}, "ask", "mode"),
        # Files that are known only in part
        ('cat "$x"', {}, "ask", "other"),
        ('cat "$x"', {"deny": ["Read(a)"]}, "ask", "rule"),
        ('cat "$x"', {"ask": ["Read(a)"]}, "ask", "rule"),
        ('touch "$x"', {"allow": ["Bash(touch:*)"]}, "ask", "other"),
        ('touch "$x"', {"allow": ["Bash"]}, "allow", "rule"),
        ('touch "$x"', {"allow": ["Bash"], "deny": ["Edit(a)"]}, "ask", "rule"),
        ('ls >"$x"', {"mode": "bypassPermissions", "ask": ["Edit(a)"]}, "ask", "rule"),
        ("cat *", {"deny": ["Read(.env)"]}, "ask", "rule"),
        ("cat *.py", {"deny": ["Read(.env)"]}, "allow", "other"),
        ("cat *.py", {"deny": ["Read(.env)", "Read(a.py)"]}, "ask", "rule"),
        ("cat *.py", {"deny": ["Read(a*)"]}, "ask", "rule"),
        ("cat s/*", {"deny": ["Read(s/**)"]}, "deny", "rule"),
        ("cat t/*", {"deny": ["Read(s/**)"]}, "allow", "other"),
        ("cat *.py", {"deny": ["Read(x"]}, "ask", "rule"),
        ("cat *.py", {"ask": ["Read"]}, "ask", "rule"),
        ("cat *.py", {}, "allow", "other"),
        ("cat ~bob/x", {}, "ask", "workingDir"),
        ("cat ~bob/x", {"allow": ["Bash"]}, "allow", "rule"),
        ("touch .g*", {"mode": "acceptEdits"}, "ask", "safetyCheck"),
        ("cat .g*", {}, "allow", "other"),
        ("touch *.py", {"mode": "plan", "ask": ["Edit"]}, "deny", "mode"),
        # Programs that are not known here
        ("frob a", {"allow": ["Bash(frob:*)"], "deny": ["Read(a)"]}, "ask", "rule"),
        ("frob --x=a", {"allow": ["Bash(frob:*)"], "deny": ["Edit(a)"]}, "ask", "rule"),
        ("frob b", {"allow": ["Bash(frob:*)"], "deny": ["Read(a)"]}, "allow", "rule"),
        ("frob ''", {"allow": ["Bash(frob:*)"], "deny": ["Read(a)"]}, "allow", "rule"),
        ("frob *", {"allow": ["Bash(frob:*)"], "deny": ["Read(a)"]}, "allow", "rule"),
        ('frob "$x"', {"allow": ["Bash(frob:*)"], "deny": ["Read(a)"]}, "allow", "rule"),
        ("frob " + "a" * 4097, {"allow": ["Bash(frob:*)"], "deny": ["Read(a*)"]}, "allow", "rule"),
        ("frob " + "a" * 4096, {"allow": ["Bash(frob:*)"], "deny": ["Read(a*)"]}, "ask", "rule"),
        ("frob -Fx.env", {"allow": ["Bash(frob:*)"], "deny": ["Read(.env)"]}, "ask", "rule"),
        ("frob a.pem", {"allow": ["Bash(frob:*)"], "deny": ["Read(**/*.pem)"]}, "ask", "rule"),
        ("frob a.pem", {"allow": ["Bash(frob:*)"], "deny": ["Edit(**/*.pem)"]}, "ask", "rule"),
        ("frob 'xa*x'", {"allow": ["Bash(frob:*)"], "deny": ["Read(a*)"]}, "allow", "rule"),
        ("frob ab", {"allow": ["Bash(frob:*)"], "deny": ["Read(a?)"]}, "ask", "rule"),
        ("frob xa?x", {"allow": ["Bash(frob:*)"], "deny": ["Read(a?)"]}, "allow", "rule"),
        ("frob a", {"allow": ["Bash(frob:*)"]}, "allow", "rule"),
        ("frob ~", {"allow": ["Bash(frob:*)"], "deny": ["Read(a)"]}, "allow", "rule"),
        ("tar -I x y", {"allow": ["Bash(tar:*)"]}, "ask", "other"),
        ("make", {"mode": "bypassPermissions"}, "allow", "mode"),
        ("touch x", {"mode": "acceptEdits"}, "allow", "mode"),
        # Rules that may mean the command
        ("make \0", {}, "deny", "other"),
        ('"$x" a', {"deny": ["Bash(rm:*)"]}, "ask", "rule"),
        ("grep -r x .", {"deny": ["Read(a)"]}, "ask", "rule"),
        ("bash -c ls", {}, "allow", "subcommandResults"),
        ("x=$(ls); printf '%s' $x", {}, "allow", "other"),
        ("printf '%s' *", {}, "allow", "other"),
        # Folders
        ("cd /x && cat a", {}, "ask", "subcommandResults"),
        ("cd s && cat a", {"deny": ["Read(s/a)"]}, "deny", "rule"),
        ("bash -c 'cat a'", {"deny": ["Read(a)"]}, "deny", "rule"),
        ("cd s && bash -c 'cat a'", {"deny": ["Read(s/a)"]}, "deny", "rule"),
    ],
)
def test_files_of_a_command_count(command: str, given: dict[str, Any], behavior: str, kind: str):
    decision = ask_about(command, **given)
    assert (decision.behavior, decision.reason_type) == (behavior, kind), decision.reason


def test_a_step_shows_the_command_that_was_written():
    decision = ask_about("timeout 5 make; bash -c 'cargo x'")
    assert [step.subject for step in decision.steps] == [
        "timeout 5 make",
        "timeout 5 make",
        "bash -c 'cargo x'",
        "cargo x",
    ]


def test_a_part_tells_where_only_a_rule_is_missing():
    judge = BashJudge(Circumstances(ANCHORS, rules=rules(ask=["Bash(cargo:*)"])), Disk(), "Bash")
    judged = judge.judge("ls; make; cargo x; cat /x/a; tar -I x y")
    assert [(part.command.name, part.unruled) for part in judged] == [
        ("ls", False),
        ("make", True),
        ("cargo", False),
        ("cat", False),
        ("tar", False),
    ]


def test_variables_of_this_shell_are_not_known_in_another():
    assert ask_about("x=5; sort -k $x a").behavior == "allow"
    assert ask_about("x=5; sort -k $x$y a").behavior == "ask"
    assert ask_about("x=5; bash -c 'sort -k $x a'").behavior == "ask"
    assert ask_about("x=5; bash -c 'ls'; sort -k $x a").behavior == "allow"


def test_the_rule_that_may_mean_a_file_is_named():
    decision = ask_about("cat *", deny=["Read(.env)"])
    assert (decision.rule and decision.rule.rule, decision.reason) == (
        Rule("Read", ".env"),
        "* may be a file that the rule Read(.env) means",
    )


class LinkedDisk(Disk):
    """A disk on which every folder but `plain` may hold links."""

    def is_plain(self, folder: str) -> bool:
        return folder.endswith("/plain")


@pytest.mark.parametrize(
    ("command", "plain", "linked"),
    [
        ("find . -exec cat {} +", "allow", "ask"),
        ("find . -exec cat {} \\;", "allow", "ask"),
        ("find . -exec wc -l {} + -print", "allow", "ask"),
        ("find . -exec grep -f {} x \\; -print", "allow", "ask"),
        ("find . -exec cat ../{} \\;", "ask", "ask"),
        ("find . -exec cat x{} \\;", "ask", "ask"),
        ("find /x -exec cat {} +", "ask", "ask"),
        ("find plain -exec cat {} +", "allow", "allow"),
        ("find plain . -exec cat {} +", "allow", "ask"),
        ("find . -type f -exec cat {} +", "allow", "allow"),
        ("find . -name x -type f -exec cat {} \\;", "allow", "allow"),
        ("find . -exec cat {} + -type f", "allow", "ask"),
        ("find . -type d -exec cat {} +", "allow", "ask"),
        ("find . -type f,l -exec cat {} +", "allow", "ask"),
        ("find . -type l -o -type f -exec cat {} +", "allow", "ask"),
        ("find . -type l -or -type f -exec cat {} +", "allow", "ask"),
        ("find . ! -type f -exec cat {} +", "allow", "ask"),
        ("find . -not -type f -exec cat {} +", "allow", "ask"),
        ("find . -type f , -exec cat {} +", "allow", "ask"),
        ("find . \\( -type f -name x \\) -exec cat {} +", "allow", "ask"),
        ("find -L . -type f -exec cat {} +", "ask", "ask"),
        ("find . -follow -type f -exec cat {} +", "ask", "ask"),
        ("find . -exec cat {} + -delete", "ask", "ask"),
        ("find . -exec echo + \\; -delete", "ask", "ask"),
    ],
)
def test_files_that_find_adds_are_below_its_folders(command: str, plain: str, linked: str):
    given, circumstances = {"command": command}, Circumstances(ANCHORS)
    assert decide("Bash", given, circumstances, Disk()).behavior == plain
    assert decide("Bash", given, circumstances, LinkedDisk()).behavior == linked


def test_the_folder_of_the_repository_itself_is_not_another_repository(tmp_path: Path):
    build_project(tmp_path)
    for name in ("kit", "kit.git"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "HEAD").write_text("ref: refs/heads/main\n")
    folders = (".git", "src", "kit", "kit.git")
    behaviors = [decide_in(tmp_path, f"cd {folder} && git log", cage=False).behavior for folder in folders]
    assert behaviors == ["allow", "allow", "ask", "ask"]


@pytest.mark.parametrize("command", ["tmux new x", "cat /x/a", "tar -I x y", 'bash -c "make \'a"'])
def test_no_rule_is_suggested_if_more_than_a_rule_is_missing(command: str):
    judged = BashJudge(Circumstances(ANCHORS), Disk(), "Bash").judge(command)
    assert [part.unruled for part in judged if part.step.behavior != "allow"][:1] == [False]


def test_allowed_parts_miss_no_rule():
    judge = BashJudge(Circumstances(ANCHORS, rules=rules(allow=["Bash(make:*)"])), Disk(), "Bash")
    assert [part.unruled for part in judge.judge("x=1; make; ls; timeout 5 ls")] == [False] * 5


def test_in_a_folder_that_is_not_trusted_git_does_not_only_look():
    assert [ask_about(command, trusted=False).behavior for command in ("git log", "/usr/bin/git log", "ls")] == [
        "ask",
        "ask",
        "allow",
    ]


def test_git_outside_of_every_repository_is_allowed_with_everything():
    assert ask_about("git -C /x status", allow=["Bash"], deny=["Bash(rm:*)"]).behavior == "allow"


@pytest.mark.parametrize(("allow", "behavior"), [(["Read(//x/a)"], "allow"), ([], "ask")])
def test_a_file_that_a_rule_allows_does_not_keep_a_command_out_of_the_cage(allow: list[str], behavior: str):
    caged = Circumstances(ANCHORS, cage=True, rules=rules(allow))
    assert decide("Bash", {"command": 'cat /x/a "$(echo f)"'}, caged, Disk()).behavior == behavior
