"""Which hooks there are and which of them an event means. In: registrations and settings entries. Out: Hooks to run.

A matcher is empty or `*` for all, `A|B` for these names, else a regular expression for the whole name; it minds case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, cast

import msgspec

from handrail.agent.hooks.base import EVENTS
from handrail.settings.merge import HookEntry

__all__ = ["CallbackHook", "CommandHook", "InvalidHooks", "is_meant", "read_callbacks", "read_commands"]

DEFAULT_LIMIT: Final = 60.0
LONGEST_LIMIT: Final = 24 * 3600.0
LONGEST_MATCHER: Final = 1000
_NAMES: Final = re.compile(r"[A-Za-z0-9_| -]+")
_NESTED: Final = re.compile(r"[*+}][^()]*\)\s*[*+{]|\)\s*[*+{].*\)\s*[*+{]")
"""A repetition of a repetition: against some names such an expression takes for ever."""


class InvalidHooks(ValueError):
    """A registration that cannot be used; the text says where and why."""


class CallbackHook(msgspec.Struct, frozen=True):
    """A hook that lives in the host."""

    event: str
    matcher: str
    callback: str
    limit: float = DEFAULT_LIMIT


class CommandHook(msgspec.Struct, frozen=True):
    """A hook that is a command of the user's settings, as the user wrote it."""

    event: str
    matcher: str
    command: str
    limit: float = DEFAULT_LIMIT
    in_background: bool = False


def is_meant(matcher: str, name: str) -> bool:
    """Whether a matcher means a name. One that cannot be read means every name: better guarded too much."""
    if matcher in ("", "*"):
        return True
    if _NAMES.fullmatch(matcher):
        return name in map(str.strip, matcher.split("|"))
    expression = _compiled(matcher)
    return expression is None or expression.fullmatch(name) is not None


@lru_cache(maxsize=256)
def _compiled(matcher: str) -> re.Pattern[str] | None:
    if len(matcher) > LONGEST_MATCHER or _NESTED.search(matcher):
        return None
    try:
        return re.compile(matcher)
    except (re.error, RecursionError, OverflowError):
        return None


def read_callbacks(registered: Any) -> tuple[CallbackHook, ...]:
    """Hooks of the host. In: `hooks` of an initialize request, or None. InvalidHooks where it cannot be used.

    An event that nobody here knows is no error: a newer host may ask for it, and it never happens."""
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
    limit = _limit(given.get("timeout"), f"{where}.timeout")
    return [CallbackHook(event, matcher or "", one, limit) for one in cast("list[str]", ids)]


def _limit(value: Any, where: str) -> float:
    if value is None:
        return DEFAULT_LIMIT
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise InvalidHooks(f"{where} must be a number of seconds above 0")
    return min(float(value), LONGEST_LIMIT)


def read_commands(entries: Sequence[HookEntry]) -> tuple[tuple[CommandHook, ...], tuple[str, ...]]:
    """Hooks of settings. Out: those that can run, and in words what is wrong with the others."""
    found: list[CommandHook] = []
    problems: list[str] = []
    for entry in entries:
        where = f"{entry.source}:{entry.line}" if entry.line else entry.source
        kind, command = entry.hook.get("type", "command"), entry.hook.get("command")
        try:
            limit = _limit(entry.hook.get("timeout"), "timeout")
        except InvalidHooks as error:
            problems.append(f"{where}: this hook was left out: {error}")
            continue
        if kind != "command":
            problems.append(f"{where}: hooks of type {str(kind)[:40]!r} are not run here; `command` is")
        elif not isinstance(command, str) or not command.strip() or "\0" in command:
            problems.append(f"{where}: this hook has no command")
        elif entry.event not in EVENTS:
            problems.append(f"{where}: there is no hook event {entry.event[:60]!r}")
        else:
            background = entry.hook.get("async") is True
            found.append(CommandHook(entry.event, entry.matcher, command, limit, background))
    return tuple(found), tuple(problems)
