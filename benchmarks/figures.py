"""The result of a benchmark: a table, and the promises checked with it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Promise", "Section", "at_least", "at_most"]


@dataclass(frozen=True)
class Promise:
    """A promise, its limit, the measured value, and whether it is kept."""

    text: str
    limit: str
    measured: str
    kept: bool


@dataclass(frozen=True)
class Section:
    """One benchmark: description, table and promises."""

    title: str
    about: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    promises: tuple[Promise, ...]


def at_least(text: str, limit: float, measured: float, unit: str = "×") -> Promise:
    """A lower limit."""
    return Promise(text, f"at least {limit:g}{unit}", f"{measured:.2f}{unit}", measured >= limit)


def at_most(text: str, limit: float, measured: float, unit: str = "×") -> Promise:
    """An upper limit."""
    return Promise(text, f"at most {limit:g}{unit}", f"{measured:.2f}{unit}", measured <= limit)
