"""Looks at a store before it is opened. In: its path. Out: what is wrong, in words; a damaged one is put aside, never
thrown away.

While a server has the store open, a mark stands beside it. Where it is still there at the next start, that server was
cut off, and what it wrote last must lie in the store's log: where that is not there, something is lost.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from pathlib import Path
from typing import Final

__all__ = ["damage_of", "look_at_store", "mark_closed", "mark_open"]

log = logging.getLogger("handrail.bridge")
LONGEST_LOOK: Final = 1.0
"""Seconds. A store is read as a whole, but a large one must not hold up a start: then what was read by then counts."""
STEPS: Final = 10_000
_HEAD: Final = b"SQLite format 3\0"
_BESIDE: Final = ("", "-wal", "-shm")


def look_at_store(path: Path) -> str:
    """Make way for a new store where the old one is of no use. Out: what is wrong, for people; "" where nothing is."""
    cut_off = _mark(path).exists()
    mark_closed(path)
    words = ""
    if cut_off and path.exists() and not path.with_name(f"{path.name}-wal").exists():
        words = f"{path}-wal is not there, though the server was cut off: what was written last is lost"
    if damage := damage_of(path):
        name = f"{path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
        for ending in _BESIDE:
            beside = path.with_name(path.name + ending)
            if beside.exists():
                beside.rename(path.with_name(name + ending))
        words = f"{path} is damaged ({damage}): it is kept as {name}, and a new one is begun"
    if words:
        log.error("%s", words)
    return words


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}-open")


def mark_open(path: Path) -> None:
    """From now on its log is there."""
    _mark(path).touch(mode=0o600)


def mark_closed(path: Path) -> None:
    """It has been closed in good order, or will be opened now."""
    _mark(path).unlink(missing_ok=True)


def damage_of(path: Path) -> str:
    """What is wrong with a store, in words; "" where nothing is, or where there is none."""
    if not path.exists():
        return ""
    if path.stat().st_size == 0:
        return "the file is empty"
    with path.open("rb") as file:
        if file.read(len(_HEAD)) != _HEAD:  # whoever opens it as a store would throw its log away
            return "file is not a database"
    try:
        connection = sqlite3.connect(path)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            end = time.monotonic() + LONGEST_LOOK
            connection.set_progress_handler(lambda: time.monotonic() > end, STEPS)
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.OperationalError as error:  # locked, no rights, too large to be read now: nothing is known of damage
        return str(error) if "malformed" in str(error) else ""
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found[0] == "ok" else str(found[0])
