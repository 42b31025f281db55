"""Who may run a session: one at a time. In: a session. Out: a lease, or who has it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Ownership"]


class Ownership(Protocol):
    """Gives each session to one runner at a time."""

    async def claim(self, session: str, *, new: bool = False) -> bool:
        """Take it. `new`: nobody else can know of it yet. Out: whether it is ours now; it may have been before."""
        ...

    async def release(self, session: str, *, gone: bool = False) -> None:
        """Let it go, where it is ours. `gone`: the session was deleted, and nobody will want it again."""
        ...

    async def owner(self, session: str) -> str:
        """Who has it; "" for nobody."""
        ...
