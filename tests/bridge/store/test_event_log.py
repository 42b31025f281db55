"""The event log in SQLite: arbitrary search queries, and the excerpt of a result."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.store.base import NewEvent
from handrail.bridge.store.event_log import AROUND, snippet, words_of
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
