"""The vocabulary of the bridge: kinds of events, and how clients receive them.

| kind | meaning and fields |
|---|---|
| frame | a line the CLI wrote |
| said | a message of the user was accepted: uuid, content, by; priority if one was given |
| handed | the message is being written to the CLI: uuid |
| doubted | the process ended before the CLI confirmed the message: uuid |
| withdrawn | the message was taken back before the CLI had it: uuid |
| held | the user stopped a turn; the message waits until the user sends or cancels it: uuid, content, priority |
| asked | a question is pending: question, kind, hash, request, suggestions (with their breadth in words), agent, help |
| answered | it was answered: question, by, answer, granted (permission updates in force for the session) |
| closed | it was withdrawn, or its turn ended: question, why; interrupted if the turn can be run again |
| rewound | files were restored to their state before a message: message, files, by |
| state | the session's state changed: state, error |
| started | a process runs: resumed, version |
| ended | the process ended: why, code, signal, stderr |
| crashed | the process ended during a turn: a result in place of the missing one |
| silent | the CLI has written nothing for `seconds` during a turn |
| lapsed | permissions granted for the session ended with its process: rules, mode |
| changed | a setting changed: title, model, mode, archived |
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from handrail.bridge.store.base import Event, NewEvent

__all__ = ["KINDS", "LARGEST", "event", "item", "live_item", "missing_result"]

KINDS: Final = (
    "frame said handed doubted withdrawn held asked answered closed rewound state started ended crashed silent lapsed"
    " changed"
).split()
LARGEST: Final = 512 * 1024
"""Bytes. Clients get only the number and size of a larger event, and fetch it by itself."""


def event(kind: str, text: str = "", /, **fields: Any) -> NewEvent:
    """An event of the bridge itself. `text` is what a search matches."""
    return NewEvent(kind, msgspec.json.encode(fields), text)


def missing_result(why: str, **fields: Any) -> NewEvent:
    """A result in place of one that will not come."""
    line = {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": [why]}
    return event("crashed", **line, **fields)


def item(event: Event) -> bytes:
    """An event as clients receive it; lines of the CLI stay byte for byte."""
    kind = event.kind.encode()
    if len(event.data) > LARGEST:
        return b'{"seq":%d,"time":%d,"kind":"%s","bytes":%d}' % (event.seq, event.time, kind, len(event.data))
    return b'{"seq":%d,"time":%d,"kind":"%s","data":%s}' % (event.seq, event.time, kind, event.data)


def live_item(raw: bytes) -> bytes:
    """A line of the CLI that is published but not persisted."""
    return b'{"kind":"live","data":%s}' % raw
