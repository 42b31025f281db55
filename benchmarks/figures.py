"""What a benchmark says. In: nothing. Out: Section (a table with its promises), and the statistics they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

__all__ = ["Promise", "Section", "median"]


@dataclass(frozen=True)
class Promise:
    """One thing that the docs promise. `limit` in words, `measured` as printed, `kept` whether it holds."""

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
    rows: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    promises: list[Promise] = field(default_factory=list[Promise])

    @property
    def kept(self) -> bool:
        """Whether every promise holds."""
        return all(promise.kept for promise in self.promises)


def at_least(text: str, limit: float, measured: float, unit: str = "×") -> Promise:
    """A promise about something that is better when it is more."""
    return Promise(text, f"at least {limit:g}{unit}", f"{measured:.2f}{unit}", measured >= limit)


def at_most(text: str, limit: float, measured: float, unit: str = "×") -> Promise:
    """A promise about something that is better when it is less."""
    return Promise(text, f"at most {limit:g}{unit}", f"{measured:.2f}{unit}", measured <= limit)
