"""Usage by day, model and project: every turn is counted once, and no figure is negative."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from handrail.bridge.store.database import Database
from handrail.bridge.store.usage import TABLES, Usage, together
from tests.bridge.stage import stage

DAY = 86_400
NOON = datetime(2026, 11, 16, 12).timestamp()


def figures(cost: float, tokens: int) -> dict[str, Any]:
    return {
        "costUSD": cost,
        "inputTokens": tokens,
        "outputTokens": tokens * 2,
        "cacheReadInputTokens": tokens * 3,
        "cacheCreationInputTokens": tokens * 4,
    }


def result(total: dict[str, Any], since: dict[str, Any] | None = None) -> bytes:
    more = {} if since is None else {"model_usage_since_last_result": since}
    return json.dumps({"type": "result", "subtype": "success", "modelUsage": total, **more}).encode()


class Clock:
    now = NOON

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[tuple[Usage, Clock]]:
    database, clock = Database(folder / "usage.db", TABLES), Clock()
    yield Usage(database, clock=clock), clock
    await database.close()


async def costs(usage: Usage, days: int = 30) -> list[tuple[Any, ...]]:
    return [(row["day"], row["model"], row["cost_usd"], row["turns"]) for row in await usage.rows(days)]


async def test_growing_totals_are_counted_once(tmp_path: Path):
    async with opened(tmp_path) as (usage, _):
        await usage.note("s", "/w", result({"m": figures(1.0, 10)}), fresh=True)
        await usage.note("s", "/w", result({"m": figures(1.5, 15), "n": figures(0.25, 1)}), fresh=True)
        [m, n] = await usage.rows(1)
        assert (m["cost_usd"], m["input_tokens"], m["output_tokens"], m["cache_read_tokens"]) == (1.5, 75, 30, 45)
        assert (m["turns"], n["turns"], m["project"], m["day"]) == (2, 0, "/w", "2026-11-16")


async def test_totals_restart_at_zero_after_clear(tmp_path: Path):
    async with opened(tmp_path) as (usage, _):
        await usage.note("s", "/w", result({"m": figures(4.0, 10)}), fresh=True)
        await usage.note("s", "/w", result({"m": figures(1.0, 2)}), fresh=True)  # /clear, then one turn
        await usage.note("s", "/w", result({}), fresh=True)
        await usage.note("s", "/w", result({"m": figures(8.0, 9)}), fresh=True)
        assert await costs(usage) == [("2026-11-16", "m", 13.0, 3)]


async def test_resumed_session_continues_from_the_known_total(tmp_path: Path):
    async with opened(tmp_path) as (usage, _):
        await usage.note("s", "/w", result({"m": figures(4.0, 10)}), fresh=True)
        await usage.note("s", "/w", result({"m": figures(5.0, 12)}), fresh=False)
        assert await costs(usage) == [("2026-11-16", "m", 5.0, 2)]


async def test_past_of_an_imported_session_is_not_counted(tmp_path: Path):
    async with opened(tmp_path) as (usage, _):
        await usage.note("s", "/w", result({"m": figures(40.0, 10)}), fresh=False)
        await usage.note("t", "/w", result({"m": figures(40.0, 10)}, {"m": figures(0.5, 1)}), fresh=False)
        await usage.note("s", "/w", result({"m": figures(41.0, 11)}), fresh=False)
        assert await costs(usage) == [("2026-11-16", "m", 1.5, 2)]


async def test_usage_since_the_last_result_is_preferred(tmp_path: Path):
    async with opened(tmp_path) as (usage, _):
        await usage.note("s", "/w", result({"m": figures(9.0, 9)}, {"m": figures(1.0, 1)}), fresh=True)
        await usage.note(
            "s", "/w", result({"m": figures(9.0, 9)}, {}), fresh=True
        )  # a local command, without the model
        assert await costs(usage) == [("2026-11-16", "m", 1.0, 1)]


async def test_rows_are_by_day_and_limited_to_the_requested_days(tmp_path: Path):
    async with opened(tmp_path) as (usage, clock):
        for days_ago in (40, 29, 1, 0):
            clock.now = NOON - days_ago * DAY
            await usage.note(str(days_ago), "/w", result({"m": figures(1.0, 1)}), fresh=True)
        clock.now = NOON
        assert [day for day, *_ in await costs(usage)] == ["2026-11-16", "2026-11-15", "2026-10-18"]
        assert len(await costs(usage, 1)) == 1


async def test_invalid_results_are_ignored(tmp_path: Path):
    async with opened(tmp_path) as (usage, _):
        for raw in (b'{"type":"result","modelUsage":3}', b"[]", b"{}"):
            await usage.note("s", "/w", raw, fresh=True)
        assert await usage.rows(1) == []


async def test_usage_survives_stopping_and_deleting_the_session(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start(prompt="Hello")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await viewer.until_state("idle")
            await on.do("stop", session=session)
            await on.do("send", session=session, text="Again")
            await viewer.until_result(2)
            await viewer.until_state("idle")
            total = sum(usage["costUSD"] for usage in viewer.frames("result")[-1]["modelUsage"].values())
        await on.do("delete", session=session)
        [row] = await on.bridge.usage.rows(1)
        assert (row["turns"], row["project"]) == (2, str(tmp_path / "work"))
        assert abs(row["cost_usd"] - total) < 1e-9


def test_rows_of_several_machines_are_summed_in_order():
    figures = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "turns": 1}
    cheap = {"day": "2026-01-02", "model": "m", "project": "/a", "cost_usd": 0.5, **figures}
    dear, old = {**cheap, "project": "/b", "cost_usd": 0.75}, {**cheap, "day": "2026-01-01", "cost_usd": 9.0}
    both = {**cheap, "cost_usd": 1.0, "input_tokens": 2, "output_tokens": 4, "cache_read_tokens": 6, "turns": 2}
    assert together([[cheap, old], [], [dear, cheap]]) == [both, dear, old]
