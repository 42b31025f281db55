"""Reads hooks from the handshake and from settings, and matches them with events.

A matcher is empty or `*` for everything, `A|B` for these names, or a regular expression that is found in the
name. Matching is case-sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace

from handrail.agent.hooks.base import EVENTS
from handrail.agent.hooks.command import shell_argv
from handrail.errors import CallerError
from handrail.settings.merge import HookEntry

__all__ = [
    "CallbackHook",
    "CommandHook",
    "InvalidHooks",
    "is_meant",
    "never_fires",
    "read_callbacks",
    "read_commands",
]

CALLBACK_LIMIT: Final = 60.0
COMMAND_LIMIT: Final = 600.0
LIMITS: Final[Mapping[str, float]] = {"UserPromptSubmit": 30.0, "SessionEnd": 1.5}
"""Seconds that a command without `timeout` may take, where that is not COMMAND_LIMIT."""
LONGEST_LIMIT: Final = 24 * 3600.0
LONGEST_AT_EXIT: Final = 60.0
"""The longest limit of a SessionEnd command: it keeps the process from exiting."""
LONGEST_MATCHER: Final = 1000
_NAMES: Final = re.compile(r"[A-Za-z0-9_| -]+")
_NESTED: Final = re.compile(r"[*+}][^()]*\)\s*[*+{]|\)\s*[*+{].*\)\s*[*+{]")
"""A repeated repetition: such an expression takes exponential time for some names."""


class InvalidHooks(CallerError, ValueError):
    """Hooks that cannot be used; the text says where and why."""


class CallbackHook(msgspec.Struct, frozen=True):
    """A hook in the host."""

    event: str
    matcher: str
    callback: str
    limit: float = CALLBACK_LIMIT


class CommandHook(msgspec.Struct, frozen=True):
    """A command of the settings, as the user wrote it.

    `arguments`: the command is a program with these arguments instead of a command line; `condition`: the rule that a
    tool call has to match.
    """

    event: str
    matcher: str
    command: str
    limit: float = COMMAND_LIMIT
    in_background: bool = False
    condition: str = ""
    arguments: tuple[str, ...] | None = None

    def argv(self) -> list[str]:
        """The arguments of its process."""
        return shell_argv(self.command) if self.arguments is None else [self.command, *self.arguments]


def is_meant(matcher: str, name: str) -> bool:
    """Whether a matcher matches a name. An invalid expression matches no name, and one that is too long or too slow to
    try matches every name: a hook had better run too often."""
    if matcher in ("", "*"):
        return True
    if _NAMES.fullmatch(matcher):
        return name in map(str.strip, matcher.split("|"))
    if len(matcher) > LONGEST_MATCHER or _NESTED.search(matcher):
        return True
    expression = _compiled(matcher)
    return expression is not None and expression.search(name) is not None


@lru_cache(maxsize=256)
def _compiled(matcher: str) -> re.Pattern[str] | None:
    try:
        return re.compile(matcher)
    except (re.error, RecursionError, OverflowError):
        return None


def never_fires(event: str) -> str:
    """Why hooks for an event never run; "" if they do."""
    known = EVENTS.get(event)
    if known is None:
        return f"{event[:60]!r} is not a hook event"
    return f"the event {event} never fires in handrail-agent: {known.never}" if known.never else ""


def read_callbacks(registered: Any) -> tuple[CallbackHook, ...]:
    """Read `hooks` of an initialize request; None means no hooks. Raises InvalidHooks.

    An unknown event is not an error: a newer host may ask for it, and it never fires."""
    if registered is None:
        return ()
    if not isinstance(registered, Mapping):
        raise InvalidHooks("initialize: hooks must be an object with the names of events")
    found: list[CallbackHook] = []
    for event, groups in cast("Mapping[str, Any]", registered).items():
        if not isinstance(groups, list):
            raise InvalidHooks(f"initialize: hooks.{event[:60]} must be a list of matchers")
        for number, group in enumerate(cast("list[Any]", groups)):
            found += _callbacks(event, group, f"initialize: hooks.{event[:60]}[{number}]")
    return tuple(found)


def _callbacks(event: str, group: Any, where: str) -> Iterable[CallbackHook]:
    if not isinstance(group, dict):
        raise InvalidHooks(f"{where} must be an object")
    given = cast("dict[str, Any]", group)
    matcher, ids = given.get("matcher"), given.get("hookCallbackIds")
    if matcher is not None and not isinstance(matcher, str):
        raise InvalidHooks(f"{where}.matcher must be text")
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in cast("list[Any]", ids)):
        raise InvalidHooks(f"{where}.hookCallbackIds must be a list of texts")
    limit = _limit(given.get("timeout"), f"{where}.timeout", CALLBACK_LIMIT)
    return [CallbackHook(event, matcher or "", one, limit) for one in cast("list[str]", ids)]


def _limit(value: Any, where: str, otherwise: float, longest: float = LONGEST_LIMIT) -> float:
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise InvalidHooks(f"{where} must be a number of seconds above 0")
    return min(float(value), longest)


def read_commands(entries: Sequence[HookEntry]) -> tuple[tuple[CommandHook, ...], tuple[str, ...]]:
    """Read hooks of settings. Returns those that can run, and the problems of all."""
    found: list[CommandHook] = []
    problems: list[str] = []
    for entry in entries:
        where = f"{entry.source}:{entry.line}" if entry.line else entry.source
        try:
            hook = _command(entry)
        except InvalidHooks as error:
            problems.append(f"{where}: this hook does not run: {error}")
            continue
        if hook.condition and (problem := _problem(hook.condition)):
            problems.append(f"{where}: this hook runs for every call that it is matched with: {problem}")
            hook = replace(hook, condition="")
        found.append(hook)
    return tuple(found), tuple(problems)


def _command(entry: HookEntry) -> CommandHook:
    hook = entry.hook
    kind, command, shell = hook.get("type", "command"), hook.get("command"), hook.get("shell", "bash")
    if kind != "command":
        raise InvalidHooks(f"hooks of type {str(kind)[:40]!r} are not supported, only `command` is")
    if why := never_fires(entry.event):
        raise InvalidHooks(why)
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise InvalidHooks("its command is missing")
    if shell != "bash":
        raise InvalidHooks(f"the shell {str(shell)[:40]!r} is not supported")
    condition = hook.get("if")
    if condition is not None and not EVENTS[entry.event].tool:
        raise InvalidHooks(f"`if` is for events about tool calls, and {entry.event} is not one")
    longest = LONGEST_AT_EXIT if entry.event == "SessionEnd" else LONGEST_LIMIT
    return CommandHook(
        entry.event,
        entry.matcher,
        command,
        _limit(hook.get("timeout"), "timeout", LIMITS.get(entry.event, COMMAND_LIMIT), longest),
        in_background=hook.get("async") is True,
        condition="" if condition is None else str(condition),
        arguments=_arguments(hook.get("args")),
    )


def _problem(condition: str) -> str:
    from handrail.agent.hooks.condition import problem_of  # few hooks have a condition

    return problem_of(condition)


def _arguments(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list):
        raise InvalidHooks("args must be a list of texts")
    words = cast("list[Any]", given)
    if not all(isinstance(word, str) and "\0" not in word for word in words):
        raise InvalidHooks("args must be a list of texts")
    return tuple(words)
