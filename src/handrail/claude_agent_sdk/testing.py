"""The conformance suite of session stores under its official name."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

from handrail.session_store.base import METHODS, SessionStore, implements
from handrail.testing.port_check import run_port_check
from handrail.testing.session_store_suite import SESSION_STORE_CHECKS

__all__ = ["run_session_store_conformance"]


class _Partly:
    """A store without some of its optional methods."""

    def __init__(self, store: SessionStore, without: frozenset[str]) -> None:
        for method in METHODS:
            if method not in without and implements(store, method):
                setattr(self, method, getattr(store, method))


async def run_session_store_conformance(
    make_store: Callable[[], SessionStore | Awaitable[SessionStore]], *, skip_optional: frozenset[str] = frozenset()
) -> None:
    """Run every check of `handrail.testing.SESSION_STORE_CHECKS` on a store made for it. Raises AssertionError.

    `make_store` must return an empty store each time. Methods named in `skip_optional` are not called.
    """

    @asynccontextmanager
    async def open_new() -> AsyncGenerator[SessionStore]:
        made = make_store()
        store = await made if inspect.isawaitable(made) else made
        yield cast("SessionStore", _Partly(store, skip_optional)) if skip_optional else store

    for check in SESSION_STORE_CHECKS:
        await run_port_check(check, open_new)
