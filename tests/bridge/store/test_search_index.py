"""The search index in SQLite: queries of any kind, order, its own file, older stores, and the excerpt of a result."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.errors import StoreFailed
from handrail.bridge.store import event_log, search_index
from handrail.bridge.store.base import NewEvent
from handrail.bridge.store.search_index import AROUND, index_some, prepare, snippet, words_of
from tests.bridge.stores import SqlitePlace, sqlite_log

LONG = " ".join(f"w{n}" for n in range(100))


async def test_search_accepts_any_query_and_ignores_punctuation(tmp_path: Path):
    chance = random.Random(3)
    signs = "\"'*^:(){}[]+-~|&!?,.;\\/%_\x00\n\u0301\u200d😀ßİ " + "".join(map(chr, range(0x300, 0x310)))
    strange = ["".join(chance.choices(f"{signs}aZ9", k=chance.randint(1, 12))) for _ in range(400)]
    strange += ["NEAR(a b)", "a AND", "OR", "NOT a", "text:a", "-a", "a*b", '"', '""', "^a", "{a b}:c", "a" * 200]
    async with sqlite_log(tmp_path) as place:
        await place.log.append("s", [NewEvent("frame", b"{}", "the harbour in winter")])
        for words in strange:
            assert isinstance(await place.log.search(words), list), words
        for around in ('"harbour"', "harbour)", "(harbour", "harb*", "the -winter", "harbour: in", "HARBOUR"):
            assert [hit.seq for hit in await place.log.search(around)] == [1], around
        for other in ("NEAR", "the OR nothing", "text"):
            assert await place.log.search(other) == [], other


async def test_the_newest_come_first_across_sessions_and_within_a_millisecond(tmp_path: Path):
    async with sqlite_log(tmp_path) as place:
        for time, session in ((5, "a"), (9, "b"), (7, "a"), (9, "a"), (2, "b")):
            await place.log.append(session, [NewEvent("frame", b"{}", "harbour")] * 2, time=time)
        found = [(hit.time, hit.session, hit.seq) for hit in await place.log.search("harbour")]
        assert [time for time, _, _ in found] == [9, 9, 9, 9, 7, 7, 5, 5, 2, 2]
        assert [seq for time, session, seq in found if session == "a"] == [6, 5, 4, 3, 2, 1]
        assert found == [(hit.time, hit.session, hit.seq) for hit in await place.log.search("harb")]
        assert len(await place.log.search("harbour", session="b", limit=3)) == 3
        assert await place.log.search("harbour", session="c") == []
        assert await place.log.search("k1") == []  # how a session is named in the index


async def test_whole_words_come_before_words_that_only_begin_so(tmp_path: Path):
    async with sqlite_log(tmp_path) as place:
        for text in ("port", "porter", "port", "portal"):
            await place.log.append("s", [NewEvent("frame", b"{}", text)])
        assert [hit.snippet for hit in await place.log.search("port", limit=2)] == ["port", "port"]
        assert [hit.snippet for hit in await place.log.search("port", limit=9)] == ["portal", "port", "porter", "port"]


async def test_a_range_of_texts_is_removed_with_its_events(tmp_path: Path):
    async with sqlite_log(tmp_path) as place:
        for session in ("a", "b"):
            await place.log.append(session, [NewEvent("frame", b"{}", f"harbour {n}") for n in range(4)], time=5)
        await place.log.forget("a", through=2)
        found = [(hit.session, hit.seq) for hit in await place.log.search("harbour")]
        assert sorted(found) == [("a", 3), ("a", 4), ("b", 1), ("b", 2), ("b", 3), ("b", 4)]


OLDER = {
    "words": "CREATE VIRTUAL TABLE words USING fts5(text);"
    "INSERT INTO words (rowid, text) SELECT place, text FROM event WHERE text IS NOT NULL",
    "search": "CREATE VIRTUAL TABLE search USING fts5(text, place UNINDEXED);"
    "INSERT INTO search (rowid, text, place) SELECT -place, text, place FROM event WHERE text IS NOT NULL",
    "text": "CREATE TABLE text (place INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "INSERT INTO text SELECT place, text FROM event WHERE text IS NOT NULL",
}
"""Where stores had the texts before: in full-text tables, and in a table beside the events."""


@pytest.mark.parametrize("table", OLDER)
async def test_an_older_store_keeps_its_words(tmp_path: Path, table: str):
    async with sqlite_log(tmp_path) as place:
        for n in range(3):
            await place.log.append(
                "s", [NewEvent("frame", b"{}", f"harbour {n}"), NewEvent("state", b"{}")], time=n + 1
            )
        path = place.database.path
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(f"{OLDER[table]}; ALTER TABLE event DROP COLUMN text; DROP TABLE unindexed;")
    prepare(path)
    prepare(path)  # the second time there is nothing to do
    async with sqlite_log(tmp_path) as place:
        assert [(hit.seq, hit.time, hit.snippet) for hit in await place.log.search("harbour")] == [
            (5, 3, "harbour 2"),
            (3, 2, "harbour 1"),
            (1, 1, "harbour 0"),
        ]


def test_only_a_store_is_prepared(tmp_path: Path):
    prepare(tmp_path / "none.db")
    (tmp_path / "broken.db").write_bytes(b"no database at all")
    with pytest.raises(StoreFailed, match=r"broken\.db"):
        prepare(tmp_path / "broken.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE other (n)")
    prepare(tmp_path / "other.db")


# The index in its own file


def index_of(place: SqlitePlace) -> Path:
    return place.database.path.with_name(f"{place.database.path.stem}-search.db")


def indexed_words(path: Path) -> Counter[str]:
    """The number of entries per word, of the texts alone; the index must be consistent in itself."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT INTO search (search) VALUES ('integrity-check')")
        db.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, search, col)")
        return Counter(dict(db.execute("SELECT term, doc FROM words WHERE col = 'text'")))


async def unindexed(place: SqlitePlace) -> int:
    return await place.database.look(lambda db: db.execute("SELECT COUNT(*) FROM unindexed").fetchone()[0])


@pytest.mark.parametrize("fault", ["deleted", "damaged", "emptied"])
async def test_a_lost_index_is_built_again_f16(tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture):
    async with sqlite_log(tmp_path) as place:
        await place.log.append("s", [NewEvent("frame", b"{}", f"harbour {n}") for n in range(20)])
        assert len(await place.log.search("harbour")) == 20
        index = index_of(place)
    if fault == "deleted":
        index.unlink()
    else:
        index.write_bytes(b"no index" * 1000 if fault == "damaged" else b"")
    prepare(place.database.path)
    assert ("damaged" in caplog.text) == (fault != "deleted")
    async with sqlite_log(tmp_path) as place:
        assert len(await place.log.search("harbour")) == 20
        assert indexed_words(index)["harbour"] == 20


async def test_the_index_of_another_store_is_deleted(tmp_path: Path):
    async with sqlite_log(tmp_path) as place:
        await place.log.append("s", [NewEvent("frame", b"{}", "harbour")])
        assert len(await place.log.search("harbour")) == 1
    place.database.path.unlink()
    prepare(place.database.path)
    assert not index_of(place).exists()


async def test_an_append_does_not_wait_for_the_index(tmp_path: Path):
    async with sqlite_log(tmp_path) as place:
        await place.log.append("s", [NewEvent("frame", b"{}", "harbour")])
        assert len(await place.log.search("harbour")) == 1
        with closing(sqlite3.connect(index_of(place), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # as a long merge of the index
            searching = asyncio.create_task(place.log.search("harbour"))
            for _ in range(20):
                await place.log.append("s", [NewEvent("frame", b"{}", "harbour")])
            other.execute("COMMIT")
        assert len(await searching) >= 1
        assert len(await place.log.search("harbour")) == 21


async def test_the_index_follows_without_a_search(tmp_path: Path):
    async with sqlite_log(tmp_path) as place:
        indexing = asyncio.create_task(place.log.keep_indexing())
        await place.log.append("s", [NewEvent("frame", b"{}", "harbour")])
        async with asyncio.timeout(30):
            while await unindexed(place):
                pass
        indexing.cancel()
        assert indexed_words(index_of(place)) == {"harbour": 1}


async def test_indexing_continues_after_a_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(event_log, "INDEX_EVERY", 0)
    async with sqlite_log(tmp_path) as place:
        index_of(place).mkdir()
        await place.log.append("s", [NewEvent("frame", b"{}", "harbour")])
        indexing = asyncio.create_task(place.log.keep_indexing())
        async with asyncio.timeout(30):
            while "failed to update the search index" not in caplog.text:
                await place.database.look(lambda db: None)
            index_of(place).rmdir()
            while await unindexed(place):
                pass
        indexing.cancel()
        assert len(await place.log.search("harbour")) == 1


async def test_a_step_that_was_interrupted_is_repeated_without_duplicates(tmp_path: Path):
    async with sqlite_log(tmp_path) as place:
        await place.log.append("s", [NewEvent("frame", b"{}", f"harbour {n}") for n in range(5)])
        assert await place.database.look(index_some)  # the server is killed before it deletes the rows of the list
        await place.log.forget("s", through=2)
        assert await place.database.look(index_some)
        assert [hit.seq for hit in await place.log.search("harbour")] == [5, 4, 3]
        assert indexed_words(index_of(place))["harbour"] == 3


@pytest.mark.parametrize("seed", range(6))
async def test_the_index_has_the_words_of_the_stored_texts_and_no_others(tmp_path: Path, seed: int):
    """Random appends, deletions, reused numbers and index steps, some of them interrupted, within few milliseconds."""
    chance = random.Random(seed)
    stored: dict[str, dict[int, str]] = {"a": {}, "b": {}, "c": {}}
    async with sqlite_log(tmp_path) as place:
        for n in range(120):
            session = chance.choice("abc")
            texts = stored[session]
            match chance.choice(["append", "append", "append", "forget", "cut", "step", "killed"]):
                case "append":
                    news = [f"harbour w{n} {chance.choice(['north', 'south'])}" for _ in range(chance.randint(1, 4))]
                    events = [NewEvent("frame", b"{}", text) for text in news]
                    added = await place.log.append(session, events, time=chance.randint(1, 3))
                    texts |= {event.seq: text for event, text in zip(added, news, strict=True)}
                case "forget" if texts:
                    through = chance.choice(list(texts))
                    await place.log.forget(session, through=through)
                    stored[session] = {seq: text for seq, text in texts.items() if seq > through}
                case "cut" if texts:
                    after = chance.choice(list(texts))
                    await place.database.change(partial(event_log.cut_events, session=session, after=after))
                    stored[session] = {seq: text for seq, text in texts.items() if seq <= after}
                case "step":
                    await place.log.index(most_steps=1)
                case "killed":
                    await place.database.look(index_some)
                case _:
                    pass
        for session, texts in stored.items():
            assert {hit.seq for hit in await place.log.search("harbour", session=session, limit=999)} == set(texts)
        all_texts = [text for texts in stored.values() for text in texts.values()]
        assert indexed_words(index_of(place)) == Counter(word for text in all_texts for word in set(text.split()))


async def test_a_step_is_bounded_by_characters(tmp_path: Path):
    async with sqlite_log(tmp_path) as place:
        long = "x" * (search_index.STEP_CHARACTERS // 2)
        await place.log.append("s", [NewEvent("frame", b"{}", long) for _ in range(5)])
        steps = [len(await place.database.look(index_some))]
        assert steps == [2]
        await place.log.index(most_steps=1)
        assert await unindexed(place) == 3
        await place.log.index()
        assert await unindexed(place) == 0


def test_short_text_is_complete():
    assert snippet("The harbour, in the morning.", ["morn"]) == "The harbour, in the morning."


def test_long_text_is_cut_around_the_first_match():
    shown = snippet(LONG, ["nothing", "w5"])
    assert shown == " ".join(f"w{n}" for n in range(5 + AROUND + 1)) + "…"
    shown = snippet(LONG, ["W50"])
    assert shown == "…" + " ".join(f"w{n}" for n in range(50 - AROUND, 50 + AROUND + 1)) + "…"


@pytest.mark.parametrize(
    ("text", "word"), [("Ein Café am Fluß", "cafe"), ("Ein Café am Fluß", "FLUSS"), ("ＡＢＣ", "abc")]
)
def test_accents_and_case_are_ignored(text: str, word: str):
    long = "x " * 50 + text
    assert text in snippet(long, [word])
    assert snippet(long, [word]).startswith("…")


def test_very_long_word_is_cut():
    assert len(snippet("x" * 100_000, ["x"])) == 1001


@given(st.text(), st.text())
def test_snippet_is_a_part_of_any_text(text: str, query: str):
    shown = snippet(text, words_of(query))
    assert shown.removeprefix("…").removesuffix("…") in text or shown == text
