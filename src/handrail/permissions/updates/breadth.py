"""Describes how much a suggested update would allow, in plain words. Pure.

The words are made from the rule as the engine reads it, never from its text, so a rule that looks narrow but is broad
is described as broad. An update that the engine would refuse has an empty description and should not be offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from handrail.permissions.modes import CLASSES
from handrail.permissions.paths.names import oddity, shown
from handrail.permissions.paths.patterns import compile_pattern, problem_of
from handrail.permissions.programs.files import WRITES_FILES
from handrail.permissions.programs.runnable import INTERPRETERS
from handrail.permissions.rules.bash_content import compile_content
from handrail.permissions.rules.rule import Rule
from handrail.permissions.updates.apply import UpdateRefused, rules_of
from handrail.schema.permission_types import PermissionUpdate

__all__ = ["rule_breadth", "update_breadth"]

_MODES: Final = {
    "acceptEdits": f"file edits, and {', '.join(sorted(WRITES_FILES))} on files in the project, without asking",
    "plan": "only reading and planning",
    "default": "asking as usual",
    "manual": "asking as usual",
    "dontAsk": "denying everything that no rule allows, without asking",
    "auto": "a model decides in your place what may run",
}
"""To bypass every question is granted by no answer, so its words are empty."""
_FILES: Final = {"Read": "reading", "Edit": "changing or creating", "Write": "writing"}
_RULES: Final = {
    ("addRules", "allow"): "",
    ("addRules", "deny"): "never again: ",
    ("addRules", "ask"): "always asking about: ",
    ("replaceRules", "allow"): "in place of all other rules that allow: ",
    ("replaceRules", "deny"): "in place of all other rules that deny: ",
    ("replaceRules", "ask"): "in place of all other rules that ask: ",
    ("removeRules", "allow"): "no longer without asking: ",
    ("removeRules", "deny"): "no longer denied: ",
    ("removeRules", "ask"): "no longer asked about: ",
}
_SIGNS: Final = re.compile(r"(?<!\\)[*?\[]")
_PLACES: Final = (("//", "/", "on this machine"), ("~/", "~/", "in your home folder"), ("/", "", "in the project"))
"""How a content begins, how the path is then written, and where that is."""


def update_breadth(update: PermissionUpdate) -> str:
    """What an update would change, in words; "" where it cannot be granted."""
    words = _UPDATES.get(update.type)
    return "" if words is None else words(update)


def rule_breadth(rule: Rule) -> str:
    """What a rule covers, in words; "" where it covers nothing."""
    tool, content = rule.tool, rule.content
    if tool == "Bash":
        return _commands(content)
    if tool.startswith("mcp__"):
        return _of_server(tool)
    if CLASSES.get(tool) in ("read", "edit"):
        return _files(tool, content)
    if tool == "WebFetch":
        return _fetching(content)
    if content is not None:
        return f"{tool} with `{shown(content)}`"
    return "every tool, with any input" if tool == "*" else f"every use of {tool}"


def _rules(update: PermissionUpdate) -> str:
    try:
        parts = [rule_breadth(one.rule) for one in rules_of(update)]
    except UpdateRefused:
        return ""
    return _RULES[update.type, update.behavior] + "; ".join(parts) if parts and all(parts) else ""


def _mode(update: PermissionUpdate) -> str:
    words = _MODES.get(update.mode)
    return f"{words}, in this session" if words else ""


def _folders(update: PermissionUpdate) -> str:
    if not update.directories or any(not folder or oddity(folder) for folder in update.directories):
        return ""
    named = ", ".join(map(shown, update.directories))
    return f"working in {named} too" if update.type == "addDirectories" else f"no longer working in {named}"


_UPDATES: Final[Mapping[str, Callable[[PermissionUpdate], str]]] = {
    **dict.fromkeys(("addRules", "replaceRules", "removeRules"), _rules),
    **dict.fromkeys(("addDirectories", "removeDirectories"), _folders),
    "setMode": _mode,
}


def _commands(content: str | None) -> str:
    compiled = compile_content(content)
    if compiled.kind == "all":
        return "every command at all"
    if compiled.kind == "exact":
        return f"exactly `{shown(content or '')}`"
    if compiled.kind == "pattern":
        return f"every command that fits `{shown(compiled.text)}`, where * stands for anything"
    program, *rest = compiled.words or ("",)
    anything = program.rpartition("/")[2] in INTERPRETERS and all(word.startswith("-") for word in rest)
    return f"every command that begins with `{shown(compiled.text)}`" + (
        ", and so any program at all" if anything else ""
    )


def _of_server(tool: str) -> str:
    server, _, name = tool.removeprefix("mcp__").partition("__")
    if name in ("", "*"):
        return f"every tool of the MCP server {server}, with any input"
    if name.endswith("*"):
        return f"every tool of the MCP server {server} whose name begins with {name[:-1]}, with any input"
    return f"the tool {name} of the MCP server {server}, with any input"


def _fetching(content: str | None) -> str:
    if content is None or content in ("*", "domain:*"):
        return "fetching from any address"
    host = content.removeprefix("domain:")
    return f"fetching anything from {shown(host)}" if host != content else f"fetching what fits `{shown(content)}`"


def _files(tool: str, content: str | None) -> str:
    doing = _FILES.get(tool, f"{tool} on")
    if content is None:
        return f"{doing} any file"
    if problem_of(content):
        return ""
    path, where = _placed(content)
    pattern = compile_pattern(path.removeprefix("~"))
    if not pattern.parts:
        return f"{doing} any file {where}"
    below = path.removesuffix("/**")
    if _SIGNS.search(below):
        return f"{doing} everything that fits `{shown(path)}`, {where}"
    plain = shown(re.sub(r"\\(.)", r"\1", below)).rstrip("/")
    told = plain if plain.startswith(("/", "~")) else f"{plain}, {where}"
    return f"{doing} any file below {told}" if pattern.within else f"{doing} {told}, and all in it if it is a folder"


def _placed(content: str) -> tuple[str, str]:
    """The path as a person writes it, and where it is looked for."""
    for beginning, written, where in _PLACES:
        if content.startswith(beginning):
            return written + content[len(beginning) :], where
    anywhere = "/" not in content.rstrip("/")
    return content, "at any depth of the working folder" if anywhere else "in the working folder"
