"""Is a store whole? In: its file. Out: what is wrong, and figures. It is only read, also while a server runs."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

__all__ = ["store_check"]

MOST_TOLD: Final = 5
_ROOM: Final = 2**32
_GAPS: Final = f"""
SELECT log.session, log.first, log.last, COUNT(event.place) FROM log LEFT JOIN event
    ON event.place BETWEEN log.key * {_ROOM} AND (log.key + 1) * {_ROOM} - 1
GROUP BY log.key HAVING COUNT(event.place) != log.last - log.first + 1
"""  # noqa: S608 - a number
"""Sessions that do not have all the events between their first and their last."""


def store_check(path: Path) -> tuple[list[str], str]:
    """Look. Out: faults, at most a few; and how much there is, in words."""
    try:
        db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=10)
    except sqlite3.Error as error:
        return [f"{path}: {error}"], ""
    try:
        faults = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({MOST_TOLD})") if row[0] != "ok"]
        if faults:
            return faults, ""
        gaps = db.execute(f"{_GAPS} LIMIT {MOST_TOLD}").fetchall()
        sessions, events = (db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in ("session", "event"))  # noqa: S608
    except sqlite3.Error as error:
        return [f"{path}: {error}"], ""
    finally:
        db.close()
    faults = [f"session {session} has {count} events of {first} to {last}" for session, first, last, count in gaps]
    megabytes = path.stat().st_size / 1024**2
    return faults, f"{path} is whole: {sessions} sessions, {events} events, {megabytes:.1f} MiB"
