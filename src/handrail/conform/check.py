"""What a check is. In: a coroutine that tries one thing. Out: a row of the battery; `Drift`: what was seen instead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.conform.bench import Bench

__all__ = ["CHECKS", "Check", "Drift", "Json", "check", "expect", "same", "typed"]

Json = dict[str, Any]
Trial = Callable[["Bench"], Awaitable[None]]


class Drift(Exception):
    """The agent does something else. The text says, in one sentence, what was seen."""


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of the protocol, and how to try it."""

    name: str
    expected: str
    trial: Trial


CHECKS: dict[str, Check] = {}
"""Every check by its name, in the order in which they are told."""


def check(topic: str, expected: str) -> Callable[[Trial], Trial]:
    """Enters a coroutine function into the battery. In: its topic, and one sentence: what is expected."""

    def enter(trial: Trial) -> Trial:
        name = f"{topic}.{getattr(trial, '__name__', 'check').replace('_', '-')}"
        if name in CHECKS:
            raise ValueError(f"two checks are called {name}")
        CHECKS[name] = Check(name, expected, trial)
        return trial

    return enter


def expect(holds: object, seen: str) -> None:
    """Raises the drift unless it holds."""
    if not holds:
        raise Drift(seen)


def same(what: str, seen: object, wanted: object) -> None:
    """Raises the drift unless both are equal."""
    if seen != wanted:
        raise Drift(f"{what}: {seen!r} where {wanted!r} was expected")


def typed(line: Json, kinds: dict[str, type | tuple[type, ...]], what: str) -> None:
    """Raises the drift unless the line has these fields, each of its kind."""
    wrong = [name for name, kind in kinds.items() if not isinstance(line.get(name), kind)]
    expect(not wrong, f"{what} lacks or has of another kind: {_listed(wrong)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
