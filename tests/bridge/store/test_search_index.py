"""The search index in SQLite: queries of any kind, order, upgrade of an older store, and the excerpt of a result."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.errors import StoreFailed
from handrail.bridge.store.base import NewEvent
from handrail.bridge.store.search_index import AROUND, snippet, upgrade, words_of
from tests.bridge.stores import sqlite_log

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


async def test_a_store_of_version_0_1_keeps_its_words(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with sqlite_log(tmp_path) as place:
        for n in range(3):
            await place.log.append(
                "s", [NewEvent("frame", b"{}", f"harbour {n}"), NewEvent("state", b"{}")], time=n + 1
            )
        path = place.database.path
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')")
        db.execute("INSERT INTO words (rowid, text) SELECT place, text FROM search")
        db.execute("DROP TABLE search")
    upgrade(path)
    upgrade(path)  # the second time there is nothing to do
    async with sqlite_log(tmp_path) as place:
        assert [(hit.seq, hit.time, hit.snippet) for hit in await place.log.search("harbour")] == [
            (5, 3, "harbour 2"),
            (3, 2, "harbour 1"),
            (1, 1, "harbour 0"),
        ]
    assert "is built again once, from 3 texts" in caplog.text


def test_no_store_and_no_database_need_no_upgrade(tmp_path: Path):
    upgrade(tmp_path / "none.db")
    (tmp_path / "broken.db").write_bytes(b"no database at all")
    with pytest.raises(StoreFailed, match=r"broken\.db"):
        upgrade(tmp_path / "broken.db")


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
