"""Descriptions of updates are as broad as the updates."""

from __future__ import annotations

import pytest

from handrail.permissions.rules.rule import parse_rule
from handrail.permissions.updates.breadth import rule_breadth, update_breadth
from handrail.schema.permission_types import PermissionRuleValue, PermissionUpdate

EDITS = "file edits, and cp, mkdir, mv, rm, rmdir, tee, touch on files in the project, without asking, in this session"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Bash", "every command at all"),
        ("Bash(*)", "every command at all"),
        ("Bash(:*)", "every command at all"),
        ("Bash(rm a.txt)", "exactly `rm a.txt`"),
        ("Bash(touch a; echo b)", "exactly `touch a; echo b`"),
        ("Bash(npm run *)", "every command that begins with `npm run`"),
        ("Bash(npm run:*)", "every command that begins with `npm run`"),
        ("Bash(python build.py *)", "every command that begins with `python build.py`"),
        ("Bash(sudo:*)", "every command that begins with `sudo`, and so any program at all"),
        ("Bash(/bin/bash -c *)", "every command that begins with `/bin/bash -c`, and so any program at all"),
        ("Bash(* --version)", "every command that fits `* --version`, where * stands for anything"),
        ("mcp__files", "every tool of the MCP server files, with any input"),
        ("mcp__files__*", "every tool of the MCP server files, with any input"),
        ("mcp__files__get_*", "every tool of the MCP server files whose name begins with get_, with any input"),
        ("mcp__files__read", "the tool read of the MCP server files, with any input"),
        ("WebFetch", "fetching from any address"),
        ("WebFetch(domain:*)", "fetching from any address"),
        ("WebFetch(domain:example.com)", "fetching anything from example.com"),
        ("WebFetch(https://a)", "fetching what fits `https://a`"),
        ("WebSearch", "every use of WebSearch"),
        ("Skill(deploy)", "Skill with `deploy`"),
        ("*", "every tool, with any input"),
        ("Read", "reading any file"),
        ("Read(//**)", "reading any file on this machine"),
        ("Read(/**)", "reading any file in the project"),
        ("Read(~/**)", "reading any file in your home folder"),
        ("Read(**)", "reading any file at any depth of the working folder"),
        ("Read(//etc/**)", "reading any file below /etc"),
        ("Read(//etc/)", "reading any file below /etc"),
        ("Read(//srv/a\\[1\\]/**)", "reading any file below /srv/a[1]"),
        ("Read(//etc/hosts)", "reading /etc/hosts, and all in it if it is a folder"),
        ("Read(//etc/host*)", "reading everything that fits `/etc/host*`, on this machine"),
        ("Edit(/src/**)", "changing or creating any file below src, in the project"),
        ("Edit(src/*.ts)", "changing or creating everything that fits `src/*.ts`, in the working folder"),
        ("Write(notes.md)", "writing notes.md, at any depth of the working folder, and all in it if it is a folder"),
        ("Glob(src/**)", "Glob on any file below src, in the working folder"),
        ("Read(!secret)", ""),
    ],
)
def test_breadth_of_a_rule_is_described(text: str, words: str):
    assert rule_breadth(parse_rule(text)) == words


def rules(*texts: str, type: str = "addRules", behavior: str = "allow") -> PermissionUpdate:
    parsed = [parse_rule(text) for text in texts]
    values = [PermissionRuleValue(tool_name=rule.tool, rule_content=rule.content) for rule in parsed]
    return PermissionUpdate(type=type, rules=values, behavior=behavior)


@pytest.mark.parametrize(
    ("update", "words"),
    [
        (rules("Bash(a)", "Bash(b:*)"), "exactly `a`; every command that begins with `b`"),
        (rules("Bash(a)", behavior="deny"), "never again: exactly `a`"),
        (rules("Bash(a)", behavior="ask"), "always asking about: exactly `a`"),
        (rules("Bash(a)", type="replaceRules"), "in place of all other rules that allow: exactly `a`"),
        (rules("Bash(a)", type="removeRules"), "no longer without asking: exactly `a`"),
        (
            PermissionUpdate(type="setMode", mode="acceptEdits"),
            EDITS,
        ),
        (PermissionUpdate(type="addDirectories", directories=["/a", "/b"]), "working in /a, /b too"),
        (PermissionUpdate(type="removeDirectories", directories=["/a"]), "no longer working in /a"),
    ],
)
def test_all_changes_of_an_update_are_described(update: PermissionUpdate, words: str):
    assert update_breadth(update) == words


@pytest.mark.parametrize(
    "update",
    [
        PermissionUpdate(type="setMode", mode="bypassPermissions"),
        PermissionUpdate(type="setMode", mode="made up"),
        PermissionUpdate(type="made up"),
        PermissionUpdate(type="addRules"),
        PermissionUpdate(type="addDirectories"),
        PermissionUpdate(type="addDirectories", directories=["/a\u202eb"]),
        rules("Read(!a)", "Bash(a)"),
        rules("Bash(a)", behavior="made up"),
        PermissionUpdate(rules=[PermissionRuleValue(tool_name="Bash", rule_content="ls\u200b")]),
    ],
)
def test_update_that_cannot_be_granted_has_no_description(update: PermissionUpdate):
    assert update_breadth(update) == ""


def test_signs_that_cannot_be_seen_are_written_out():
    update = PermissionUpdate(rules=[PermissionRuleValue(tool_name="Bash", rule_content="echo a\necho b")])
    assert update_breadth(update) == "exactly `echo a\\necho b`"
