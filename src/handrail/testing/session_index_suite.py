"""What every session index must do. In: how to open one. Out: nothing, or a PortFault.

@pytest.mark.parametrize("check", SESSION_INDEX_CHECKS, ids=lambda check: check.__name__)
async def test_a_session_index_keeps_its_word(check):
    await run_port_check(check, open_new)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from handrail.bridge.store.base import STATES, SessionIndex, SessionLine, SessionRecord
from handrail.testing.port_check import expect

__all__ = ["SESSION_INDEX_CHECKS", "SessionIndexCheck"]

_SHOWN = SessionLine.__struct_fields__
SessionIndexCheck = Callable[[SessionIndex], Awaitable[None]]


def _record(id: str, changed: int = 1, **fields: Any) -> SessionRecord:
    return SessionRecord(id=id, cwd=fields.pop("cwd", "/work"), created=1, changed=changed, **fields)


async def _ids(index: SessionIndex, **query: Any) -> str:
    return " ".join([record.id for record in await index.list(**query)])


async def what_is_put_is_what_is_got(index: SessionIndex) -> None:
    rule: dict[str, Any] = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}]}
    for state in STATES:
        options = {"model": "a", "add_dirs": ["/x"]}
        record = _record(state, title="Tïtle", state=state, options=options, rules=[rule], cost=0.25, settled=7)
        await index.put(record)
        expect(await index.get(state) == record, f"{await index.get(state)}")


async def an_unknown_one_is_nothing(index: SessionIndex) -> None:
    expect(await index.get("x") is None, "there is a record that nobody put")
    await index.delete("x")


async def the_last_put_counts(index: SessionIndex) -> None:
    record = _record("a")
    for n in range(20):
        await index.put(replace(record, title=str(n)))
    expect((await index.list()) == [replace(record, title="19")], "an older record is there")


async def puts_under_way_at_once_end_with_the_last(index: SessionIndex) -> None:
    await asyncio.gather(*(index.put(_record("a", title=str(n))) for n in range(50)))
    found = await index.get("a")
    expect(found is not None and found.title == "49", f"{found}")


async def a_deleted_one_is_gone(index: SessionIndex) -> None:
    await index.put(_record("a"))
    await index.put(_record("b"))
    await index.delete("a")
    expect(await index.get("a") is None, "it can be got")
    expect(await _ids(index) == "b", "it is listed")


async def a_list_has_the_newest_first(index: SessionIndex) -> None:
    for id, changed in (("a", 2), ("b", 3), ("c", 1)):
        await index.put(_record(id, changed))
    expect(await _ids(index) == "b a c", await _ids(index))
    await index.put(_record("c", 9))
    expect(await _ids(index) == "c b a", await _ids(index))


async def lines_are_the_list_with_what_is_shown(index: SessionIndex) -> None:
    for n in range(5):
        await index.put(_record(f"s{n}", n, title=f"T {n % 2}", archived=n == 4, options={"secret": 1}, settled=n))
    queries: list[dict[str, Any]] = [{}, {"archived": False}, {"words": "t 1"}, {"limit": 2, "offset": 1}]
    for query in queries:
        lines, records = await index.lines(**query), await index.list(**query)
        expect([type(line) for line in lines] == [SessionLine] * len(records), f"{query}: {lines}")
        same = all(getattr(a, n) == getattr(b, n) for a, b in zip(lines, records, strict=True) for n in _SHOWN)
        expect(same, f"{query}: {lines}")


async def pages_of_a_list_give_everything_once_even_at_the_same_time(index: SessionIndex) -> None:
    for n in range(25):
        await index.put(_record(f"{n:02}", 5))
    pages = [await _ids(index, limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    found = " ".join(page for page in pages if page).split()
    expect(sorted(found) == [f"{n:02}" for n in range(25)], f"{found}")
    expect(len(pages[0].split()) == 10, "the limit does not hold")


async def archived_ones_are_asked_for(index: SessionIndex) -> None:
    await index.put(_record("a", 1))
    await index.put(_record("b", 2, archived=True))
    expect(await _ids(index) == "b a", "without a word about it, all are listed")
    expect(await _ids(index, archived=False) == "a", "an archived one is listed")
    expect(await _ids(index, archived=True) == "b", "one that is not archived is listed")


async def words_are_looked_for_in_title_and_folder(index: SessionIndex) -> None:
    await index.put(_record("a", 1, title="Mend the ÜBUNG", cwd="/work/harbour"))
    await index.put(_record("b", 2, title="100% of a_b", cwd="/work/other"))
    for words, ids in {
        "mend": "a", "MEND harb": "a", "übung": "a", "work": "b a", "mend other": "", "0%": "b", "a_b": "b", "axb": "",
        "\\": "", "'": "", '"': "",
    }.items():  # fmt: skip
        expect(await _ids(index, words=words) == ids, f"{words!r}: {await _ids(index, words=words)!r}")


SESSION_INDEX_CHECKS: tuple[SessionIndexCheck, ...] = (
    what_is_put_is_what_is_got,
    an_unknown_one_is_nothing,
    the_last_put_counts,
    puts_under_way_at_once_end_with_the_last,
    a_deleted_one_is_gone,
    a_list_has_the_newest_first,
    lines_are_the_list_with_what_is_shown,
    pages_of_a_list_give_everything_once_even_at_the_same_time,
    archived_ones_are_asked_for,
    words_are_looked_for_in_title_and_folder,
)
"""Every check."""
