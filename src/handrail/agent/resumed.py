"""An earlier conversation. In: what names it. Out: what the model is shown of it, what it cost, where it ends.

Sessions are looked for in the folder that the agent writes to. An id that is not there is looked for in `~/.claude`
too: a session of the CLI is read there and goes on as a copy, under its own id, in the agent's folder; the original is
never written to, and once there is a copy, the copy counts. `--continue` takes up the agent's own sessions only. With
`$CLAUDE_CONFIG_DIR` both are one folder, and the session simply goes on in its file.

What a killed process left is mended in memory: a line that was cut off is passed over, every call has a result, and
results without a call are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import msgspec
from msgspec import Struct, field

from handrail.agent.history import History, missing_result, text_block
from handrail.transcripts import (
    EntryNotFound,
    InvalidSessionId,
    SessionFile,
    SessionNotFound,
    TranscriptError,
    list_sessions,
    locate,
)
from handrail.transcripts.chain import Link, conversation
from handrail.transcripts.entry import decode
from handrail.transcripts.layout import open_below, projects_folder
from handrail.transcripts.read import raw_line, scan_entries

if TYPE_CHECKING:
    import mmap

__all__ = ["Resumed", "find", "latest_session", "mended", "read"]

JsonObject = dict[str, Any]
ENDED: Final = "The process ended before this tool was done."
_LOST: Final = "(The beginning of this conversation is lost.)"
_SHOWN: Final = frozenset({"user", "assistant", "attachment"})
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
_TOKENS: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


class Resumed(Struct):
    """A conversation from disk. `lines` are its entries as they are written, where they were asked for."""

    file: SessionFile
    messages: list[JsonObject] = field(default_factory=list[JsonObject])
    last: str | None = None
    tokens: int = 0
    cost: float = 0.0
    models: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    title: str = ""
    lines: list[bytes] = field(default_factory=list[bytes])

    def history(self) -> History:
        """What the model is shown."""
        history = History(self.messages)
        if self.tokens:
            history.note_tokens(self.tokens)
        return history


class _Message(Struct):
    content: str | list[JsonObject] = ""
    model: str = ""
    usage: JsonObject | None = None


class _Entry(Struct):
    """What is needed of an entry to show it to the model."""

    type: str
    message: _Message | None = None
    attachment: JsonObject | None = None


class _Boundary(Struct, rename="camel"):
    compact_metadata: JsonObject = field(default_factory=dict[str, Any])


class _Note(Struct, rename="camel"):
    """Bookkeeping: the last line of its kind counts."""

    type: str = ""
    total_cost_usd: float = field(default=0.0, name="totalCostUSD")
    model_usage: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    custom_title: str = ""


def latest_session(home: str, cwd: str) -> str | None:
    """The session here that was used last."""
    found = list_sessions(cwd, config_home=Path(home), limit=1)
    return found[0].id if found else None


def find(wanted: str, *, home: str, other: str, cwd: str) -> SessionFile:
    """The session that an id or a title names. In: `other`, a folder that is only read. Raises TranscriptError."""
    try:
        return locate(wanted, Path(home))
    except SessionNotFound:
        if other == home:
            raise
        return locate(wanted, Path(other))
    except InvalidSessionId:
        return _titled(wanted, home, cwd)


def _titled(title: str, home: str, cwd: str) -> SessionFile:
    for folder in (cwd, None):
        found = [
            info
            for info in list_sessions(folder, config_home=Path(home))
            if info.title.casefold() == title.strip().casefold()
        ]
        if len(found) > 1:
            ids = ", ".join(info.id for info in found[:5])
            raise TranscriptError(f'{len(found)} sessions have the title "{title}": use an id ({ids})')
        if found:
            return SessionFile(projects_folder(Path(home)), found[0].project, found[0].id)
    raise InvalidSessionId(title)


def read(file: SessionFile, *, at: str = "", whole: bool = False) -> Resumed:
    """Read it. In: `at`, the entry at which it is to end; `whole`: its lines are wanted. Raises TranscriptError."""
    resumed = Resumed(file)
    with os.fdopen(open_below(file.root, file.path), "rb") as stream:
        links = _cut(scan_entries(stream).main, at)
        chain = conversation(links, leaf=at or None).links
        resumed.last = chain[-1].uuid if chain else None
        resumed.messages = mended(_seen(stream, chain, resumed))
        if whole:
            resumed.lines = [raw_line(stream, link.offset, link.length) for link in chain]
        _take_notes(stream, resumed)
    return resumed


def _cut(links: list[Link], at: str) -> list[Link]:
    if not at:
        return links
    end = next((index for index, link in enumerate(links) if link.uuid == at), None)
    if end is None:
        raise EntryNotFound(f"No message found with message.uuid of: {at}")
    return links[: end + 1]


def _seen(stream: BinaryIO, chain: list[Link], resumed: Resumed) -> list[JsonObject]:
    """What the model still sees: the last summary, the messages that stayed, and all that was said since."""
    borders = [index for index, link in enumerate(chain) if link.type == "system" and link.logical_parent]
    if not borders:
        return list(_messages(stream, chain, resumed))
    border = borders[-1]
    found = decode(raw_line(stream, chain[border].offset, chain[border].length), _Boundary)[0]
    kept = found.compact_metadata.get("keptMessages")
    before: list[JsonObject] = []
    if isinstance(kept, int) and kept > 0:
        start = borders[-2] + 1 if len(borders) > 1 else 0
        earlier = _merged(_messages(stream, chain[start:border], resumed))
        before = earlier[-kept:]
    after = list(_messages(stream, chain[border + 1 :], resumed))
    return [*after[:1], *before, *after[1:]]


def _messages(stream: BinaryIO, links: list[Link], resumed: Resumed) -> Iterator[JsonObject]:
    for link in links:
        if link.meta or link.type not in _SHOWN:
            continue
        try:
            entry = decode(raw_line(stream, link.offset, link.length), _Entry)[0]
        except ValueError:
            continue  # an entry of a shape that nobody knows is no reason to lose the others
        blocks = _blocks(entry)
        if entry.type == "assistant" and entry.message is not None:
            if entry.message.model == "<synthetic>":
                continue
            usage = entry.message.usage or {}
            resumed.tokens = sum(count for name in _TOKENS if isinstance(count := usage.get(name), int))
        if blocks:
            yield {"role": "assistant" if entry.type == "assistant" else "user", "content": blocks}


def _blocks(entry: _Entry) -> list[JsonObject]:
    if entry.attachment is not None:
        content = entry.attachment.get("content")
        files = entry.attachment.get("type") == "files" and isinstance(content, list)
        return [block for block in cast("list[JsonObject]", content) if block.get("type")] if files else []
    content = entry.message.content if entry.message else ""
    if isinstance(content, str):
        return [text_block(content)] if content else []
    return [block for block in content if block.get("type") and (block["type"] != "text" or block.get("text"))]


def _merged(messages: Iterator[JsonObject] | list[JsonObject]) -> list[JsonObject]:
    """By turns: what one side said in several pieces is one message. Each piece is taken up once, none is copied."""
    merged: list[JsonObject] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += message["content"]
        else:
            merged.append({"role": message["role"], "content": list(message["content"])})
    return merged


def mended(messages: list[JsonObject]) -> list[JsonObject]:
    """A conversation that the API takes: by turns, every call with its result, first the user."""
    spoken = [
        message
        for message in _merged(messages)
        if message["role"] == "user" or any(block["type"] not in _THOUGHTS for block in message["content"])
    ]
    whole: list[JsonObject] = []
    for message in _merged(spoken):
        calls = _calls(whole[-1]) if whole else []
        if message["role"] == "assistant":
            if calls:  # cannot be after a merge, unless a message of results alone was dropped
                whole.append({"role": "user", "content": [missing_result(id, ENDED) for id in calls]})
            elif not whole:
                whole.append({"role": "user", "content": [text_block(_LOST)]})
            whole.append(message)
        elif content := _answered(calls, message["content"]):
            whole.append({"role": "user", "content": content})
    if whole and (calls := _calls(whole[-1])):
        whole.append({"role": "user", "content": [missing_result(id, ENDED) for id in calls]})
    return whole


def _calls(message: JsonObject) -> list[str]:
    if message["role"] != "assistant":
        return []
    return list(dict.fromkeys(str(block.get("id")) for block in message["content"] if block["type"] == "tool_use"))


def _answered(calls: list[str], content: list[JsonObject]) -> list[JsonObject]:
    """The results of the calls, one each and first; then the rest."""
    results = {block.get("tool_use_id"): block for block in content if block["type"] == "tool_result"}
    rest = [block for block in content if block["type"] != "tool_result"]
    return [*(results.get(id) or missing_result(id, ENDED) for id in calls), *rest]


def _take_notes(stream: BinaryIO, resumed: Resumed) -> None:
    """What it cost and what it is called: written at every result, so near the end."""
    if not os.fstat(stream.fileno()).st_size:
        return
    import mmap

    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if (cost := _last(data, "cost-state")) is not None:
            resumed.cost, resumed.models = cost.total_cost_usd, cost.model_usage
        if (name := _last(data, "custom-title")) is not None:
            resumed.title = name.custom_title


def _last(data: mmap.mmap, kind: str) -> _Note | None:
    mark, end = f'"type":"{kind}"'.encode(), len(data)
    while (found := data.rfind(mark, 0, end)) >= 0:
        end = data.rfind(b"\n", 0, found) + 1
        stop = data.find(b"\n", found)
        try:
            note = msgspec.json.decode(data[end : stop if stop >= 0 else len(data)], type=_Note)
        except ValueError:
            continue
        if note.type == kind:
            return note
    return None
