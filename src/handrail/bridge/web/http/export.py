"""Export of a session as Markdown or JSON. It is read and sent in pages, so its length does not matter.

Nothing in the exported text is active in a Markdown viewer: HTML tags and script URLs are escaped, and tool input and
output is put in code fences that are longer than any fence inside.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast
from unicodedata import normalize

import msgspec
from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from handrail.bridge.session.sessions import Sessions
from handrail.bridge.store.base import Event, SessionLine
from handrail.bridge.web.http.route import INERT, RouteRequest, route
from handrail.bridge.web.http.sessions import known_session
from handrail.bridge.web.viewers import item_for_viewers

__all__ = ["ExportRoutes", "file_name", "markdown_blocks", "markdown_header", "safe_text"]

JsonObject = dict[str, Any]
FORMATS: Final = {"markdown": ("md", "text/markdown"), "json": ("json", "application/json")}
_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY: Final = re.compile(r"&(?=#?\w+;)")
_SCRIPT: Final = re.compile(r"\b(javascript|vbscript|data)(?=\\*:\S)", re.IGNORECASE)
_MARKUP: Final = re.compile(r"([\\`*_\[\]#|~>])")
_OPENS: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")
_BACKTICKS: Final = re.compile(r"`+")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class ExportQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The format."""

    format: Literal["markdown", "json"] = "markdown"


class ExportRoutes:
    """Exports sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @route("GET", "/api/sessions/{id}/export", "view", query=ExportQuery, gives="application/octet-stream")
    async def export(self, request: RouteRequest) -> Response:
        """The session as a file: Markdown for people, or JSON with its record and its events."""
        record, paths = await known_session(self._sessions.index, request), request.device.sees_paths
        line = record.line(paths=paths)
        extension, kind = FORMATS[request.query.format]
        name = f"{file_name(line.title, line.id)}.{extension}"
        headers = {**INERT, "content-disposition": f'attachment; filename="{name}"'}
        written = self._markdown if extension == "md" else self._json
        return StreamingResponse(written(line, paths=paths), media_type=kind, headers=headers)

    async def _markdown(self, line: SessionLine, *, paths: bool) -> AsyncIterator[bytes]:
        yield markdown_header(line).encode()
        async for page in self._pages(line.id):
            yield (await asyncio.to_thread(_page_of_markdown, page, paths)).encode()

    async def _json(self, line: SessionLine, *, paths: bool) -> AsyncIterator[bytes]:
        yield b'{"session":%s,"events":[' % msgspec.json.encode(line)
        between = b""
        async for page in self._pages(line.id):
            yield between + await asyncio.to_thread(_page_of_json, page, paths)
            between = b","
        yield b"]}"

    async def _pages(self, id: str) -> AsyncIterator[list[Event]]:
        """All events up to the one that is the last now."""
        events = self._sessions.events
        last, after = (await events.bounds(id)).last, 0
        while after < last and (page := await events.read(id, after)):
            after = page[-1].seq
            if kept := [one for one in page if one.seq <= last]:
                yield kept


def _item(one: Event, paths: bool) -> dict[str, Any]:  # noqa: FBT001
    item = {"seq": one.seq, "time": one.time, "kind": one.kind, "data": msgspec.json.decode(one.data)}
    return item if paths else item_for_viewers(item)


def _page_of_markdown(page: list[Event], paths: bool) -> str:  # noqa: FBT001
    return "".join(piece for one in page for piece in markdown_blocks(_item(one, paths)))


def _page_of_json(page: list[Event], paths: bool) -> bytes:  # noqa: FBT001
    return b",".join(msgspec.json.encode(_item(one, paths)) for one in page)


# Markdown


def file_name(title: str, id: str) -> str:
    """A file name, without extension, that is valid on every system; the id if no character of the title is usable."""
    plain = normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")[:80].strip("-") or id


def markdown_header(line: SessionLine) -> str:
    """The beginning of the document: title, folder, model, dates."""
    facts = {"Folder": line.cwd, "Session": line.id, "Model": line.model}
    facts |= {"Created": _date(line.created), "Last changed": _date(line.changed)}
    listed = [f"- {name}: {_inline(value)}" for name, value in facts.items() if value]
    return "\n".join([f"# {_inline(line.title) or 'Untitled session'}", "", *listed, ""])


def markdown_blocks(item: JsonObject) -> Iterator[str]:
    """An event as blocks of Markdown. Most kinds of events yield nothing."""
    render = _KINDS.get(item["kind"])
    data: Any = item.get("data")
    if render is None or not isinstance(data, dict):
        return
    for heading, text in render(cast("JsonObject", data)):
        if text.strip():
            yield f"\n## {heading} · {_date(item['time'])}\n\n{text.rstrip()}\n" if heading else f"\n{text.rstrip()}\n"


Sections = Iterator[tuple[str, str]]
"""Pairs of a heading and the text below it. An empty heading continues the previous section."""


def _said(data: JsonObject) -> Sections:
    yield f"You ({_inline(str(data.get('by') or 'unknown'))})", _content(data.get("content"))


def _frame(line: JsonObject) -> Sections:
    message: Any = line.get("message")
    content = cast("JsonObject", message).get("content") if isinstance(message, dict) else None
    kind = line.get("type")
    if kind == "assistant":
        yield "Assistant" + (" (subagent)" if line.get("parent_tool_use_id") else ""), _content(content)
    elif kind == "user" and not line.get("isReplay"):
        results = [one for one in _blocks(content) if one.get("type") == "tool_result"]
        heading = "Result" if results else "You" if line.get("imported") else "Sent to the model"
        yield heading, _content(content)
    elif kind == "system" and line.get("subtype") == "compact_boundary":
        yield "", "*Earlier messages were summarized for the model.*"


def _asked(data: JsonObject) -> Sections:
    request: Any = data.get("request")
    tool = cast("JsonObject", request).get("tool_name") if isinstance(request, dict) else ""
    yield "", f"*Permission requested: {_inline(str(tool or data.get('kind')))}*"


def _answered(data: JsonObject) -> Sections:
    raw: Any = data.get("answer")
    answer = cast("JsonObject", raw) if isinstance(raw, dict) else {}
    reason = f": {_inline(str(answer['reason']))}" if answer.get("reason") else ""
    edited = ", with changes" if answer.get("input") else ""
    yield "", f"*{_inline(str(data.get('by')))} answered {_inline(str(answer.get('behavior')))}{edited}{reason}*"
    if edited:
        yield "", _json(answer["input"])


def _ended(data: JsonObject) -> Sections:
    errors: Any = data.get("errors")
    reason = str(cast("list[Any]", errors)[0]) if isinstance(errors, list) and errors else str(data.get("why") or "")
    if reason:
        yield "", f"*The turn ended early: {_inline(reason[:500])}*"


_KINDS: Final[Mapping[str, Callable[[JsonObject], Sections]]] = {
    "said": _said,
    "frame": _frame,
    "asked": _asked,
    "answered": _answered,
    "crashed": _ended,
}


# Blocks of a message


def _blocks(content: Any) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    return [cast("JsonObject", one) for one in parts if isinstance(one, dict)]


def _content(content: Any) -> str:
    return "\n\n".join(filter(None, (_BLOCKS.get(str(one.get("type")), _other)(one) for one in _blocks(content))))


def _thinking(block: JsonObject) -> str:
    text = safe_text(str(block.get("thinking") or "").strip())
    return "\n".join(f"> {line}" for line in text.splitlines())


def _tool_use(block: JsonObject) -> str:
    return f"**{_inline(str(block.get('name')))}**\n\n{_json(block.get('input'))}"


def _json(value: Any) -> str:
    return _fenced(msgspec.json.format(msgspec.json.encode(value), indent=2).decode(), "json")


def _tool_result(block: JsonObject) -> str:
    parts = [str(one.get("text") or f"[{one.get('type')}]") for one in _blocks(block.get("content"))]
    return ("**Error**\n\n" if block.get("is_error") else "") + _fenced("\n".join(parts))


def _other(block: JsonObject) -> str:
    return f"*[{_inline(str(block.get('type')))}]*"


_BLOCKS: Final[Mapping[str, Callable[[JsonObject], str]]] = {
    "text": lambda block: safe_text(str(block.get("text") or "").strip()),
    "thinking": _thinking,
    "redacted_thinking": lambda block: "",
    "tool_use": _tool_use,
    "tool_result": _tool_result,
}


# Escaping


def safe_text(text: str) -> str:
    """Escape active content in Markdown. Code fences keep their contents, and an open fence is closed."""
    out: list[str] = []
    lines = iter(_CONTROLS.sub("\ufffd", text.replace("\r\n", "\n")).split("\n"))
    for line in lines:
        opened = _OPENS.fullmatch(line)
        if opened is None:
            out.append(_escaped(line))
            continue
        ending = re.compile(rf" {{0,3}}{opened['fence'][0]}{{{len(opened['fence'])},}}\s*")
        inside: list[str] = []
        for inner in lines:
            if ending.fullmatch(inner):
                break
            inside.append(inner)
        out.append(_fenced("\n".join(inside), re.sub(r"[^\w+#.-]", "", opened["info"])[:40]))
    return "\n".join(out)


def _escaped(text: str) -> str:
    return _SCRIPT.sub(r"unsafe-\1", _TAG.sub("&lt;", _ENTITY.sub("&amp;", text)))


def _inline(text: str) -> str:
    """Text on one line with all markup escaped."""
    return _MARKUP.sub(r"\\\1", _escaped(" ".join(_CONTROLS.sub("\ufffd", text).split())))


def _fenced(text: str, language: str = "") -> str:
    text = _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _date(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
