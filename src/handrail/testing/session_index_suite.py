"""The conformance suite of the port `SessionIndex`.

@pytest.mark.parametrize("check", SESSION_INDEX_CHECKS, ids=lambda check: check.__name__)
async def test_session_index(check):
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

_LINE_FIELDS = SessionLine.__struct_fields__
SessionIndexCheck = Callable[[SessionIndex], Awaitable[None]]


def _record(id: str, changed: int = 1, **fields: Any) -> SessionRecord:
    return SessionRecord(id=id, cwd=fields.pop("cwd", "/work"), created=1, changed=changed, **fields)


async def _ids(index: SessionIndex, **query: Any) -> str:
    return " ".join([record.id for record in await index.list(**query)])


async def a_record_is_read_as_it_was_put(index: SessionIndex) -> None:
    rule: dict[str, Any] = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}]}
    for state in STATES:
        options = {"model": "a", "add_dirs": ["/x"]}
        record = _record(state, title="Tïtle", state=state, options=options, rules=[rule], cost=0.25, settled=7)
        await index.put(record)
        expect(await index.get(state) == record, f"{await index.get(state)}")


async def an_unknown_id_has_no_record(index: SessionIndex) -> None:
    expect(await index.get("x") is None, "an unknown id has a record")
    await index.delete("x")


async def the_last_put_wins(index: SessionIndex) -> None:
    record = _record("a")
    for n in range(20):
        await index.put(replace(record, title=str(n)))
    expect((await index.list()) == [replace(record, title="19")], "an older record is stored")


async def overlapping_puts_end_with_the_last(index: SessionIndex) -> None:
    await asyncio.gather(*(index.put(_record("a", title=str(n))) for n in range(50)))
    found = await index.get("a")
    expect(found is not None and found.title == "49", f"{found}")


async def a_deleted_record_is_not_listed(index: SessionIndex) -> None:
    await index.put(_record("a"))
    await index.put(_record("b"))
    await index.delete("a")
    expect(await index.get("a") is None, "the deleted record can be read")
    expect(await _ids(index) == "b", "the deleted record is listed")


async def records_are_listed_newest_first(index: SessionIndex) -> None:
    for id, changed in (("a", 2), ("b", 3), ("c", 1)):
        await index.put(_record(id, changed))
    expect(await _ids(index) == "b a c", await _ids(index))
    await index.put(_record("c", 9))
    expect(await _ids(index) == "c b a", await _ids(index))


async def lines_are_the_same_list_with_fewer_fields(index: SessionIndex) -> None:
    for n in range(5):
        await index.put(_record(f"s{n}", n, title=f"T {n % 2}", archived=n == 4, options={"secret": 1}, settled=n))
    queries: list[dict[str, Any]] = [{}, {"archived": False}, {"words": "t 1"}, {"limit": 2, "offset": 1}]
    for query in queries:
        lines, records = await index.lines(**query), await index.list(**query)
        expect([type(line) for line in lines] == [SessionLine] * len(records), f"{query}: {lines}")
        same = all(getattr(a, n) == getattr(b, n) for a, b in zip(lines, records, strict=True) for n in _LINE_FIELDS)
        expect(same, f"{query}: {lines}")


async def paging_returns_every_record_once_with_equal_times(index: SessionIndex) -> None:
    for n in range(25):
        await index.put(_record(f"{n:02}", 5))
    pages = [await _ids(index, limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    found = " ".join(page for page in pages if page).split()
    expect(sorted(found) == [f"{n:02}" for n in range(25)], f"{found}")
    expect(len(pages[0].split()) == 10, "the limit was exceeded")


async def archived_records_are_filtered(index: SessionIndex) -> None:
    await index.put(_record("a", 1))
    await index.put(_record("b", 2, archived=True))
    expect(await _ids(index) == "b a", "without the filter every record is listed")
    expect(await _ids(index, archived=False) == "a", "an archived record is listed")
    expect(await _ids(index, archived=True) == "b", "a record that is not archived is listed")


async def words_match_title_and_folder(index: SessionIndex) -> None:
    await index.put(_record("a", 1, title="Repair the ÜBUNG", cwd="/work/harbour"))
    await index.put(_record("b", 2, title="100% of a_b", cwd="/work/other"))
    for words, ids in {
        "repair": "a", "REPAIR harb": "a", "übung": "a", "work": "b a", "repair other": "", "0%": "b", "a_b": "b",
        "axb": "", "\\": "", "'": "", '"': "",
    }.items():  # fmt: skip
        expect(await _ids(index, words=words) == ids, f"{words!r}: {await _ids(index, words=words)!r}")


SESSION_INDEX_CHECKS: tuple[SessionIndexCheck, ...] = (
    a_record_is_read_as_it_was_put,
    an_unknown_id_has_no_record,
    the_last_put_wins,
    overlapping_puts_end_with_the_last,
    a_deleted_record_is_not_listed,
    records_are_listed_newest_first,
    lines_are_the_same_list_with_fewer_fields,
    paging_returns_every_record_once_with_equal_times,
    archived_records_are_filtered,
    words_match_title_and_folder,
)
