"""One check of a port. In: a check, and how to open what is checked. Out: nothing, or a PortFault that says what."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

__all__ = ["PortFault", "expect", "run_port_check"]

P = TypeVar("P")


class PortFault(AssertionError):
    """What stands behind the port does not do what everything there must; the text says what."""


def expect(fact: bool, otherwise: str) -> None:  # noqa: FBT001 - a plain condition
    """PortFault where it is not so."""
    if not fact:
        raise PortFault(otherwise)


async def run_port_check(
    check: Callable[[P], Awaitable[None]],
    open_new: Callable[[], AbstractAsyncContextManager[P]],
    *,
    patience: float = 30.0,
) -> None:
    """Run one check on something that was opened for it alone. PortFault where it fails or takes too long."""
    name = str(getattr(check, "__name__", check)).replace("_", " ")
    try:
        async with asyncio.timeout(patience), open_new() as checked:
            await check(checked)
    except PortFault as fault:
        raise PortFault(f"{name}: {fault}") from fault.__cause__
    except TimeoutError:
        raise PortFault(f"{name}: nothing happened for {patience:g} s") from None
    except Exception as error:
        raise PortFault(f"{name}: {type(error).__name__}: {error}") from error
