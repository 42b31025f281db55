"""Selects checks and runs them, several at a time, each with a time limit."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Literal

import msgspec

from handrail.conform.bench import Bench
from handrail.conform.check import CHECKS, Check, Drift
from handrail.conform.lab import Lab
from handrail.conform.messages_api import ScriptedMessagesApi

__all__ = ["Outcome", "chosen", "run_battery"]

Verdict = Literal["agrees", "drifted"]


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of one check. `seen` says what happened instead of what was expected; empty if the check agrees."""

    name: str
    verdict: Verdict
    expected: str
    seen: str
    seconds: float


def chosen(patterns: Iterable[str] = ()) -> list[Check]:
    """The checks whose name or topic matches one of the patterns; without patterns, all checks."""
    import_module("handrail.conform.checks")  # fills the table

    wanted = list(patterns)
    return [check for check in CHECKS.values() if not wanted or any(_matches(check.name, each) for each in wanted)]


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or name.partition(".")[0] == pattern


async def run_battery(
    command: list[str], checks: Iterable[Check], *, jobs: int = 2, limit: float = 60.0
) -> AsyncIterator[Outcome]:
    """Run checks against a command, `jobs` at a time, each for at most `limit` seconds. Yields as they finish."""
    slots = asyncio.Semaphore(jobs)
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(_run_one(command, check, slots, limit)) for check in checks]
        try:
            for finished in asyncio.as_completed(running):
                yield await finished
        finally:
            for task in running:
                task.cancel()


async def _run_one(command: list[str], check: Check, slots: asyncio.Semaphore, limit: float) -> Outcome:
    async with slots:
        started = time.monotonic()
        seen = await _difference(command, check, limit)
        verdict: Verdict = "drifted" if seen else "agrees"
        return Outcome(check.name, verdict, check.expected, seen, round(time.monotonic() - started, 3))


async def _difference(command: list[str], check: Check, limit: float) -> str:
    """Run one check in a temporary lab. Returns what was seen instead of what is expected, or an empty string."""
    with tempfile.TemporaryDirectory(prefix="handrail-conform-", ignore_cleanup_errors=True) as folder:
        async with ScriptedMessagesApi() as api:
            bench = Bench(command, Lab(Path(folder)), api)
            try:
                async with asyncio.timeout(limit):
                    await check.run(bench)
            except Drift as drift:
                return str(drift)
            except TimeoutError:
                return f"timed out after {limit:g} s waiting for {bench.waiting_for}"
            except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
                # The check tried to read a field that the line lacks or that has another type.
                return f"invalid line ({type(error).__name__}: {error}) while waiting for {bench.waiting_for}"
            finally:
                await bench.close()
    return ""
