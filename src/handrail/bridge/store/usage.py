"""What was used, by day, model and project. In: results of turns. Out: rows that add up, whatever becomes of a session.

A CLI counts upwards: it goes on from the old total when a session is resumed, and begins at zero after `/clear`. A
turn's share is what it says was used since its last result; where it does not say so, what is more than the last total
that is known. Where none is known and the session had a past, nothing is counted rather than its past once more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import Struct

from handrail.bridge.store.clock import latest_now
from handrail.bridge.store.database import Database
from handrail.schema.messages import read_message
from handrail.schema.result_message import ResultMessage
from handrail.schema.usage import ModelUsage

__all__ = ["TABLES", "Counted", "Usage", "share", "together"]

TABLES: Final = """
CREATE TABLE IF NOT EXISTS used (
    day TEXT NOT NULL, model TEXT NOT NULL, project TEXT NOT NULL, cost REAL NOT NULL, input INTEGER NOT NULL,
    output INTEGER NOT NULL, cache_read INTEGER NOT NULL, turns INTEGER NOT NULL,
    PRIMARY KEY (day, model, project)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS used_total (session TEXT PRIMARY KEY, totals BLOB NOT NULL) WITHOUT ROWID;
"""
_ADD: Final = """
INSERT INTO used VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET cost = cost + excluded.cost,
    input = input + excluded.input, output = output + excluded.output,
    cache_read = cache_read + excluded.cache_read, turns = turns + excluded.turns
"""
FIGURES: Final = ("cost_usd", "input_tokens", "output_tokens", "cache_read_tokens", "turns")
"""Of a row, what adds up."""


class Counted(Struct, frozen=True):
    """What one model used. `input` has what was written to the cache in it, and not what was read from there."""

    cost: float = 0.0
    input: int = 0
    output: int = 0
    cache_read: int = 0

    def less(self, before: Counted) -> Counted:
        """What is more than before; all of it where it has become less, for then it was counted anew."""
        names = self.__struct_fields__
        more = {name: getattr(self, name) - getattr(before, name) for name in names}
        return self if any(value < 0 for value in more.values()) else Counted(**more)


Totals = dict[str, Counted]
NOTHING: Final = Counted()
_decode = msgspec.json.Decoder(Totals).decode


def share(result: ResultMessage, before: Totals | None) -> Totals:
    """What one turn used, by model. `before`: the last totals; None where nobody knows them. Pure."""
    if since := _counted(result.model_usage_since_last_result):
        return {model: used for model, used in since.items() if used != NOTHING}
    if before is None:
        return {}
    shares = {model: used.less(before.get(model, NOTHING)) for model, used in _counted(result.model_usage).items()}
    return {model: used for model, used in shares.items() if used != NOTHING}


def _counted(given: Mapping[str, ModelUsage]) -> Totals:
    return {
        model[:200]: Counted(
            max(float(one.cost_usd), 0.0),
            one.input_tokens + one.cache_creation_input_tokens,
            one.output_tokens,
            one.cache_read_input_tokens,
        )
        for model, one in given.items()
    }


class Usage:
    """The figures of one server. `clock` is in seconds since 1970; a day is one of the place where the server runs."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = latest_now) -> None:
        self._database, self._clock = database, clock

    async def note(self, session: str, project: str, raw: bytes, *, fresh: bool) -> None:
        """Enter a result. `fresh`: the session has no past that was counted elsewhere."""
        result = read_message("result", "", raw)
        if not isinstance(result, ResultMessage):
            return
        day = _day(datetime.fromtimestamp(self._clock()))

        def enter(db: sqlite3.Connection) -> None:
            row = db.execute("SELECT totals FROM used_total WHERE session = ?", (session,)).fetchone()
            before = _decode(row[0]) if row else {} if fresh else None
            used = share(result, before)
            busiest = max(used, key=lambda model: (used[model].cost, used[model].output), default="")
            for model, one in used.items():
                figures = (one.cost, one.input, one.output, one.cache_read, int(model == busiest))
                db.execute(_ADD, (day, model, project, *figures))
            totals = msgspec.json.encode(_counted(result.model_usage))
            db.execute("REPLACE INTO used_total VALUES (?, ?)", (session, totals))

        await self._database.change(enter)

    async def rows(self, days: int) -> list[dict[str, Any]]:
        """The last so many days, today among them, the newest first."""
        first = _day(datetime.fromtimestamp(self._clock()) - timedelta(days=days - 1))
        names = ("day", "model", "project", *FIGURES)

        def look(db: sqlite3.Connection) -> list[dict[str, Any]]:
            query = "SELECT * FROM used WHERE day >= ? ORDER BY day DESC, cost DESC, model, project"
            return [dict(zip(names, row, strict=True)) for row in db.execute(query, (first,))]

        return await self._database.look(look)


def together(found: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of several machines as one, in the same order. Pure."""
    sums: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in (row for rows in found for row in rows):
        key = (row["day"], row["model"], row["project"])
        before = sums.get(key, {})
        sums[key] = {**row, **{name: before.get(name, 0) + row[name] for name in FIGURES}}
    rest = sorted(sums.values(), key=lambda row: (-row["cost_usd"], row["model"], row["project"]))
    return sorted(rest, key=lambda row: row["day"], reverse=True)


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")
