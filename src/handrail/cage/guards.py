"""The sandbox of this machine."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from handrail.platform import is_macos

if TYPE_CHECKING:
    from handrail.cage.base import Guard

__all__ = ["find_guard", "guard_problem"]


@cache
def _guard() -> Guard:
    if is_macos():
        from handrail.cage.seatbelt import SeatbeltGuard

        return SeatbeltGuard()
    from handrail.cage.kernel_guard import KernelGuard

    return KernelGuard()


@cache
def guard_problem() -> str:
    """Why no command can run in a cage on this machine, or ""."""
    return _guard().problem()


def find_guard() -> Guard | None:
    """The guard of this machine; None if commands cannot be caged here."""
    return None if guard_problem() else _guard()
