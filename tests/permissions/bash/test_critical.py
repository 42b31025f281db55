"""Commands after which nothing is left are asked for in every mode."""

from __future__ import annotations

import pytest

from handrail.permissions.bash.critical import critical
from handrail.permissions.paths.matching import Anchors
from handrail.permissions.shell.commands import Command, read_script
from handrail.permissions.shell.reading import Notes
from tests.permissions.bash_cases import ask_about

ANCHORS = Anchors(cwd="/h/me/w/sub", project="/h/me/w", home="/h/me", real_home="/data/me")


def why(text: str) -> str:
    script = read_script(text)
    assert not script.doubts, script.doubts
    return critical(script.commands[-1], ANCHORS, script.notes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rm -rf /", "rm would act on / as a whole"),
        ("rm -rf /*", "rm would act on / as a whole"),
        ("/bin/rm -rf /usr", "rm would act on /usr as a whole"),
        ("rm -rf //usr/./", "rm would act on //usr/./ as a whole"),
        ("rm -rf ~", "rm would act on /h/me as a whole"),
        ("rm -rf ~/*", "rm would act on /h/me as a whole"),
        ("rm -rf ~/.*", "rm would act on /h/me as a whole"),
        ("rm -rf /h", "rm would act on /h as a whole"),
        ("rm -rf /data/me", "rm would act on /data/me as a whole"),
        ("rm -rf .", "rm would act on /h/me/w/sub/. as a whole"),
        ("rm -rf ..", "rm would act on /h/me/w/sub/.. as a whole"),
        ("rm -rf *", "rm would act on /h/me/w/sub as a whole"),
        ('rm -rf "/$x"', "rm would act on / as a whole"),
        ('rm -rf ~/"$x"', "rm would act on /h/me/ as a whole"),
        ("find / -delete", "find would act on / as a whole"),
        ("chmod -R 777 /", "chmod would act on / as a whole"),
        ("chown --recursive me /etc", "chown would act on /etc as a whole"),
        ("mv ~ x", "mv would act on /h/me as a whole"),
        ("mkfs.ext4 x", "mkfs.ext4 can empty a whole disk"),
        ("mkfs", "mkfs can empty a whole disk"),
        ("wipefs", "wipefs can empty a whole disk"),
        ("cd / && rm -rf *", "rm would act on / as a whole"),
    ],
)
def test_deleting_everything_is_reported(text: str, expected: str):
    assert why(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf x",
        "rm -rf /h/me/x",
        "rm -rf /usr/x",
        "rm -rf /unheard",
        "rm -rf ~/x*",
        "rm -rf *.o",
        'rm -rf "$x"',
        'rm -rf "x$y"',
        "ls /",
        "chmod 777 /",
        "chmod -R 777 x",
        "find / -name x",
        "mkfsx",
        "x=1",
    ],
)
def test_smaller_deletions_are_left_to_the_rules(text: str):
    assert why(text) == ""


def test_nothing_is_not_critical():
    assert critical(Command(()), ANCHORS, Notes()) == ""


@pytest.mark.parametrize("mode", ["bypassPermissions", "acceptEdits", "default"])
def test_it_is_asked_for_in_every_mode_and_whatever_is_allowed(mode: str):
    decision = ask_about("rm -rf ~", mode=mode, allow=["Bash", "Bash(rm -rf ~)"])
    assert (decision.behavior, decision.reason_type) == ("ask", "safetyCheck")
