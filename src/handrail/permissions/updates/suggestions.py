"""Suggests at most five narrow updates that a person may want to allow for next time.

A suggestion is made only if it covers the very thing that was asked for, and reads back as the rule it was meant to
be. Nothing is suggested that would let a program run other programs, or that opens more than the folder of one file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from handrail.permissions.circumstances import World
from handrail.permissions.modes import class_of
from handrail.permissions.paths.matching import (
    OWN_SETTINGS,
    Anchors,
    Resolved,
    allows,
    inside,
    is_doubtful,
    is_protected,
    opens_own_settings,
)
from handrail.permissions.paths.names import is_below, squash
from handrail.permissions.paths.patterns import escape
from handrail.permissions.programs.files import WRITES_FILES, files_of
from handrail.permissions.programs.hazards import hazard
from handrail.permissions.programs.runnable import INTERPRETERS, RISKY, SCRIPT_RUNNERS, SUBCOMMANDS
from handrail.permissions.programs.wrappers import unwrap
from handrail.permissions.rules.bash_content import compile_content
from handrail.permissions.rules.rule import Rule, RuleError, parse_rule
from handrail.permissions.shell.commands import Command
from handrail.schema.permission_types import PermissionRuleValue, PermissionUpdate

__all__ = ["MOST_RULES", "suggest", "suggest_for_commands"]

MOST_RULES: Final = 5
LONGEST_RULE: Final = 200
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_@%+=:,./^-]+")
_MCP_TOOL: Final = re.compile(r"mcp__[A-Za-z0-9_-]{1,128}")
_ADDRESS: Final = re.compile(r"https?://(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::\d{1,5})?(?:[/?#]\S*)?", re.IGNORECASE)
_VERSION: Final = re.compile(r"[\d.]+\Z")
_ACCEPT_EDITS: Final = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")


def suggest(
    tool: str, given: Mapping[str, Any], anchors: Anchors, *, resolved: Resolved | None = None, mode: str = "default"
) -> tuple[PermissionUpdate, ...]:
    """Suggest updates for one use of a tool other than Bash. `resolved`: the file it names."""
    if resolved is not None and class_of(tool) == "edit":
        return _for_edit(resolved, anchors, mode)
    if resolved is not None and class_of(tool) == "read":
        return _for_read(resolved, anchors)
    if tool == "WebFetch":
        address = _ADDRESS.fullmatch(str(given.get("url", "")))
        return _rules("localSettings", Rule(tool, f"domain:{address['host'].lower()}")) if address else ()
    if tool == "WebSearch" or _MCP_TOOL.fullmatch(tool):
        return _rules("localSettings", Rule(tool))
    return ()


def suggest_for_commands(
    commands: Sequence[Command], anchors: Anchors, world: World, *, mode: str = "default"
) -> tuple[PermissionUpdate, ...]:
    """What could be allowed together with a Bash command, from the parts that no rule allows yet, all of them."""
    contents: dict[str, None] = {}
    for command in commands:
        content = _content_for(command)
        contents |= {content: None} if content else {}
        if content is None or len(contents) > MOST_RULES:
            return ()
    if not contents:
        return ()
    rules = _rules("localSettings", *(Rule("Bash", content) for content in contents))
    edits = [update for file in _written(commands, world) for update in _for_edit(file, anchors, mode)]
    return (*rules, *_merged(edits)) if rules else ()


def _written(commands: Sequence[Command], world: World) -> list[Resolved]:
    """The files that commands write, where that is all they do and it is known where they do it."""
    if not all(command.name in WRITES_FILES and command.folders == ((),) for command in commands):
        return []
    touched = [touch for command in commands for touch in files_of(command.words) if touch.access != "read"]
    return [world.resolve(touch.word.text) for touch in touched]


def _content_for(command: Command) -> str | None:
    """The narrowest rule of use for one command: `git commit *`, or its exact text; None where none is safe."""
    words = [word.text for word in command.words]
    program = words[0].rpartition("/")[2] if words else ""
    if {program, _VERSION.sub("", program)} & (INTERPRETERS | RISKY) or not program:
        return None
    if command.folders != ((),) and "/" in words[0] and not words[0].startswith("/"):
        return None
    if command.redirects or command.assignments or unwrap(command) or hazard(command.words):
        return None
    known = _known_words(program, words) if words[0] == program else ""
    if known:
        return f"{known} *" if _means("prefix", f"{known} *", command) else None
    fixed = all(word.fixed for word in command.words) and len(command.text) <= LONGEST_RULE
    return command.text if fixed and _means("exact", command.text, command) else None


def _means(kind: str, content: str, command: Command) -> bool:
    """Would a rule with this content be read as one of this kind, and cover the command?"""
    compiled = compile_content(content)
    return compiled.kind == kind and compiled.allows(command) > 0


def _known_words(program: str, words: Sequence[str]) -> str:
    """The words that already say what it does: `git commit`, `docker compose ps`, `npm run build`; else nothing."""
    for several in (" ".join(words[1:3]), " ".join(words[1:2])):
        if several in SUBCOMMANDS.get(program, ()):
            return f"{program} {several}"
    name = words[2] if len(words) > 2 and words[1] == SCRIPT_RUNNERS.get(program) else "-"
    return f"{program} {words[1]} {name}" if _PLAIN_WORD.fullmatch(name) and not name.startswith("-") else ""


def _for_edit(resolved: Resolved, anchors: Anchors, mode: str) -> tuple[PermissionUpdate, ...]:
    if mode == "plan":
        return ()
    if is_protected(resolved, anchors):
        own = next((content for content in OWN_SETTINGS if opens_own_settings(content, resolved, anchors)), None)
        return _rules("session", Rule("Edit", own)) if own else ()
    if is_doubtful(resolved):
        return ()
    accept = () if mode == "acceptEdits" else (_ACCEPT_EDITS,)
    if inside(resolved, anchors):
        return accept
    folders = list(dict.fromkeys(_folder(path, resolved) for path in (resolved.lexical, resolved.real or "")))
    if not all(_is_narrow(folder, anchors) for folder in folders):
        return ()
    return (*accept, PermissionUpdate(type="addDirectories", directories=folders, destination="session"))


def _for_read(resolved: Resolved, anchors: Anchors) -> tuple[PermissionUpdate, ...]:
    folder = _folder(resolved.lexical, resolved)
    content = f"/{escape(folder)}/**"
    useful = not inside(resolved, anchors) and _is_narrow(folder, anchors) and allows(content, resolved, anchors)
    return _rules("session", Rule("Read", content)) if useful else ()


def _folder(path: str, resolved: Resolved) -> str:
    return path if resolved.kind == "directory" else squash(f"{path}/..")


def _is_narrow(folder: str, anchors: Anchors) -> bool:
    """Not the root, not the home, nothing above home or cwd, and no place of secrets."""
    above = (anchors.cwd, anchors.home, anchors.real_cwd, anchors.real_home)
    secret = is_protected(Resolved(asked=folder, lexical=folder, real=folder, kind="directory"), anchors)
    return folder != "/" and not secret and not any(is_below(place, folder) for place in above if place)


def _merged(updates: Sequence[PermissionUpdate]) -> list[PermissionUpdate]:
    """One change of the mode and one list of folders, however many files there are."""
    folders = list(dict.fromkeys(folder for update in updates for folder in update.directories))
    directories = [PermissionUpdate(type="addDirectories", directories=folders, destination="session")]
    return [*([_ACCEPT_EDITS] if _ACCEPT_EDITS in updates else []), *(directories if folders else [])]


def _rules(destination: str, *rules: Rule) -> tuple[PermissionUpdate, ...]:
    """One update with these rules, if each can be written down and read again as it is."""
    if not all(map(_is_readable, rules)):
        return ()
    values = [PermissionRuleValue(tool_name=rule.tool, rule_content=rule.content) for rule in rules]
    return (PermissionUpdate(type="addRules", rules=values, behavior="allow", destination=destination),)


def _is_readable(rule: Rule) -> bool:
    try:
        return parse_rule(str(rule)) == rule
    except RuleError:
        return False
