"""The words of events, in SQLite's full-text index, in a separate file beside the store.

The texts are in the store, in the rows of their events: a table of their own would double the pages that a commit of
many sessions writes. The index is built from them a moment later: FTS5 merges its
segments while it writes, and a merge of a common word cannot be divided. In the store's file it would delay every event
that arrives meanwhile (by 84 ms at 800,000 events); in another file it delays none. A table of the store lists the
texts that the index lacks and those that it must remove, so a crash loses nothing, and a missing or damaged index is
built again.

Entries are numbered by the time of their events, downwards, so the newest matches come first without a sort, and a
search for a common word ends after the first page. The session is a word in a second column: a search within
one session reads only what both words have in common. (FTS5 can skip entries only upwards: with numbers that grow with
time, a search within an old session would read all newer matches of other sessions.)
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from unicodedata import combining, normalize
from zlib import crc32

from handrail.bridge.errors import StoreFailed
from handrail.bridge.store.integrity import damage_of

__all__ = [
    "ROOM",
    "TABLES",
    "find_places",
    "index_some",
    "list_texts",
    "prepare",
    "remove_texts",
    "snippet",
    "texts_between",
    "used_bytes",
    "words_of",
]

log = logging.getLogger("handrail.bridge")
TABLES: Final = """
CREATE TABLE IF NOT EXISTS unindexed (
    number INTEGER PRIMARY KEY, place INTEGER NOT NULL, time INTEGER NOT NULL, removed TEXT);
"""
"""In the store. `unindexed`: what to change in the index, in order; `removed` is the text to remove, or NULL to add."""
_INDEX_TABLES: Final = """
CREATE VIRTUAL TABLE IF NOT EXISTS found.search USING fts5(
    text, session, content = '', columnsize = 0, tokenize = "unicode61 remove_diacritics 2");
CREATE TABLE IF NOT EXISTS found.entry (entry INTEGER PRIMARY KEY, place INTEGER NOT NULL, sum INTEGER NOT NULL);
"""
"""In the file of the index. It does not copy the texts, so they must be given again to remove their words; `sum` is
their checksum, because giving other words would damage the index."""
ROOM: Final = 2**32
"""Places per session: the place of an event is the key of its session times this, plus its number."""
_PER_MILLISECOND: Final = 2**21
STEP_TEXTS: Final = 1000
STEP_CHARACTERS: Final = 256 * 1024
"""Limits of one transaction of the index."""
AROUND: Final = 12
"""Words shown before and after the first match."""
MOST_SEARCHED: Final = 100_000
MOST_SHOWN: Final = 1000
_WORD: Final = re.compile(r"\w+")


# In the store


def list_texts(db: sqlite3.Connection, places: Sequence[tuple[int, int]]) -> None:
    """List new texts for the index, each by the place and the time of its event, within a transaction."""
    if places:
        db.executemany("INSERT INTO unindexed (place, time) VALUES (?, ?)", places)


def remove_texts(db: sqlite3.Connection, first: int, last: int) -> None:
    """List the texts of events for removal from the index, within a transaction and before the events are deleted."""
    # An addition that is still listed must not be done later: by then the place may have another text. It may just
    # have been done, though, so the removal is listed in any case, and does nothing if the entry is missing.
    db.execute("DELETE FROM unindexed WHERE removed IS NULL AND place BETWEEN ? AND ?", (first, last))
    db.execute(
        "INSERT INTO unindexed (place, time, removed)"
        " SELECT place, time, text FROM event WHERE place BETWEEN ? AND ? AND text IS NOT NULL",
        (first, last),
    )


def texts_between(db: sqlite3.Connection, first: int, last: int) -> dict[int, str]:
    """The texts of the events at these places."""
    query = "SELECT place, text FROM event WHERE place BETWEEN ? AND ? AND text IS NOT NULL"
    return dict(db.execute(query, (first, last)))


# The index, on a connection of the store that reads


def _index_path(store: str | Path) -> Path:
    path = Path(store)
    return path.with_name(f"{path.stem}-search{path.suffix}")


def _attach(db: sqlite3.Connection) -> None:
    """Attach the index as `found`. The writer must not: it would lock the index in each of its transactions."""
    files: dict[str, str] = {name: path for _, name, path in db.execute("PRAGMA database_list")}
    if "found" in files:
        return
    db.execute("ATTACH ? AS found", (str(_index_path(files["main"])),))
    db.execute("PRAGMA found.journal_mode=WAL")
    db.executescript(_INDEX_TABLES)


def index_some(db: sqlite3.Connection) -> list[tuple[int, int]]:
    """Bring the index up to date with the next listed texts, in a transaction of the index alone.

    Returns the rows of `unindexed` that are done; the caller deletes them in the store. Doing them twice is harmless.
    """
    if db.execute("SELECT 1 FROM unindexed LIMIT 1").fetchone() is None:
        return []
    _attach(db)
    db.execute("BEGIN")
    try:
        # A write first: it waits for the lock, which a transaction that has begun to read could not do.
        db.execute("DELETE FROM found.entry WHERE entry = 0")
        done = _index_next(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return done


def _index_next(db: sqlite3.Connection) -> list[tuple[int, int]]:
    rows = db.execute(
        "SELECT number, place, unindexed.time, removed, text FROM unindexed LEFT JOIN event USING (place)"
        " ORDER BY number LIMIT ?",
        (STEP_TEXTS,),
    )
    done: list[tuple[int, int]] = []
    added: list[tuple[int, str, str]] = []
    entries_of: dict[int, dict[int, tuple[int, int]]] = {}
    size = 0
    for number, place, time, removed, text in rows:
        size += len(removed or text or "")
        if done and size > STEP_CHARACTERS:
            break
        done.append((number, place))
        if time not in entries_of:
            known = "SELECT place, entry, sum FROM found.entry WHERE entry BETWEEN ? AND ?"
            entries_of[time] = {place: (entry, sum) for place, entry, sum in db.execute(known, _entries(time))}
        entries = entries_of[time]
        if removed is None:
            if text is not None and place not in entries:
                entry = min((entry for entry, _ in entries.values()), default=_entries(time)[1] + 1) - 1
                entries[place] = (entry, _sum(text))
                db.execute("INSERT INTO found.entry VALUES (?, ?, ?)", (entry, place, _sum(text)))
                added.append((entry, text, _session_word(place)))
        elif place in entries and entries[place][1] == _sum(removed):
            _insert(db, added)
            entry, _ = entries.pop(place)
            values = (entry, removed, _session_word(place))
            db.execute("INSERT INTO found.search (search, rowid, text, session) VALUES ('delete', ?, ?, ?)", values)
            db.execute("DELETE FROM found.entry WHERE entry = ?", (entry,))
    rows.close()
    _insert(db, added)
    return done


def _sum(text: str) -> int:
    return crc32(text.encode(errors="surrogatepass"))


def _insert(db: sqlite3.Connection, added: list[tuple[int, str, str]]) -> None:
    added.sort()  # FTS5 writes what it has collected to disk when a smaller number follows
    db.executemany("INSERT INTO found.search (rowid, text, session) VALUES (?, ?, ?)", added)
    added.clear()


def used_bytes(db: sqlite3.Connection) -> int:
    """Bytes in use of the store and of its index, without the texts that wait to be removed from the index.

    SQLite keeps freed pages in a file, so its size does not shrink.
    """
    _attach(db)
    (waiting,) = db.execute("SELECT COALESCE(SUM(LENGTH(CAST(removed AS BLOB))), 0) FROM unindexed").fetchone()
    return sum(_used_bytes(db, schema) for schema in ("main", "found")) - waiting


def _used_bytes(db: sqlite3.Connection, schema: str) -> int:
    size, pages, free = (
        db.execute(f"PRAGMA {schema}.{name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    return size * (pages - free)


def _entries(time: int) -> tuple[int, int]:
    """The first and the last number of an entry with this time; the newest has the first."""
    return 1 - (time + 1) * _PER_MILLISECOND, -time * _PER_MILLISECOND


def find_places(db: sqlite3.Connection, words: list[str], limit: int, key: int | None) -> list[tuple[int, int, str]]:
    """The newest matches: the time, the place and the text of each.

    Events with these very words come first; if they are fewer than the limit, events with words that begin so follow.
    A search for beginnings has to collect all matches before it can return the newest. (An index of the
    beginnings of two and three letters would make those fast too, but the file 2.6 times as large.)
    """
    _attach(db)
    found = _matches(db, [f'"{word}"' for word in words], limit, key)
    if len(found) < limit:
        found = _matches(db, [f'"{word}"*' for word in words], limit, key)
    return found


def _matches(db: sqlite3.Connection, patterns: list[str], limit: int, key: int | None) -> list[tuple[int, int, str]]:
    query = f"text : ({' AND '.join(patterns)})"
    if key is not None:
        query = f'session : "{_session_word(key * ROOM)}" AND {query}'
    # Entries whose event was removed may still be in the index. CROSS JOIN keeps the order of the tables: the
    # matches are read one by one, newest first, until the limit is reached.
    return db.execute(
        "SELECT time, place, event.text FROM found.search AS search"
        " CROSS JOIN found.entry ON entry = search.rowid CROSS JOIN event USING (place)"
        " WHERE search MATCH ? AND time = -search.rowid / ? AND event.text IS NOT NULL ORDER BY search.rowid LIMIT ?",
        (query, _PER_MILLISECOND, limit),
    ).fetchall()


def _session_word(place: int) -> str:
    return f"k{place // ROOM}"


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


# Before a server opens the store


def prepare(store: Path) -> None:
    """Move the texts of an older store to where this version has them, and list all texts if the index is missing.

    Raises StoreFailed.
    """
    index = _index_path(store)
    if not store.exists():  # an index of another store, which was deleted or set aside
        _delete_index(index)
        return
    if damage := damage_of(index):
        log.error("the search index %s is damaged (%s) and is built again", index, damage)
        _delete_index(index)
    db = sqlite3.connect(store, isolation_level=None)
    try:
        columns = [name for _, name, *_ in db.execute("PRAGMA table_info(event)")]
        if not columns:
            return
        db.executescript(TABLES)
        db.execute("BEGIN IMMEDIATE")
        if "text" not in columns:
            db.execute("ALTER TABLE event ADD COLUMN text TEXT")
        for table, place in _OLDER:
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                texts = db.execute(f"SELECT text, {place} FROM {table}")  # noqa: S608
                db.executemany("UPDATE event SET text = ? WHERE place = ?", texts)
                db.execute(f"DROP TABLE {table}")
        if not index.exists():
            db.execute("DELETE FROM unindexed")
            db.execute("INSERT INTO unindexed (place, time) SELECT place, time FROM event WHERE text IS NOT NULL")
        db.execute("COMMIT")
    except sqlite3.Error as error:
        raise StoreFailed(store, error) from error
    finally:
        db.close()


_OLDER: Final = (("words", "rowid"), ("search", "place"), ("text", "place"))
"""Tables with texts that earlier versions had in the store, and the column with the place."""


def _delete_index(index: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
