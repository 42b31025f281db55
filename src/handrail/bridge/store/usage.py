"""Cost and tokens by day, model and project, added up from the results of turns. Deleting a session keeps them.

A CLI reports running totals: they continue when a session is resumed and restart at zero after `/clear`. The share of
one turn is the usage since the last result, if the CLI reports that; otherwise the difference to the last known total.
If no total is known and the session has a past, the turn is not counted: its past would be counted again.
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
"""The columns of a row that are summed."""


class Counted(Struct, frozen=True):
    """The usage of one model. `input` includes tokens written to the cache, not those read from it."""

    cost: float = 0.0
    input: int = 0
    output: int = 0
    cache_read: int = 0

    def less(self, before: Counted) -> Counted:
        """The difference to an earlier total; all of it if a figure decreased, since the CLI then restarted at zero."""
        names = self.__struct_fields__
        more = {name: getattr(self, name) - getattr(before, name) for name in names}
        return self if any(value < 0 for value in more.values()) else Counted(**more)


Totals = dict[str, Counted]
NOTHING: Final = Counted()
_decode = msgspec.json.Decoder(Totals).decode


def share(result: ResultMessage, before: Totals | None) -> Totals:
    """The usage of one turn by model. `before`: the last totals, None if they are unknown."""
    if since := _counted(result.model_usage_since_last_result):
        return {model: used for model, used in since.items() if used != NOTHING}
    if before is None:
        return {}
    shares = {model: used.less(before.get(model, NOTHING)) for model, used in _counted(result.model_usage).items()}
    return {model: used for model, used in shares.items() if used != NOTHING}


def _counted(given: Mapping[str, ModelUsage]) -> Totals:
    return {
        model[:200]: Counted(
            max(float(usage.cost_usd), 0.0),
            usage.input_tokens + usage.cache_creation_input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
        )
        for model, usage in given.items()
    }


class Usage:
    """The usage of one server. `clock` is in seconds since 1970; days are in the server's time zone."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = latest_now) -> None:
        self._database, self._clock = database, clock

    async def note(self, session: str, project: str, raw: bytes, *, fresh: bool) -> None:
        """Add a result. `fresh`: no earlier usage of the session was counted elsewhere."""
        result = read_message("result", "", raw)
        if not isinstance(result, ResultMessage):
            return
        day = _day(datetime.fromtimestamp(self._clock()))

        def add(db: sqlite3.Connection) -> None:
            row = db.execute("SELECT totals FROM used_total WHERE session = ?", (session,)).fetchone()
            before = _decode(row[0]) if row else {} if fresh else None
            used = share(result, before)
            busiest = max(used, key=lambda model: (used[model].cost, used[model].output), default="")
            for model, counted in used.items():
                # The turn counts for one model only, or a turn with a small helper model would count twice.
                turns = int(model == busiest)
                figures = (counted.cost, counted.input, counted.output, counted.cache_read, turns)
                db.execute(_ADD, (day, model, project, *figures))
            totals = msgspec.json.encode(_counted(result.model_usage))
            db.execute("REPLACE INTO used_total VALUES (?, ?)", (session, totals))

        await self._database.change(add)

    async def rows(self, days: int) -> list[dict[str, Any]]:
        """The rows of the last `days` days including today, newest first."""
        first = _day(datetime.fromtimestamp(self._clock()) - timedelta(days=days - 1))
        names = ("day", "model", "project", *FIGURES)

        def query(db: sqlite3.Connection) -> list[dict[str, Any]]:
            statement = "SELECT * FROM used WHERE day >= ? ORDER BY day DESC, cost DESC, model, project"
            return [dict(zip(names, row, strict=True)) for row in db.execute(statement, (first,))]

        return await self._database.look(query)


def together(found: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of several machines summed up, in the order of `rows`."""
    sums: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in (row for rows in found for row in rows):
        key = (row["day"], row["model"], row["project"])
        before = sums.get(key, {})
        sums[key] = {**row, **{name: before.get(name, 0) + row[name] for name in FIGURES}}
    rest = sorted(sums.values(), key=lambda row: (-row["cost_usd"], row["model"], row["project"]))
    return sorted(rest, key=lambda row: row["day"], reverse=True)


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")
