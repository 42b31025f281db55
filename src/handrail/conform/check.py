"""The table of checks, and the assertions that checks use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from handrail.errors import PeerError

if TYPE_CHECKING:
    from handrail.conform.bench import Bench

__all__ = ["CHECKS", "Check", "Drift", "Json", "check", "expect", "expect_equal", "expect_fields"]

Json = dict[str, Any]
CheckFunction = Callable[["Bench"], Awaitable[None]]


class Drift(PeerError):
    """The agent differs from what a check expects. The text says what was seen."""


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of the protocol and the function that tests it."""

    name: str
    expected: str
    run: CheckFunction


CHECKS: dict[str, Check] = {}
"""All checks by name, in the order of the report."""


def check(topic: str, expected: str) -> Callable[[CheckFunction], CheckFunction]:
    """Register a coroutine function as a check named TOPIC.FUNCTION-NAME. `expected` is one sentence."""

    def register(function: CheckFunction) -> CheckFunction:
        name = f"{topic}.{getattr(function, '__name__', 'check').replace('_', '-')}"
        if name in CHECKS:
            raise ValueError(f"two checks are named {name}; rename one of the functions")
        CHECKS[name] = Check(name, expected, function)
        return function

    return register


def expect(holds: object, seen: str) -> None:
    """Raise Drift with the text `seen` unless the condition holds."""
    if not holds:
        raise Drift(seen)


def expect_equal(what: str, seen: object, wanted: object) -> None:
    """Raise Drift unless both values are equal."""
    if seen != wanted:
        raise Drift(f"{what}: expected {wanted!r}, got {seen!r}")


def expect_fields(line: Json, kinds: dict[str, type | tuple[type, ...]], what: str) -> None:
    """Raise Drift unless the line has these fields, each with its type."""
    wrong = [name for name, kind in kinds.items() if not isinstance(line.get(name), kind)]
    expect(not wrong, f"{what}: missing or of the wrong type: {', '.join(wrong)}")
