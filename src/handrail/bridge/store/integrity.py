"""Is a store sound? A quick check before a server opens it, and a complete one for `handrail doctor`.

The quick check sets a damaged store aside under another name; nothing is deleted. A marker file lies beside the store
while a server has it open. If the marker is still there at the next start, that server was killed, and its last writes
must be in the write-ahead log: a missing log means lost writes.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

__all__ = ["check_at_start", "check_store", "damage_of", "mark_closed", "mark_open"]

log = logging.getLogger("handrail.bridge")
QUICK_CHECK_SECONDS: Final = 1.0
"""A large store must not delay the start: the check reads as much as it can in this time."""
PROGRESS_STEPS: Final = 10_000
"""SQLite instructions between two looks at the time."""
MOST_FAULTS: Final = 5
_HEADER: Final = b"SQLite format 3\0"
_SUFFIXES: Final = ("", "-wal", "-shm")
_ROOM: Final = 2**32
_GAPS: Final = f"""
SELECT log.session, log.first, log.last, COUNT(event.place) FROM log LEFT JOIN event
    ON event.place BETWEEN log.key * {_ROOM} AND (log.key + 1) * {_ROOM} - 1
GROUP BY log.key HAVING COUNT(event.place) != log.last - log.first + 1
"""  # noqa: S608 - a number
"""Sessions with events missing between their first and their last."""


# Before a server opens the store


def check_at_start(path: Path) -> str:
    """Check a store that is about to be opened, and set it aside if it is damaged.

    Returns a description of the problem for people, "" if the store is sound.
    """
    killed = _marker(path).exists()
    mark_closed(path)
    problem = ""
    if killed and path.exists() and not path.with_name(f"{path.name}-wal").exists():
        problem = f"{path}-wal is missing although the server was killed: its last writes are lost"
    if damage := damage_of(path):
        name = f"{path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
        for suffix in _SUFFIXES:
            file = path.with_name(path.name + suffix)
            if file.exists():
                file.rename(path.with_name(name + suffix))
        problem = f"{path} is damaged ({damage}); it was renamed to {name}, and a new store was created"
    if problem:
        log.error("%s", problem)
    return problem


def _marker(path: Path) -> Path:
    return path.with_name(f"{path.name}-open")


def mark_open(path: Path) -> None:
    """The store is open, so its write-ahead log exists."""
    _marker(path).touch(mode=0o600)


def mark_closed(path: Path) -> None:
    """The store was closed cleanly, or its last close has been examined."""
    _marker(path).unlink(missing_ok=True)


def damage_of(path: Path) -> str:
    """The damage found within `QUICK_CHECK_SECONDS`; "" if none was found or the file does not exist."""
    if not path.exists():
        return ""
    if path.stat().st_size == 0:
        return "the file is empty"
    with path.open("rb") as file:
        # Read the header ourselves: SQLite deletes the write-ahead log of a file that it does not recognise.
        if file.read(len(_HEADER)) != _HEADER:
            return "file is not a database"
    try:
        connection = sqlite3.connect(path)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            deadline = time.monotonic() + QUICK_CHECK_SECONDS
            connection.set_progress_handler(lambda: time.monotonic() > deadline, PROGRESS_STEPS)
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.OperationalError as error:  # locked, not readable, or out of time: no evidence of damage
        return str(error) if "malformed" in str(error) else ""
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found[0] == "ok" else str(found[0])


# Complete


def check_store(path: Path) -> tuple[list[str], str]:
    """Check every page and look for missing events. Read-only; a server may be running.

    Returns up to `MOST_FAULTS` faults, and a summary for people.
    """
    try:
        db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=10)
    except sqlite3.Error as error:
        return [f"{path}: {error}"], ""
    try:
        faults = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({MOST_FAULTS})") if row[0] != "ok"]
        if faults:
            return faults, ""
        gaps = db.execute(f"{_GAPS} LIMIT {MOST_FAULTS}").fetchall()
        sessions, events = (db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in ("session", "event"))  # noqa: S608
    except sqlite3.Error as error:
        return [f"{path}: {error}"], ""
    finally:
        db.close()
    faults = [f"session {session} has {count} events of {first} to {last}" for session, first, last, count in gaps]
    megabytes = path.stat().st_size / 1024**2
    return faults, f"{path} is sound: {sessions} sessions, {events} events, {megabytes:.1f} MiB"
