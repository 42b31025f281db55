"""The event log in SQLite: arbitrary search queries."""

from __future__ import annotations

import random
from pathlib import Path

from handrail.bridge.store.base import NewEvent
from tests.bridge.stores import sqlite_log


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
