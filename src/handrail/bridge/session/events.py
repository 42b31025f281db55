"""The words of the bridge. In: what happened. Out: events for the log, and items for clients.

| kind | what it says |
|---|---|
| frame | the CLI wrote this line |
| said | a message of the user was accepted: uuid, content, by; priority where one was named |
| handed | it is being written to the CLI |
| doubted | the process ended before the CLI said that it has it |
| withdrawn | it was taken back before the CLI had it |
| asked | a question waits: question, kind, hash, request; suggestions: what may be granted with it, in words; agent |
| answered | it was answered: question, by, answer, granted: what is in force for the session from now on |
| closed | it was withdrawn, or its turn is over: question, why |
| state | the session's state is another |
| started | a process runs: resumed, version |
| ended | it has ended: why, code, signal, stderr |
| crashed | it ended by itself in a turn: a result in place of the one that will not come |
| silent | it has said nothing for so many seconds in the middle of a turn; it may be interrupted |
| lapsed | what was granted for the session is no longer in force: rules, mode |
| changed | title, model, mode, archived |
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.bridge.store.events_base import Event, NewEvent

__all__ = ["KINDS", "LARGEST", "event", "item", "live_item", "no_result"]

KINDS = (
    "frame said handed doubted withdrawn asked answered closed state started ended crashed silent lapsed changed"
).split()
LARGEST = 512 * 1024
"""An event with more bytes is told by its number alone; whoever wants it reads it by itself."""


def event(kind: str, text: str = "", /, **fields: Any) -> NewEvent:
    """Something that the bridge tells."""
    return NewEvent(kind, msgspec.json.encode(fields), text)


def no_result(why: str, **told: Any) -> NewEvent:
    """In place of a result that will not come."""
    line = {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": [why]}
    return event("crashed", **line, **told)


def item(one: Event) -> bytes:
    """An event as clients get it. What the CLI wrote stays as it wrote it."""
    if len(one.data) > LARGEST:
        return b'{"seq":%d,"time":%d,"kind":"%s","bytes":%d}' % (one.seq, one.time, one.kind.encode(), len(one.data))
    return b'{"seq":%d,"time":%d,"kind":"%s","data":%s}' % (one.seq, one.time, one.kind.encode(), one.data)


def live_item(raw: bytes) -> bytes:
    """A line of the CLI that is not on record."""
    return b'{"kind":"live","data":%s}' % raw
