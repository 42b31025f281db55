"""Looks at a store before it is opened. In: its path. Out: nothing; a damaged one is put aside, never thrown away.

What a damaged store held is not lost for good: the CLI has its own transcripts, and sessions can be taken up from them.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from pathlib import Path
from typing import Final

__all__ = ["damage_of", "put_aside_if_damaged"]

log = logging.getLogger("handrail.bridge")
LARGEST_READ: Final = 64 * 1024 * 1024
"""A store up to this size is read as a whole; of a larger one, what every start needs: it must not take long."""
_BESIDE: Final = ("", "-wal", "-shm")


def put_aside_if_damaged(path: Path) -> Path | None:
    """Make way for a new store where the old one cannot be used. Out: where the old one is now."""
    damage = damage_of(path)
    if not damage:
        return None
    name = f"{path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
    for ending in _BESIDE:
        beside = path.with_name(path.name + ending)
        if beside.exists():
            beside.rename(path.with_name(name + ending))
    log.error("%s is damaged (%s): it is kept as %s, and a new one is begun", path, damage, name)
    return path.with_name(name)


def damage_of(path: Path) -> str:
    """What is wrong with a store, in words; "" where nothing is, or where there is none."""
    if not path.exists():
        return ""
    if path.stat().st_size == 0:
        return "the file is empty"
    try:
        connection = sqlite3.connect(path)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            found = connection.execute("PRAGMA quick_check(1)").fetchone() if _is_small(path) else ("ok",)
        finally:
            connection.close()
    except sqlite3.OperationalError as error:  # locked, no rights: nothing is known of damage
        return str(error) if "malformed" in str(error) else ""
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found[0] == "ok" else str(found[0])


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= LARGEST_READ
