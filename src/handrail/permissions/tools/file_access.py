"""Decides whether a file may be read or written.

File tools and the files of shell commands are decided in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from handrail.permissions.circumstances import Circumstances, Step
from handrail.permissions.modes import class_of, effective_mode, passes
from handrail.permissions.paths.matching import (
    Resolved,
    allows,
    denies,
    inside,
    is_doubtful,
    is_protected,
    is_refused,
    opens_own_settings,
    shown,
)
from handrail.permissions.rules.book import rules_about
from handrail.permissions.rules.rule import Behavior, SourcedRule

__all__ = ["Use", "judge_access", "path_rules", "rule_on_path"]

Use = Literal["read", "write"]
_TOOLS: Final[dict[Use, str]] = {"read": "Read", "write": "Edit"}


def judge_access(resolved: Resolved, use: Use, circumstances: Circumstances, tool: str = "") -> Step:
    """Judge one file. `tool` is the file tool in use; without it, a command uses the file."""
    path = resolved.real or resolved.lexical

    def step(behavior: Behavior, reason: str, kind: str, rule: SourcedRule | None = None) -> Step:
        blocked = path if behavior != "allow" else None
        return Step(behavior, reason, kind, rule, blocked, subject=f"{use} {shown(resolved.asked)}")

    allowing = _allowing(resolved, use, tool, circumstances)
    tool = tool or _TOOLS[use]
    if why := is_refused(resolved):
        return step("deny", f"{shown(resolved.asked)} is never opened: {why}", "safetyCheck")
    if rule := rule_on_path(resolved, "deny", tool, circumstances):
        return step("deny", f"the rule {rule.rule} denies {shown(path)}", "rule", rule)
    mode = effective_mode(circumstances.mode, bypass_available=circumstances.bypass_available)
    if rule := rule_on_path(resolved, "ask", tool, circumstances):
        return step("ask", f"the rule {rule.rule} asks about {shown(path)}", "rule", rule)
    if why := is_doubtful(resolved):
        return step("ask", f"a person should look at {shown(resolved.asked)}: {why}", "safetyCheck")
    if use == "write" and (why := _protection(resolved, circumstances)):
        return step("ask", f"{shown(path)} is protected: {why}", "safetyCheck")
    return step(*_permission(resolved, mode, tool, allowing, circumstances))


def _permission(
    resolved: Resolved, mode: str, tool: str, allowing: SourcedRule | None, circumstances: Circumstances
) -> tuple[Behavior, str, str, SourcedRule | None]:
    """What lets it pass, if anything does, once nothing refuses it."""
    passing = passes(mode, tool)
    if passing == "allow":
        return "allow", f"the mode {mode} lets it pass", "mode", None
    if passing == "confirm":
        although = "a rule allows it, but " if allowing else ""
        return "ask", f"{although}in the mode {mode} nothing is changed unasked", "mode", allowing
    if allowing is not None:
        return "allow", f"the rule {allowing.rule} allows it", "rule", allowing
    if not inside(resolved, circumstances.anchors):
        path = shown(resolved.real or resolved.lexical)
        return "ask", f"{path} is outside the folders that may be worked in", "workingDir", None
    if passing == "inside":
        return "allow", f"it is in a folder that may be worked in, and the mode is {mode}", "mode", None
    return "ask", f"in the mode {mode} a change of a file is asked for", "mode", None


def _allowing(resolved: Resolved, use: Use, tool: str, circumstances: Circumstances) -> SourcedRule | None:
    """The allow rule that covers the file, as the Claude CLI reads it.

    A rule about paths has to name Read or Edit and holds for all tools that read or change files, and for commands. A
    rule about a whole tool, or about `*`, holds for this tool only.
    """
    for rule in circumstances.rules:
        named, content = rule.rule.tool, rule.rule.content
        if rule.behavior != "allow" or rule.broken or named != (_TOOLS[use] if content not in (None, "*") else tool):
            continue
        if content is None or allows(content, resolved, circumstances.anchors):
            return rule
    return None


def path_rules(circumstances: Circumstances, behavior: Behavior, tool: str) -> Iterator[SourcedRule]:
    """The deny or ask rules about files that bear on this tool.

    A file that may not be read may not be changed either, and a path that is forbidden to one tool that writes is
    forbidden to all, including commands."""
    yield from rules_about(circumstances.rules, behavior, tool)
    if class_of(tool) != "edit":
        return
    for rule in circumstances.rules:
        named = rule.rule.tool
        others = class_of(named) == "edit" and named not in ("Edit", "MultiEdit", tool)
        if others and rule.behavior == behavior and rule.rule.content is not None:
            yield rule
    if behavior == "deny":
        yield from rules_about(circumstances.rules, behavior, "Read")


def rule_on_path(resolved: Resolved, behavior: Behavior, tool: str, circumstances: Circumstances) -> SourcedRule | None:
    """The first deny or ask rule that covers the file. A deny that cannot be read asks about every file."""
    for rule in path_rules(circumstances, behavior, tool):
        content = rule.rule.content
        if content is None or denies(content, resolved, circumstances.anchors) or (rule.broken and behavior == "ask"):
            return rule
    return _broken(circumstances, tool) if behavior == "ask" else None


def _broken(circumstances: Circumstances, tool: str) -> SourcedRule | None:
    return next((rule for rule in path_rules(circumstances, "deny", tool) if rule.broken), None)


def _protection(resolved: Resolved, circumstances: Circumstances) -> str:
    """Why the file is protected, unless this session was given its own settings to change."""
    why = is_protected(resolved, circumstances.anchors)
    opened = why and any(
        rule.scope == "session" and opens_own_settings(rule.rule.content, resolved, circumstances.anchors)
        for rule in rules_about(circumstances.rules, "allow", "Edit")
    )
    return "" if opened else why
