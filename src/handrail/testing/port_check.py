"""Runs one check of a port against an implementation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from handrail.errors import CallerError

__all__ = ["PortFault", "expect", "run_port_check"]

P = TypeVar("P")


class PortFault(CallerError, AssertionError):
    """An implementation breaks the contract of its port; the text says how."""


def expect(fact: bool, otherwise: str) -> None:  # noqa: FBT001 - a plain condition
    """Raise PortFault unless the fact is true."""
    if not fact:
        raise PortFault(otherwise)


async def run_port_check(
    check: Callable[[P], Awaitable[None]],
    open_new: Callable[[], AbstractAsyncContextManager[P]],
    *,
    patience: float = 30.0,
) -> None:
    """Run one check on an implementation opened for it. Raises PortFault if it fails or exceeds `patience` seconds."""
    name = str(getattr(check, "__name__", check)).replace("_", " ")
    try:
        async with asyncio.timeout(patience), open_new() as checked:
            await check(checked)
    except PortFault as fault:
        raise PortFault(f"{name}: {fault}") from fault.__cause__
    except TimeoutError:
        raise PortFault(f"{name}: not finished after {patience:g} s") from None
    except Exception as error:
        raise PortFault(f"{name}: {type(error).__name__}: {error}") from error
