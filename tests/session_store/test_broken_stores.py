"""Twelve broken stores: the conformance suite rejects each, for the reason that is wrong with it."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from handrail.session_store import InMemorySessionStore
from handrail.testing import SESSION_STORE_CHECKS, PortFault, run_port_check


class ForgetsOlderAppends(InMemorySessionStore):
    """Overwrites instead of appending."""

    async def append(self, key: Any, entries: Any) -> None:
        if "subpath" not in key:
            await self.delete(key)
        await super().append(key, entries)


class NewestFirst(InMemorySessionStore):
    """Loads the entries in the wrong order."""

    async def load(self, key: Any) -> Any:
        found = await super().load(key)
        return found and found[::-1]


class EmptyForUnknown(InMemorySessionStore):
    """Does not tell an unknown session from an empty one."""

    async def load(self, key: Any) -> Any:
        return await super().load(key) or []


class DropsEqualEntries(InMemorySessionStore):
    """Takes entries without a uuid for duplicates."""

    async def append(self, key: Any, entries: Any) -> None:
        known = await self.load(key) or []
        fresh: list[Any] = []
        for entry in entries:
            if "uuid" in entry or entry not in [*known, *fresh]:
                fresh.append(entry)
        await super().append(key, fresh)


class IgnoresSubpath(InMemorySessionStore):
    """Puts subagents into the session's own transcript."""

    async def append(self, key: Any, entries: Any) -> None:
        await super().append({"project_key": key["project_key"], "session_id": key["session_id"]}, entries)


class JoinsKeyWithSlash(InMemorySessionStore):
    """Makes one text of project and session, so that two keys may have the same one."""

    def _joined(self, key: Any) -> Any:
        return {**key, "project_key": f"{key['project_key']}/{key['session_id']}", "session_id": ""}

    async def append(self, key: Any, entries: Any) -> None:
        await super().append(self._joined(key), entries)

    async def load(self, key: Any) -> Any:
        return await super().load(self._joined(key))


class SharesItsEntries(InMemorySessionStore):
    """Holds and returns the caller's own objects."""

    def __init__(self) -> None:
        super().__init__()
        self._shared: dict[str, list[Any]] = {}

    async def append(self, key: Any, entries: Any) -> None:
        await super().append(key, copy.deepcopy(entries))
        self._shared.setdefault(str(key), []).extend(entries)

    async def load(self, key: Any) -> Any:
        return self._shared.get(str(key))


class LosesConcurrentAppends(InMemorySessionStore):
    """Reads, waits, then writes the whole list back, without a lock."""

    async def append(self, key: Any, entries: Any) -> None:
        before = await self.load(key) or []
        await asyncio.sleep(0)
        if "subpath" not in key:
            await self.delete(key)
        await super().append(key, [*before, *entries])


class StoresHalfOfAFailedAppend(InMemorySessionStore):
    """Writes entry by entry, without a transaction."""

    async def append(self, key: Any, entries: Any) -> None:
        for entry in entries or [[]]:
            await super().append(key, [entry] if entry else [])


class TimesInSeconds(InMemorySessionStore):
    """Has the unit of mtime wrong."""

    async def list_sessions(self, project_key: str) -> Any:
        return [{**one, "mtime": one["mtime"] // 1000} for one in await super().list_sessions(project_key)]


class LeavesSubagentsBehind(InMemorySessionStore):
    """Deletes the session's own transcript only."""

    async def delete(self, key: Any) -> None:
        place = key["project_key"], key["session_id"], key.get("subpath", "")
        self._entries.pop(place, None)
        self._summaries.pop(place[:2], None) if not place[2] else None


class SubagentsInSummaries(InMemorySessionStore):
    """Folds the entries of subagents into the session's summary."""

    async def append(self, key: Any, entries: Any) -> None:
        await super().append(key, entries)
        owner = key["project_key"], key["session_id"]
        if "subpath" in key and owner in self._summaries:
            for entry in entries:
                self._summaries[owner]["data"].update(custom_title=entry.get("customTitle"))


BROKEN = {
    ForgetsOlderAppends: ("entries_are_loaded_in_the_order_of_the_appends", "loaded 'b2 a2'"),
    NewestFirst: ("entries_are_loaded_in_the_order_of_the_appends", "loaded 'a2 b2 c b a'"),
    EmptyForUnknown: ("an_unknown_key_has_no_entries", "must return None"),
    DropsEqualEntries: ("entries_without_a_uuid_are_all_stored", "equal entries must all be stored"),
    IgnoresSubpath: ("subagents_are_separate_from_the_session", "entries of a subagent appear"),
    JoinsKeyWithSlash: ("projects_and_sessions_are_separate", "instead of"),
    SharesItsEntries: ("entries_belong_to_the_store", "was changed from outside"),
    LosesConcurrentAppends: ("concurrent_appends_are_all_stored", "150 entries were appended"),
    StoresHalfOfAFailedAppend: ("a_failed_append_stores_nothing", "a part of it is stored"),
    TimesInSeconds: ("sessions_are_listed_with_the_time_of_their_last_append", "not the time in milliseconds"),
    LeavesSubagentsBehind: ("a_deleted_session_is_gone_with_its_subagents", "can still be loaded after delete"),
    SubagentsInSummaries: ("summaries_leave_subagents_out", "a subagent changed the summary"),
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
async def test_broken_store_fails_for_its_own_reason(broken: type[InMemorySessionStore]):
    @asynccontextmanager
    async def open_new() -> AsyncIterator[InMemorySessionStore]:
        yield broken()

    failed: dict[str, str] = {}
    for check in SESSION_STORE_CHECKS:
        try:
            await run_port_check(check, open_new)
        except PortFault as fault:
            failed[check.__name__] = str(fault)
    check, reason = BROKEN[broken]
    assert reason in failed.get(check, "passed"), failed
