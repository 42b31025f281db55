"""Finds and reads an earlier conversation: the messages for the model, the cost, the model and the last entry.

Sessions are looked up in the CLI's folder, which the agent writes to as well, then in `~/.handrail`, where the agent
wrote before 0.2. A session outside the CLI's folder is copied into it under the same id; the original stays unchanged.

Damage by a killed process is repaired in memory: an incomplete line is skipped, every call gets a result, and results
without a call are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec
from msgspec import Raw, Struct, field

from handrail.agent.blocks import missing_result, text_block
from handrail.agent.record.checkpoints import snapshot_id
from handrail.agent.record.dropped_turn import check_dropped
from handrail.transcripts import (
    AmbiguousSession,
    EntryNotFound,
    InvalidSessionId,
    SessionFile,
    SessionInfo,
    SessionNotFound,
    check_session_id,
    list_sessions,
    locate,
)
from handrail.transcripts.chain import Link, conversation
from handrail.transcripts.entry import decode
from handrail.transcripts.layout import open_below, projects_folder
from handrail.transcripts.read import Damage, Scan, lines, raw_line, scan_entries

__all__ = ["Resumed", "Source", "find", "latest_session", "read", "repaired"]

JsonObject = dict[str, Any]
ENDED: Final = "The process ended before this tool was done."
_LOST: Final = "(The beginning of this conversation is lost.)"
_SHOWN: Final = frozenset({"user", "assistant", "attachment"})
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
_TOKENS: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
_SUFFIX: Final = ".jsonl"


class Source(Struct, frozen=True):
    """A transcript to resume. `root` is the folder below which no link is followed."""

    root: Path
    path: Path
    session_id: str
    place: SessionFile | None = None
    """Set if the transcript is in a projects folder."""


class Resumed(Struct):
    """A conversation from disk. `lines` are its entries byte for byte, if they were asked for."""

    source: Source
    messages: list[JsonObject] = field(default_factory=list[JsonObject])
    last: str | None = None
    model: str = ""
    """The model of the last answer."""
    mode: str = ""
    """The permission mode at the end."""
    tokens: int = 0
    cost: float = 0.0
    models: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    title: str = ""
    generated_title: str = ""
    last_prompt: str = ""
    lines: list[bytes] = field(default_factory=list[bytes])
    file_history: list[bytes] = field(default_factory=list[bytes])
    """The lines about checkpoints, up to the end of the conversation."""
    files: dict[str, float] = field(default_factory=dict[str, float])
    """The files that the model has seen in whole, with the time of each in milliseconds."""


class _Message(Struct):
    content: str | list[JsonObject] = ""
    model: str = ""
    usage: JsonObject | None = None


class _Entry(Struct):
    """The fields of an entry that the model's messages are made of."""

    type: str
    message: _Message | None = None
    attachment: JsonObject | None = None
    mode: str = field(default="", name="permissionMode")
    timestamp: str = ""
    result: Raw = field(default=Raw(b"null"), name="toolUseResult")


class _FileShown(Struct, rename="camel"):
    file_path: str
    start_line: int = 0
    num_lines: int = 0
    total_lines: int = 0


class _FileResult(Struct, rename="camel"):
    """The result of a call that read (`file`) or wrote a file."""

    file_path: str = ""
    file: _FileShown | None = None
    type: str = ""


class _Owner(Struct, rename="camel"):
    session_id: str = ""


class _Boundary(Struct, rename="camel"):
    compact_metadata: JsonObject = field(default_factory=dict[str, Any])


class _Note(Struct, rename="camel"):
    """A bookkeeping line; the last of its type counts."""

    total_cost_usd: float = field(default=0.0, name="totalCostUSD")
    model_usage: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    custom_title: str = ""
    ai_title: str = ""
    last_prompt: str = ""


# Finding


def latest_session(homes: Sequence[Path], cwd: str) -> Source | None:
    """The last used session of a folder."""
    found = _listed(homes, cwd, limit=1)
    return _source_of(max(found, key=lambda info: info.modified)) if found else None


def find(wanted: str, *, homes: Sequence[Path], cwd: str) -> Source:
    """Find a session by its id, its title or the path of its transcript. Raises TranscriptError."""
    if wanted.endswith(_SUFFIX):
        return _at_path(Path(cwd, wanted).resolve(), homes)
    try:
        check_session_id(wanted)
    except InvalidSessionId:
        return _titled(wanted, homes, cwd)
    for home in homes:
        try:
            return _placed(locate(wanted, home))
        except SessionNotFound:
            continue
    raise SessionNotFound(f"no session {wanted} under {homes[0]}")


def _at_path(path: Path, homes: Sequence[Path]) -> Source:
    """A transcript by its path. One outside of the projects folders may have any name: its entries name the session."""
    file = SessionFile(path.parent.parent, path.parent.name, path.stem)
    if any(file.root == projects_folder(home) for home in homes):
        check_session_id(path.stem)
        return _placed(file)
    with os.fdopen(open_below(path.parent, path), "rb") as stream:
        for _, line in lines(stream, Damage()):
            try:
                entry = decode(line, _Owner)[0]
                return Source(path.parent, path, check_session_id(entry.session_id))
            except (ValueError, InvalidSessionId):
                continue
    raise SessionNotFound(f"{path} is not a transcript")


def _placed(file: SessionFile) -> Source:
    return Source(file.root, file.path, file.session_id, file)


def _titled(title: str, homes: Sequence[Path], cwd: str) -> Source:
    for folder in (cwd, None):
        found = [info for info in _listed(homes, folder) if info.title.casefold() == title.strip().casefold()]
        if len(found) > 1:
            ids = ", ".join(info.id for info in found[:5])
            raise AmbiguousSession(f'{len(found)} sessions have the title "{title}": use an id ({ids})')
        if found:
            return _source_of(found[0])
    raise InvalidSessionId(title)


def _listed(homes: Sequence[Path], folder: str | None, limit: int | None = None) -> list[SessionInfo]:
    """Sessions of all homes; one that was copied into an earlier home is listed once."""
    found: dict[str, SessionInfo] = {}
    for home in homes:
        for info in list_sessions(folder, config_home=home, limit=limit):
            found.setdefault(info.id, info)
    return list(found.values())


def _source_of(info: SessionInfo) -> Source:
    return _placed(SessionFile(info.path.parent.parent, info.project, info.id))


# Reading


def read(source: Source, *, at: str = "", drops: str | None = None, whole: bool = False) -> Resumed:
    """Read a session, up to and including the entry `at` if given. `whole`: with its lines.

    `drops`: the prompt of the only turn that may be dropped after `at`. Raises ResumeRejected if it is not, and
    TranscriptError for other problems.
    """
    resumed = Resumed(source)
    with os.fdopen(open_below(source.root, source.path), "rb") as stream:
        scan = scan_entries(stream)
        if drops is not None:
            check_dropped(stream, _after(scan.main, at), at=at, turn=drops)
        chain = conversation(_cut(scan.main, at), leaf=at or _leaf(scan)).links
        resumed.last = chain[-1].uuid if chain else None
        resumed.messages = repaired(_seen(stream, chain, resumed))
        resumed.file_history = _file_history(stream, scan.file_history, chain)
        if whole:
            resumed.lines = [raw_line(stream, link.offset, link.length) for link in chain]
        _take_notes(stream, scan, resumed)
    return resumed


def _cut(links: list[Link], at: str) -> list[Link]:
    if not at:
        return links
    end = next((index for index, link in enumerate(links) if link.uuid == at), None)
    if end is None:
        raise EntryNotFound(f"No message found with message.uuid of: {at}")
    return links[: end + 1]


def _leaf(scan: Scan) -> str | None:
    """The entry to continue after. It is not the newest one if a user went back without asking again."""
    return scan.leaf if any(link.uuid == scan.leaf for link in scan.main) else None


def _after(links: list[Link], at: str) -> list[Link]:
    """The entries of the conversation after `at`; those of abandoned branches are dropped already."""
    kept = {link.uuid for link in _cut(links, at)}
    return [link for link in conversation(links).links if link.uuid not in kept]


def _file_history(stream: BinaryIO, places: list[tuple[int, int]], chain: list[Link]) -> list[bytes]:
    """The checkpoints of the prompts of a conversation; a later branch has others."""
    prompts = {link.uuid for link in chain}
    found = [raw_line(stream, *place) for place in places]
    return [line for line in found if snapshot_id(line) in prompts]


def _seen(stream: BinaryIO, chain: list[Link], resumed: Resumed) -> list[JsonObject]:
    """The messages that the model still sees: the last summary, the messages kept with it, and all later ones."""
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
        resumed.files.clear()  # a compaction shortens what they were shown with
    after = list(_messages(stream, chain[border + 1 :], resumed))
    return [*after[:1], *before, *after[1:]]


def _messages(stream: BinaryIO, links: list[Link], resumed: Resumed) -> Iterator[JsonObject]:
    for link in links:
        if link.type not in _SHOWN:  # meta entries are hidden from users, but the model has seen them
            continue
        try:
            entry = decode(raw_line(stream, link.offset, link.length), _Entry)[0]
        except ValueError:
            continue  # an entry of an unknown shape must not lose the others
        blocks = _blocks(entry)
        _note_file(entry, resumed.files)
        resumed.mode = entry.mode or resumed.mode
        if entry.type == "assistant" and entry.message is not None:
            if entry.message.model == "<synthetic>":
                continue
            resumed.model = entry.message.model or resumed.model
            usage = entry.message.usage or {}
            resumed.tokens = sum(count for name in _TOKENS if isinstance(count := usage.get(name), int))
        if blocks:
            yield {"role": "assistant" if entry.type == "assistant" else "user", "content": blocks}


def _note_file(entry: _Entry, files: dict[str, float]) -> None:
    """Note when the model saw a whole file: it read all lines, wrote it, or edited one that it knew."""
    try:
        at = datetime.fromisoformat(entry.timestamp).timestamp() * 1000
        found = msgspec.json.decode(entry.result, type=_FileResult)
    except ValueError:  # no result, or that of another tool
        return
    shown = found.file
    if shown is not None and shown.start_line == 1 and shown.num_lines >= shown.total_lines:
        files[shown.file_path] = at
    elif shown is None and found.file_path and (found.type in ("create", "update") or found.file_path in files):
        files[found.file_path] = at


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
    """Join consecutive messages of one role, without copying blocks."""
    merged: list[JsonObject] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += message["content"]
        else:
            merged.append({"role": message["role"], "content": list(message["content"])})
    return merged


def repaired(messages: list[JsonObject]) -> list[JsonObject]:
    """A conversation that the API accepts: roles alternate, the user is first, every call is followed by its result."""
    spoken = [
        message
        for message in _merged(messages)
        if message["role"] == "user" or any(block["type"] not in _THOUGHTS for block in message["content"])
    ]
    whole: list[JsonObject] = []
    for message in _merged(spoken):
        calls = _calls(whole[-1]) if whole else []
        if message["role"] == "assistant":
            if calls:  # only after a message of unusable results was dropped; merged messages alternate otherwise
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
    """One result for each call, then the other blocks."""
    results = {block.get("tool_use_id"): block for block in content if block["type"] == "tool_result"}
    rest = [block for block in content if block["type"] != "tool_result"]
    return [*(results.get(id) or missing_result(id, ENDED) for id in calls), *rest]


def _take_notes(stream: BinaryIO, scan: Scan, resumed: Resumed) -> None:
    """Read cost, title and last prompt."""
    if (cost := _last(stream, scan, "cost-state")) is not None:
        resumed.cost, resumed.models = cost.total_cost_usd, cost.model_usage
    if (name := _last(stream, scan, "custom-title")) is not None:
        resumed.title = name.custom_title
    if (name := _last(stream, scan, "ai-title")) is not None:
        resumed.generated_title = name.ai_title
    if (prompt := _last(stream, scan, "last-prompt")) is not None:
        resumed.last_prompt = prompt.last_prompt


def _last(stream: BinaryIO, scan: Scan, kind: str) -> _Note | None:
    """The last note of a type that has the shape of one."""
    for place in reversed(scan.notes.get(kind, ())):
        with suppress(ValueError):
            return decode(raw_line(stream, *place), _Note)[0]
    return None
