"""Decides whether a tool may run.

The order: deny rules; ask rules; findings of the tool itself (commands, files, addresses); tools that need a person;
the mode; allow rules; modes that let a tool pass; otherwise ask. If no one can be asked, ask means deny.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from handrail.permissions.circumstances import Circumstances, Decision, Step, World, by_rule, strictest
from handrail.permissions.modes import class_of, effective_mode, passes
from handrail.permissions.paths.matching import Resolved
from handrail.permissions.rules.book import rules_about
from handrail.permissions.rules.rule import Behavior
from handrail.permissions.tools.addresses import judge_address
from handrail.permissions.tools.file_access import Use, judge_access
from handrail.permissions.tools.globs import globbed
from handrail.schema.permission_types import PermissionUpdate

if TYPE_CHECKING:
    from handrail.permissions.bash.judge import Judged

__all__ = ["Circumstances", "Decision", "Step", "World", "decide", "with_hook"]

_PATH_FIELDS: Final = ("file_path", "notebook_path", "path")
_BEHAVIORS: Final[tuple[Behavior, ...]] = ("deny", "ask", "allow")


def decide(tool: str, input: Mapping[str, Any], circumstances: Circumstances, world: World) -> Decision:
    """Decide one use of a tool."""
    judge = _JUDGES.get(class_of(tool), _other)
    steps, suggestions = judge(tool, input, circumstances, world)
    decision = _decision(steps, suggestions)
    return decision if decision.behavior != "ask" else _unless_unanswerable(decision, tool, circumstances)


def with_hook(
    decision: Decision, behavior: Behavior, reason: str = "", *, circumstances: Circumstances | None = None
) -> Decision:
    """What a hook's word makes of a decision. It may refuse anything, but lifts only what no rule or check asks for.

    With circumstances, a hook that asks is a hook that refuses if no one can be asked.
    """
    step = Step(behavior, reason or f"a hook said {behavior}", "hook", subject="a hook")
    if behavior == "allow":
        firm = any(part.behavior != "allow" and part.reason_type in _FIRM for part in decision.steps)
        lifts = decision.behavior == "ask" and not firm
        return _decision([*decision.steps, step], (), step) if lifts else decision
    if decision.behavior == "deny" or (behavior == "ask" and decision.behavior == "ask"):
        return decision
    hooked = _decision([*decision.steps, step], (), step)
    return hooked if behavior == "deny" or not circumstances else _unless_unanswerable(hooked, "a hook", circumstances)


_FIRM: Final = frozenset({"rule", "safetyCheck", "interaction"})


def _decision(steps: list[Step], suggestions: tuple[PermissionUpdate, ...], deciding: Step | None = None) -> Decision:
    deciding = deciding or strictest(steps)
    several = deciding.behavior == "ask" and sum(step.behavior == "ask" for step in steps) > 1
    kind = "subcommandResults" if several and deciding.reason_type not in _FIRM else deciding.reason_type
    return Decision(
        deciding.behavior,
        deciding.reason,
        kind,
        deciding.rule,
        tuple(steps),
        suggestions if deciding.behavior == "ask" and deciding.reason_type != "rule" else (),
        deciding.path if deciding.behavior != "allow" else None,
        caged=deciding.behavior == "allow" and all(step.cage for step in steps),
    )


def _unless_unanswerable(decision: Decision, tool: str, circumstances: Circumstances) -> Decision:
    """Deny instead of asking, in the mode dontAsk and without a prompt channel."""
    if circumstances.mode == "dontAsk":
        why, kind = "the mode dontAsk denies what would be asked", "mode"
    elif not circumstances.can_prompt:
        why, kind = "no one can be asked", "asyncAgent"
    else:
        return decision
    step = Step("deny", f"{why}: {decision.reason}", kind, decision.rule, decision.blocked_path, subject=tool)
    return _decision([*decision.steps, step], (), step)


_Judged = tuple[list[Step], tuple[PermissionUpdate, ...]]


def _on_tool(tool: str, circumstances: Circumstances) -> list[Step]:
    """Rules about the whole tool, strictest first. Contents are left to the tool's own judge."""
    steps: list[Step] = []
    for behavior in _BEHAVIORS:
        for rule in rules_about(circumstances.rules, behavior, tool):
            if rule.rule.content is None and not rule.broken:
                steps.append(by_rule(behavior, rule, subject=tool))
            elif rule.broken:
                steps.append(Step("ask", f"a rule about it cannot be read: {rule.broken}", "rule", rule, subject=tool))
    return steps


def _bash(tool: str, input: Mapping[str, Any], circumstances: Circumstances, world: World) -> _Judged:
    command = input.get("command")
    if not isinstance(command, str):
        return [Step("deny", "the command is missing", subject=tool)], ()
    from handrail.permissions.bash.judge import BashJudge  # much to load: only where a command is judged

    judged = BashJudge(circumstances, world, tool).judge(command)
    return [part.step for part in judged], _for_commands(judged, circumstances, world)


def _for_commands(judged: list[Judged], circumstances: Circumstances, world: World) -> tuple[PermissionUpdate, ...]:
    """Suggestions, where all that is missing is a rule for some of the commands."""
    asked = [part for part in judged if part.step.behavior != "allow"]
    if not all(part.unruled for part in asked):
        return ()
    from handrail.permissions.updates.suggestions import suggest_for_commands

    commands = [part.command for part in asked]
    return suggest_for_commands(commands, circumstances.anchors, world, mode=circumstances.mode)


def _file(tool: str, input: Mapping[str, Any], circumstances: Circumstances, world: World) -> _Judged:
    use: Use = "write" if class_of(tool) == "edit" else "read"
    # Tools differ in the field they use, so every field that is given must pass. To a search, an empty path is the
    # working folder.
    unset = (None, "") if tool in ("Glob", "Grep") else (None,)
    given = [input[name] for name in _PATH_FIELDS if input.get(name) not in unset] or ([] if use == "write" else ["."])
    paths = [path for path in given if isinstance(path, str) and path]
    if not paths or len(paths) != len(given):
        return [Step("deny", "the path is missing", subject=tool)], ()
    found = [world.resolve(place) for path in paths for place in (path, *globbed(tool, input, path))]
    steps = [judge_access(resolved, use, circumstances, tool) for resolved in found]
    resolved: Resolved = found[steps.index(strictest(steps))]
    return steps, _suggest(tool, input, circumstances, resolved)


def _fetch(tool: str, input: Mapping[str, Any], circumstances: Circumstances, world: World) -> _Judged:
    steps = [*judge_address(tool, input.get("url"), circumstances), *_on_tool(tool, circumstances)]
    return _ordered(tool, steps, circumstances), _suggest(tool, input, circumstances)


def _other(tool: str, input: Mapping[str, Any], circumstances: Circumstances, world: World) -> _Judged:
    steps = [*_named(tool, input, circumstances), *_on_tool(tool, circumstances)]
    return _ordered(tool, steps, circumstances), _suggest(tool, input, circumstances)


def _suggest(
    tool: str, input: Mapping[str, Any], circumstances: Circumstances, resolved: Resolved | None = None
) -> tuple[PermissionUpdate, ...]:
    from handrail.permissions.updates.suggestions import suggest

    return suggest(tool, input, circumstances.anchors, resolved=resolved, mode=circumstances.mode)


_NAME_FIELDS: Final = {"Skill": "skill", "SlashCommand": "command", "Task": "subagent_type", "Agent": "subagent_type"}


def _named(tool: str, input: Mapping[str, Any], circumstances: Circumstances) -> list[Step]:
    """Rules with a content: for tools that have a name in their input, that name; a deny for any other means all."""
    name = input.get(_NAME_FIELDS[tool]) if tool in _NAME_FIELDS else None
    return [
        by_rule(behavior, rule, subject=tool)
        for behavior in _BEHAVIORS
        for rule in rules_about(circumstances.rules, behavior, tool)
        if rule.rule.content is not None and not rule.broken and _is_called(name, rule.rule.content, behavior)
    ]


def _is_called(name: object, content: str, behavior: Behavior) -> bool:
    """Whether a content means this name. Every deny and ask means an unreadable name, but no allow does."""
    beginning = content.removesuffix("*").removesuffix(":")
    if not isinstance(name, str):
        return behavior != "allow"
    if behavior == "allow":
        return name == content or (content.endswith(":*") and (name == beginning or name.startswith(f"{beginning}:")))
    name, wanted = name.strip().lstrip("/").casefold(), beginning.strip().lstrip("/").casefold()
    first = re.split(r"[\s:]", name)[0]
    return wanted in (name, first) or (content.endswith("*") and name.startswith(wanted))


def _ordered(tool: str, steps: list[Step], circumstances: Circumstances) -> list[Step]:
    """Rules first, then the mode: what refuses decides, else what allows, else the table."""
    refusing = [step for step in steps if step.behavior != "allow"]
    if refusing:
        return refusing
    mode = effective_mode(circumstances.mode, bypass_available=circumstances.bypass_available)
    if class_of(tool) == "interact":
        return [Step("ask", "only a person can answer this", "interaction", subject=tool)]
    passing = passes(mode, tool)
    if passing == "allow":
        return [Step("allow", f"the mode {mode} lets it pass", "mode", subject=tool)]
    if passing == "confirm" and circumstances.reads:
        passing = "ask"
    if passing == "confirm":
        although = "a rule allows it, but " if steps else ""
        return [Step("ask", f"{although}in the mode {mode} nothing is changed unasked", "mode", subject=tool)]
    if steps:
        return steps
    return [Step("ask", f"no rule allows it, and in the mode {mode} it is asked for", "mode", subject=tool)]


_JUDGES: Final[dict[str, Callable[[str, Mapping[str, Any], Circumstances, World], _Judged]]] = {
    "execute": _bash,
    "read": _file,
    "edit": _file,
    "fetch": _fetch,
}
