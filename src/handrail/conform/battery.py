"""Runs the checks. In: a command, the checks, how many at once, how long each. Out: an outcome each, as they end."""

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
    """What came of one check. `seen` is empty where it agrees."""

    name: str
    verdict: Verdict
    expected: str
    seen: str
    seconds: float


def chosen(patterns: Iterable[str] = ()) -> list[Check]:
    """The checks that a pattern fits, by name or by topic; all where there is none."""
    import_module("handrail.conform.checks")  # fills the table

    wanted = list(patterns)
    return [check for check in CHECKS.values() if not wanted or any(_fits(check.name, each) for each in wanted)]


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or name.partition(".")[0] == pattern


async def run_battery(
    command: list[str], checks: Iterable[Check], *, jobs: int = 2, limit: float = 60.0
) -> AsyncIterator[Outcome]:
    """Run the checks against a command, `jobs` at once, each for at most `limit` seconds."""
    places = asyncio.Semaphore(jobs)
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(_run_one(command, check, places, limit)) for check in checks]
        try:
            for next_one in asyncio.as_completed(running):
                yield await next_one
        finally:
            for task in running:
                task.cancel()


async def _run_one(command: list[str], check: Check, places: asyncio.Semaphore, limit: float) -> Outcome:
    async with places:
        started = time.monotonic()
        seen = await _tried(command, check, limit)
        verdict: Verdict = "drifted" if seen else "agrees"
        return Outcome(check.name, verdict, check.expected, seen, round(time.monotonic() - started, 3))


async def _tried(command: list[str], check: Check, limit: float) -> str:
    """Try one check. Out: what was seen instead of what is expected, or nothing."""
    with tempfile.TemporaryDirectory(prefix="handrail-conform-", ignore_cleanup_errors=True) as folder:
        async with ScriptedMessagesApi() as api:
            bench = Bench(command, Lab(Path(folder)), api)
            try:
                async with asyncio.timeout(limit):
                    await check.trial(bench)
            except Drift as drift:
                return str(drift)
            except TimeoutError:
                return f"not finished within {limit:g} s while waiting for {bench.waits_for}"
            except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
                # A line without what every line of its kind has: the check could not read it.
                return f"a line was not as it should be ({type(error).__name__}: {error}); {bench.waits_for}"
            finally:
                await bench.close()
    return ""
