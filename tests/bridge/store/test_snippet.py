"""What is shown of a text that was found: the words around, whatever the text is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.store.snippet import AROUND, snippet, words_of

LONG = " ".join(f"w{n}" for n in range(100))


def test_a_short_text_is_shown_whole():
    assert snippet("The harbour, in the morning.", ["morn"]) == "The harbour, in the morning."


def test_of_a_long_one_the_words_around_the_first_that_was_found():
    shown = snippet(LONG, ["nothing", "w5"])
    assert shown == " ".join(f"w{n}" for n in range(5 + AROUND + 1)) + "…"
    shown = snippet(LONG, ["W50"])
    assert shown == "…" + " ".join(f"w{n}" for n in range(50 - AROUND, 50 + AROUND + 1)) + "…"


@pytest.mark.parametrize(
    ("text", "word"), [("Ein Café am Fluß", "cafe"), ("Ein Café am Fluß", "FLUSS"), ("ＡＢＣ", "abc")]
)
def test_accents_and_capitals_make_no_difference(text: str, word: str):
    far = "x " * 50 + text
    assert text in snippet(far, [word])
    assert snippet(far, [word]).startswith("…")


def test_a_word_without_end_is_cut():
    assert len(snippet("x" * 100_000, ["x"])) == 1001


@given(st.text(), st.text())
def test_any_text_can_be_shown(text: str, query: str):
    shown = snippet(text, words_of(query))
    assert shown.removeprefix("…").removesuffix("…") in text or shown == text
