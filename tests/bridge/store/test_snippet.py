"""The excerpt of a search result, for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.store.snippet import AROUND, snippet, words_of

LONG = " ".join(f"w{n}" for n in range(100))


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
