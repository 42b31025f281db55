"""A session index in memory. The cluster keeps its copy of the shared index in one."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.bridge.store.base import SessionLine, SessionRecord

__all__ = ["MemorySessionIndex", "chosen"]


def chosen(records: Iterable[SessionRecord], *, archived: bool | None, words: str) -> list[SessionRecord]:
    """The records that match a query of `SessionIndex.list`, last changed first."""
    wanted = words.casefold().split()
    found = [
        record
        for record in records
        if archived in (None, record.archived)
        and all(word in f"{record.title} {record.cwd}".casefold() for word in wanted)
    ]
    return sorted(found, key=lambda record: (record.changed, record.id), reverse=True)


class MemorySessionIndex:
    """Records in a dict."""

    def __init__(self) -> None:
        self._records: dict[str, SessionRecord] = {}

    async def put(self, record: SessionRecord) -> None:
        self._records[record.id] = record

    async def get(self, id: str) -> SessionRecord | None:
        return self._records.get(id)

    async def list(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionRecord]:
        return chosen(self._records.values(), archived=archived, words=words)[offset : offset + limit]

    async def lines(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionLine]:
        found = await self.list(archived=archived, words=words, limit=limit, offset=offset)
        return [record.line() for record in found]

    async def delete(self, id: str) -> None:
        self._records.pop(id, None)
