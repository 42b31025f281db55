"""The conformance suite of the port `SessionStore`.

@pytest.mark.parametrize("check", SESSION_STORE_CHECKS, ids=lambda check: check.__name__)
async def test_session_store(check):
    await run_port_check(check, open_new)

Each check needs an empty store. The optional methods that a store does not implement are not checked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from handrail.session_store.base import SessionKey, SessionStore, SessionStoreEntry, implements
from handrail.session_store.summary import fold_session_summary
from handrail.testing.port_check import expect

__all__ = ["SESSION_STORE_CHECKS", "SessionStoreCheck"]

SessionStoreCheck = Callable[[SessionStore], Awaitable[None]]

PROJECT, ONE, TWO = "-work-app", "11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"
CLOCKS = 60_000
"""Milliseconds by which the clock of a store may differ from ours."""


def _key(session: str = ONE, project: str = PROJECT, subpath: str = "") -> SessionKey:
    key: SessionKey = {"project_key": project, "session_id": session}
    return {**key, "subpath": subpath} if subpath else key


def _entries(*names: str, **fields: Any) -> list[SessionStoreEntry]:
    return [cast("SessionStoreEntry", {"type": "user", "uuid": name, **fields}) for name in names]


async def _names(store: SessionStore, key: SessionKey) -> str:
    return " ".join(str(entry.get("uuid")) for entry in await store.load(key) or ())


async def entries_are_loaded_in_the_order_of_the_appends(store: SessionStore) -> None:
    await store.append(_key(), _entries("a", "b"))
    await store.append(_key(), _entries("c"))
    await store.append(_key(), _entries("b2", "a2"))
    found = await _names(store, _key())
    expect(found == "a b c b2 a2", f"appended a b, c, b2 a2 and loaded {found!r}")


async def an_unknown_key_has_no_entries(store: SessionStore) -> None:
    for key in (_key(), _key(subpath="subagents/agent-x")):
        found = await store.load(key)
        expect(found is None, f"load() of an unknown key must return None, not {found!r}")


async def entries_are_loaded_unchanged(store: SessionStore) -> None:
    strange: dict[str, Any] = {
        "text": 'Grüße 🌍 \u2028 "quotes" \\ \n\t\x00 %s $1',
        "surrogate": "\ud83d",
        "numbers": [0, -1, 2**53, 10**20, 0.1, 1e-9, 5.0],
        "nothing": None,
        "flags": [True, False],
        "empty": [{}, [], ""],
        "deep": {"a": {"b": [{"c": {"type": "inner"}}]}},
    }
    entry = cast("SessionStoreEntry", {"type": "user", "uuid": "a", **strange})
    await store.append(_key(), [entry])
    found = await store.load(_key())
    expect(found == [entry], f"appended {entry!r} and loaded {found!r}")


async def entries_without_a_uuid_are_all_stored(store: SessionStore) -> None:
    lines = [cast("SessionStoreEntry", {"type": "mode", "mode": mode}) for mode in ("plan", "plan", "default")]
    await store.append(_key(), lines)
    await store.append(_key(), lines[:1])
    found = await store.load(_key())
    expect(found == [*lines, lines[0]], f"equal entries must all be stored; loaded {found!r}")


async def projects_and_sessions_are_separate(store: SessionStore) -> None:
    # Names that differ only where a careless pattern, key or collation does not see it.
    keys = [_key("s"), _key("S"), _key("s1"), _key("s", "p_q"), _key("s", "pxq"), _key("s", "p%"), _key("s", "p'q")]
    keys += [_key("b/c", "a"), _key("c", "a/b"), _key("s", "é"), _key("s", "e")]
    for number, key in enumerate(keys):
        await store.append(key, _entries(str(number)))
    for number, key in enumerate(keys):
        found = await _names(store, key)
        expect(found == str(number), f"{key} has the entries {found!r} instead of {number}")


async def subagents_are_separate_from_the_session(store: SessionStore) -> None:
    await store.append(_key(subpath="subagents/agent-x"), _entries("x"))
    expect(await store.load(_key()) is None, "entries of a subagent appear in the session's transcript")
    await store.append(_key(), _entries("a"))
    await store.append(_key(subpath="subagents/agent-y"), _entries("y"))
    for key, names in ((_key(), "a"), (_key(subpath="subagents/agent-x"), "x")):
        found = await _names(store, key)
        expect(found == names, f"{key} has the entries {found!r} instead of {names!r}")


async def entries_belong_to_the_store(store: SessionStore) -> None:
    given = _entries("a", message={"content": ["x"]})
    await store.append(_key(), given)
    cast("Any", given[0])["message"]["content"].append("changed by the writer")
    given.clear()
    first = await store.load(_key()) or []
    expect(len(first) == 1, "the list that was appended is the store's own; copy it")
    cast("Any", first[0])["message"]["content"].append("changed by a reader")
    found = cast("Any", await store.load(_key()))
    expect(found[0]["message"] == {"content": ["x"]}, f"a stored entry was changed from outside: {found[0]!r}")


async def an_empty_append_adds_nothing(store: SessionStore) -> None:
    await store.append(_key(), [])
    expect(not await store.load(_key()), "an empty append added entries")
    await store.append(_key(), _entries("a"))
    await store.append(_key(), [])
    found = await _names(store, _key())
    expect(found == "a", f"an empty append changed the entries to {found!r}")


async def a_large_append_is_stored_whole(store: SessionStore) -> None:
    await store.append(_key(), _entries(*map(str, range(3000))))
    await store.append(_key(), _entries("large", text="x" * 2_000_000))
    found = await store.load(_key()) or []
    right = [entry.get("uuid") for entry in found] == [*map(str, range(3000)), "large"]
    expect(right, f"appended 3001 entries and loaded {len(found)}, or in another order")
    expect(cast("Any", found[-1])["text"] == "x" * 2_000_000, "a text of 2,000,000 characters was not stored whole")


async def concurrent_appends_are_all_stored(store: SessionStore) -> None:
    batches = [_entries(*(f"{n}-{i}" for i in range(5))) for n in range(30)]
    await asyncio.gather(*(store.append(_key(), batch) for batch in batches))
    found = [str(entry.get("uuid")) for entry in await store.load(_key()) or ()]
    wanted = {f"{n}-{i}" for n in range(30) for i in range(5)}
    expect(set(found) == wanted and len(found) == 150, f"150 entries were appended, {len(found)} are stored")
    for n in range(30):
        own = [name for name in found if name.startswith(f"{n}-")]
        start = found.index(own[0])
        expect(found[start : start + 5] == [f"{n}-{i}" for i in range(5)], f"append {n} is mixed with another: {own}")


async def a_failed_append_stores_nothing(store: SessionStore) -> None:
    await store.append(_key(), _entries("a"))
    bad = [*_entries("b"), cast("SessionStoreEntry", {"type": "user", "uuid": "c", "value": object()})]
    try:
        await store.append(_key(), bad)
    except Exception:
        found = await _names(store, _key())
        expect(found == "a", f"an append raised, but a part of it is stored: {found!r}")


async def sessions_are_listed_with_the_time_of_their_last_append(store: SessionStore) -> None:
    if not implements(store, "list_sessions"):
        return
    expect(await store.list_sessions(PROJECT) == [], "an empty store lists sessions")
    for session in (ONE, TWO):
        await store.append(_key(session), _entries("a"))
    await store.append(_key("other", "-other"), _entries("a"))
    before = await _times(store)
    expect(before.keys() == {ONE, TWO}, f"sessions {ONE} and {TWO} are stored, {sorted(before)} are listed")
    for session, mtime in before.items():
        near = isinstance(mtime, int) and abs(mtime - time.time() * 1000) < CLOCKS
        expect(near, f"mtime of {session} is {mtime!r}, not the time in milliseconds since 1970")
    await store.append(_key(ONE), _entries("b"))
    after = await _times(store)
    expect(after[ONE] > after[TWO], f"{ONE} was appended to last, but its mtime is not the greatest: {after}")
    expect(after[TWO] == before[TWO], f"the mtime of {TWO} changed without an append")


async def _times(store: SessionStore) -> dict[str, int]:
    listed = await store.list_sessions(PROJECT)
    expect(len({one["session_id"] for one in listed}) == len(listed), f"a session is listed twice: {listed}")
    return {one["session_id"]: one["mtime"] for one in listed}


async def a_subagent_alone_is_not_a_session(store: SessionStore) -> None:
    await store.append(_key(subpath="subagents/agent-x"), _entries("x"))
    if implements(store, "list_sessions"):
        expect(await store.list_sessions(PROJECT) == [], "a session that has only a subagent is listed")
    if implements(store, "list_session_summaries"):
        expect(await store.list_session_summaries(PROJECT) == [], "there is a summary of a subagent")


async def subkeys_are_listed(store: SessionStore) -> None:
    if not implements(store, "list_subkeys"):
        return
    wanted = {"subagents/agent-x", "subagents/agent-y", "subagents/workflows/w/agent-z"}
    expect(await _subkeys(store) == [], "an unknown session has subkeys")
    await store.append(_key(), _entries("a"))
    for subpath in (*wanted, "subagents/agent-x"):
        await store.append(_key(subpath=subpath), _entries("x"))
    await store.append(_key(TWO, subpath="subagents/agent-of-another-session"), _entries("x"))
    await store.append(_key(ONE, "-other", "subagents/agent-of-another-project"), _entries("x"))
    found = await _subkeys(store)
    expect(sorted(found) == sorted(wanted), f"list_subkeys() returned {sorted(found)} instead of {sorted(wanted)}")


async def _subkeys(store: SessionStore, session: str = ONE) -> list[str]:
    return await store.list_subkeys({"project_key": PROJECT, "session_id": session})


async def a_deleted_session_is_gone_with_its_subagents(store: SessionStore) -> None:
    if not implements(store, "delete"):
        return
    for session in (ONE, TWO):
        await store.append(_key(session), _entries("a"))
        await store.append(_key(session, subpath="subagents/agent-x"), _entries("x"))
    await store.append(_key(ONE, "-other"), _entries("a"))
    await store.delete(_key())
    for key in (_key(), _key(subpath="subagents/agent-x")):
        expect(await store.load(key) is None, f"{key} can still be loaded after delete()")
    if implements(store, "list_subkeys"):
        expect(await _subkeys(store) == [], "the deleted session still has subkeys")
        expect(await _subkeys(store, TWO) == ["subagents/agent-x"], "another session lost its subagents")
    if implements(store, "list_sessions"):
        expect((await _times(store)).keys() == {TWO}, "the deleted session is still listed, or another is not")
    if implements(store, "list_session_summaries"):
        left = [one["session_id"] for one in await store.list_session_summaries(PROJECT)]
        expect(left == [TWO], f"after the delete there are summaries of {left}")
    for key in (_key(TWO), _key(TWO, subpath="subagents/agent-x"), _key(ONE, "-other")):
        expect(await store.load(key) is not None, f"{key} was deleted too")


async def a_deleted_session_can_begin_anew(store: SessionStore) -> None:
    if not implements(store, "delete"):
        return
    await store.append(_key(), _entries("a", customTitle="Old"))
    await store.delete(_key())
    await store.append(_key(), _entries("b"))
    found = await _names(store, _key())
    expect(found == "b", f"the new session has the entries {found!r}")
    if implements(store, "list_session_summaries"):
        [summary] = await store.list_session_summaries(PROJECT)
        expect("custom_title" not in summary["data"], "the new session has the title of the deleted one")


async def deleting_a_subagent_leaves_the_others(store: SessionStore) -> None:
    if not implements(store, "delete"):
        return
    await store.append(_key(), _entries("a"))
    for name in ("x", "x1"):
        await store.append(_key(subpath=f"subagents/agent-{name}"), _entries(name))
    await store.delete(_key(subpath="subagents/agent-x"))
    expect(await store.load(_key(subpath="subagents/agent-x")) is None, "the deleted subagent can still be loaded")
    for key in (_key(), _key(subpath="subagents/agent-x1")):
        expect(await store.load(key) is not None, f"{key} was deleted too")


async def deleting_an_unknown_key_is_not_an_error(store: SessionStore) -> None:
    if implements(store, "delete"):
        await store.delete(_key())
        await store.delete(_key(subpath="subagents/agent-x"))


async def summaries_are_folded_from_every_append(store: SessionStore) -> None:
    if not implements(store, "list_session_summaries"):
        return
    appends: list[list[Any]] = [
        [{"type": "user", "uuid": "a", "cwd": "/work", "timestamp": "2026-01-02T03:04:05.678Z", "gitBranch": "main"}],
        [{"type": "user", "uuid": "b", "message": {"content": "Fix the test"}}, {"type": "tag", "tag": "blue"}],
        [{"type": "custom-title", "customTitle": "Tïtle"}, {"type": "user", "uuid": "c", "gitBranch": "fix"}],
    ]
    for entries in appends:
        await store.append(_key(), entries)
    await store.append(_key(TWO), _entries("z"))
    found = {one["session_id"]: one for one in await store.list_session_summaries(PROJECT)}
    expect(found.keys() == {ONE, TWO}, f"there are summaries of {sorted(found)} instead of {[ONE, TWO]}")
    wanted = fold_session_summary(None, _key(), [entry for entries in appends for entry in entries])["data"]
    expect(found[ONE]["data"] == wanted, f"the summary is {found[ONE]['data']} instead of {wanted}")
    if implements(store, "list_sessions"):
        times = await _times(store)
        same = all(one["mtime"] == times[id] for id, one in found.items())
        expect(same, "the mtime of a summary differs from that of list_sessions(), so it would count as outdated")


async def summaries_leave_subagents_out(store: SessionStore) -> None:
    if not implements(store, "list_session_summaries"):
        return
    await store.append(_key(), _entries("a", customTitle="Main"))
    [before] = await store.list_session_summaries(PROJECT)
    await store.append(_key(subpath="subagents/agent-x"), _entries("x", customTitle="Subagent"))
    [after] = await store.list_session_summaries(PROJECT)
    expect(after["data"] == before["data"], f"a subagent changed the summary to {after['data']}")


SESSION_STORE_CHECKS: tuple[SessionStoreCheck, ...] = (
    entries_are_loaded_in_the_order_of_the_appends,
    an_unknown_key_has_no_entries,
    entries_are_loaded_unchanged,
    entries_without_a_uuid_are_all_stored,
    projects_and_sessions_are_separate,
    subagents_are_separate_from_the_session,
    entries_belong_to_the_store,
    an_empty_append_adds_nothing,
    a_large_append_is_stored_whole,
    concurrent_appends_are_all_stored,
    a_failed_append_stores_nothing,
    sessions_are_listed_with_the_time_of_their_last_append,
    a_subagent_alone_is_not_a_session,
    subkeys_are_listed,
    a_deleted_session_is_gone_with_its_subagents,
    a_deleted_session_can_begin_anew,
    deleting_a_subagent_leaves_the_others,
    deleting_an_unknown_key_is_not_an_error,
    summaries_are_folded_from_every_append,
    summaries_leave_subagents_out,
)
