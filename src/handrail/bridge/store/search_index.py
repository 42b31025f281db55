"""The words of events, in SQLite's full-text index.

Entries are numbered by the time of their events, downwards, so the newest matches come first without a sort, and a
search for a common word ends after the first page. The session is a word of its own in a second column: a search within
one session reads only what both words have in common. (FTS5 can skip entries only upwards: with numbers that grow with
time, a search within an old session would read all newer matches of other sessions.)
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final
from unicodedata import combining, normalize

from handrail.bridge.errors import StoreFailed
from handrail.bridge.store.base import Event

__all__ = ["ROOM", "TABLES", "add_texts", "find_places", "remove_texts", "snippet", "texts_of", "upgrade", "words_of"]

log = logging.getLogger("handrail.bridge")
TABLES: Final = """
CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5(
    text, session, place UNINDEXED, tokenize = "unicode61 remove_diacritics 2");
"""
ROOM: Final = 2**32
"""Places per session: the place of an event is the key of its session times this, plus its number."""
_PER_MILLISECOND: Final = 2**21
AROUND: Final = 12
"""Words shown before and after the first match."""
MOST_SEARCHED: Final = 100_000
MOST_SHOWN: Final = 1000
_WORD: Final = re.compile(r"\w+")


def _entries(time: int) -> tuple[int, int]:
    """The first and the last number of an entry with this time; the newest has the first."""
    return 1 - (time + 1) * _PER_MILLISECOND, -time * _PER_MILLISECOND


def add_texts(db: sqlite3.Connection, texts: Iterable[tuple[int, int, str]]) -> None:
    """Enter texts, each with the place and the time of its event, within a transaction."""
    free: dict[int, int] = {}
    rows: list[tuple[int, str, str, int]] = []
    for place, time, text in texts:
        if time not in free:
            newest = "SELECT rowid FROM search WHERE rowid BETWEEN ? AND ? ORDER BY rowid LIMIT 1"
            row = db.execute(newest, _entries(time)).fetchone()
            free[time] = row[0] - 1 if row else _entries(time)[1]
        rows.append((free[time], text, _session_word(place // ROOM), place))
        free[time] -= 1
    rows.sort()  # FTS5 writes what it has collected to disk when a smaller number follows
    db.executemany("INSERT INTO search (rowid, text, session, place) VALUES (?, ?, ?, ?)", rows)


def remove_texts(db: sqlite3.Connection, first: int, last: int) -> None:
    """Remove the texts of the events at these places, within a transaction and before the events themselves."""
    for (time,) in db.execute("SELECT DISTINCT time FROM event WHERE place BETWEEN ? AND ?", (first, last)).fetchall():
        db.execute(
            "DELETE FROM search WHERE rowid BETWEEN ? AND ? AND place BETWEEN ? AND ?", (*_entries(time), first, last)
        )


def texts_of(db: sqlite3.Connection, start: int, events: Sequence[Event]) -> dict[int, str]:
    """The texts of events of one session, by their numbers. `start` is the first place of the session."""
    places = (start + events[0].seq, start + events[-1].seq)
    query = "SELECT place, text FROM search WHERE rowid BETWEEN ? AND ? AND place BETWEEN ? AND ?"
    rows = (row for time in {event.time for event in events} for row in db.execute(query, (*_entries(time), *places)))
    return {place - start: text for place, text in rows}


def find_places(db: sqlite3.Connection, words: list[str], limit: int, key: int | None) -> list[tuple[int, int, str]]:
    """The newest matches: the time, the place and the text of each.

    Events with these very words come first; if they are fewer than the limit, events with words that begin so follow.
    A search for beginnings has to collect all matches before it can return the newest. (An index of beginnings would
    make it fast too, but every stored text a third to two thirds dearer.)
    """
    found = _matches(db, [f'"{word}"' for word in words], limit, key)
    if len(found) < limit:
        found = _matches(db, [f'"{word}"*' for word in words], limit, key)
    return [(-rowid // _PER_MILLISECOND, place, text) for rowid, place, text in found]


def _matches(db: sqlite3.Connection, patterns: list[str], limit: int, key: int | None) -> list[tuple[int, int, str]]:
    query = f"text : ({' AND '.join(patterns)})"
    if key is not None:
        query = f'session : "{_session_word(key)}" AND {query}'
    # The limit is reached on numbers alone: texts are read only for the matches that are shown.
    return db.execute(
        "SELECT rowid, place, text FROM search WHERE rowid IN"
        " (SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid LIMIT ?) ORDER BY rowid",
        (query, limit),
    ).fetchall()


def _session_word(key: int) -> str:
    return f"k{key}"


def words_of(query: str) -> list[str]:
    """The words of a query; punctuation is ignored."""
    return _WORD.findall(query)


def snippet(text: str, wanted: Sequence[str]) -> str:
    """The words around the first match of a prefix in `wanted`; the beginning of the text if none matches."""
    prefixes = tuple(map(_folded, wanted))
    words = list(_WORD.finditer(text[:MOST_SEARCHED]))
    found = next((n for n, word in enumerate(words) if _folded(word[0]).startswith(prefixes)), 0)
    first, last = max(0, found - AROUND), found + AROUND
    start = words[first].start() if first else 0
    end = words[last].end() if last < len(words) else len(text)
    shown = text[start : min(end, start + MOST_SHOWN)]
    return f"{'…' if start else ''}{shown}{'…' if start + len(shown) < len(text) else ''}"


def _folded(word: str) -> str:
    """Without accents and case, as the full-text index compares words."""
    if word.isascii():
        return word.lower()
    return "".join(character for character in normalize("NFKD", word) if not combining(character)).casefold()


def upgrade(path: Path) -> None:
    """Move the words of a store of version 0.1 into this index. Does nothing for other stores. Raises StoreFailed."""
    if not path.exists():
        return
    db = sqlite3.connect(path, isolation_level=None)
    try:
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone() is None:
            return
        (count,) = db.execute("SELECT COUNT(*) FROM words").fetchone()
        log.warning("the search index of %s is built again once, from %d texts", path, count)
        db.executescript(TABLES)
        db.execute("BEGIN IMMEDIATE")
        rows = db.execute(
            "SELECT place, time, text FROM words JOIN event ON place = words.rowid ORDER BY time DESC, place"
        )
        for _, of_one_time in groupby(rows, key=itemgetter(1)):  # so that not all are in memory at once
            add_texts(db, of_one_time)
        db.execute("DROP TABLE words")
        db.execute("COMMIT")
    except sqlite3.Error as error:
        raise StoreFailed(path, error) from error
    finally:
        db.close()
