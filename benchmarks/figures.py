"""What a benchmark says. In: measurements. Out: a Section: a table and the promises that stand on it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Promise", "Section", "at_least", "at_most"]


@dataclass(frozen=True)
class Promise:
    """One thing that is promised: in words, its limit, what was measured, and whether it is kept."""

    text: str
    limit: str
    measured: str
    kept: bool


@dataclass(frozen=True)
class Section:
    """One benchmark: what was done, the table, the promises."""

    title: str
    about: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    promises: tuple[Promise, ...]


def at_least(text: str, limit: float, measured: float, unit: str = "×") -> Promise:
    """A promise about something of which more is better."""
    return Promise(text, f"at least {limit:g}{unit}", f"{measured:.2f}{unit}", measured >= limit)


def at_most(text: str, limit: float, measured: float, unit: str = "×") -> Promise:
    """A promise about something of which less is better."""
    return Promise(text, f"at most {limit:g}{unit}", f"{measured:.2f}{unit}", measured <= limit)
