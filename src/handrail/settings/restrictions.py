"""Deny and ask rules of a folder's own settings files, in a form that can be passed to a CLI with `--settings`.

A CLI that is started without the sources `project` and `local`, because the folder is not trusted, does not read these
files at all. Their restrictions must hold nevertheless: a folder may always tighten what runs in it.

A rule changes its meaning in one case when it moves to `--settings`: the real CLI resolves `Read(/secret/**)` against
the project when it comes from a project file, and against the folder of the settings file when it comes from
`--settings`. Such a rule is therefore passed on twice, as written and with an absolute path. The original is kept since
our engine also reads a deny of `/etc/shadow` as the file of that name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from handrail.permissions.modes import CLASSES
from handrail.permissions.paths.patterns import LONGEST_PATTERN, escape
from handrail.permissions.rules.rule import Rule, SourcedRule, read_rules
from handrail.settings.files import Problem, RuleText, SettingsFile, places, read_file
from handrail.settings.last_good import LastGood
from handrail.settings.merge import PROJECT_SCOPES, disables_bypass
from handrail.settings.plain_file import LIMIT

__all__ = ["Restrictions", "restrictions_of"]

Restricting = Literal["deny", "ask"]

MOST_BYTES: Final = LIMIT // 4
"""Largest JSON list of deny or of ask rules. The agent rejects a settings file above LIMIT, and that file may hold
both lists and settings of the host."""
_EVERY_FILE: Final = {"Read": "Read(//**)", "Edit": "Edit(//**)"}
"""To the real CLI a rule for `Edit` without a path covers that tool alone; with a path it covers Write as well."""


class Restrictions(Struct, frozen=True):
    """Rules as text, without duplicates. `problems` lists the files and rules that could not be read."""

    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    bypass_disabled: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """The value for `Options(settings=…)`; empty without restrictions."""
        permissions: dict[str, Any] = {}
        if self.deny:
            permissions["deny"] = [*self.deny]
        if self.ask:
            permissions["ask"] = [*self.ask]
        if self.bypass_disabled:
            permissions["disableBypassPermissionsMode"] = "disable"
        return {"permissions": permissions} if permissions else {}


def restrictions_of(
    folder: str, home: str, *, cli_reads_folder: bool = False, last_good: LastGood | None = None
) -> Restrictions:
    """The restrictions that a CLI started in `folder` would not find by itself.

    With `cli_reads_folder` the CLI is given the sources `project` and `local`. It then reads every valid file itself,
    and only the rules of broken files are returned: the real CLI ignores a broken file altogether.

    A broken file contributes the rules that can be read of it and those of its last valid version. Nothing is raised
    for bad files.
    """
    folder = os.path.realpath(folder)
    memory = LastGood(home) if last_good is None else last_good
    files = memory.fill(
        read_file(place) for place in places(folder, home) if place.scope in PROJECT_SCOPES and place.kind == "settings"
    )
    passed_on = [file for file in files if file.broken or not cli_reads_folder]
    collected = _Collected(folder)
    for file in passed_on:
        collected.add(file)
    return Restrictions(
        deny=collected.rules("deny"),
        ask=collected.rules("ask"),
        bypass_disabled=any(map(disables_bypass, passed_on)),
        problems=(*(problem for file in files for problem in file.problems), *collected.problems),
    )


class _Collected:
    """The rules of several files, in order."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._texts: dict[Restricting, dict[str, SourcedRule]] = {"deny": {}, "ask": {}}
        self.problems: list[Problem] = []

    def add(self, file: SettingsFile) -> None:
        for written in file.rule_texts():
            if written.behavior != "allow":
                self._add(file, written, written.behavior)

    def _add(self, file: SettingsFile, written: RuleText, behavior: Restricting) -> None:
        (rule,) = read_rules([written.text], behavior, file.place.scope, file.place.path, [written.line])
        self._texts[behavior][written.text] = rule
        if rule.broken:
            self._report(rule, f"this {behavior} rule cannot be read: {rule.broken}")
            # Our engine asks before every use of a tool that a broken rule names. The real CLI ignores such a rule.
            if rule.rule.tool != "*":
                self._texts["ask"].setdefault(_EVERY_FILE.get(rule.rule.tool, rule.rule.tool), rule)
        elif (content := _absolute(rule.rule, self._folder)) is not None:
            if len(content) > LONGEST_PATTERN:
                # Our engine lets a pattern of this length cover every file, so it would deny far more than written.
                self._report(rule, f"this {behavior} rule is too long for an absolute path; Claude Code ignores it")
            else:
                self._texts[behavior][str(Rule(rule.rule.tool, content))] = rule

    def _report(self, rule: SourcedRule, text: str) -> None:
        self.problems.append(Problem(rule.source, text, rule.line, 1))

    def rules(self, behavior: Restricting) -> tuple[str, ...]:
        """The rules of one behavior. A list that is too large is replaced by rules for whole tools."""
        texts = self._texts[behavior]
        if _fits(texts):
            return (*texts,)
        tools = (*dict.fromkeys(rule.rule.tool for rule in texts.values()),)
        self.problems.append(
            Problem(self._folder, f"more {behavior} rules than can be passed on; they apply to whole tools instead")
        )
        return tools if _fits(tools) else ("*",)


def _absolute(rule: Rule, folder: str) -> str | None:
    """The content of a file rule relative to the project, as an absolute path; None for any other rule."""
    content = rule.content
    if content is None or CLASSES.get(rule.tool) not in ("read", "edit"):
        return None
    if not content.startswith("/") or content.startswith("//"):
        return None
    # A rule with an invisible character is invalid, so such a character of the folder's name becomes a wildcard.
    visible = "".join(_visible(escape(folder.rstrip("/"))))
    return f"/{visible}{content}"


def _visible(text: str) -> Iterator[str]:
    for character in text:
        yield character if character.isprintable() else "?"


def _fits(texts: Iterable[str] | Sequence[str]) -> bool:
    return len(json.dumps([*texts])) <= MOST_BYTES
