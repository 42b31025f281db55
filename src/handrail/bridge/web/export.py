"""Writes a session as Markdown.

The content is untrusted: tags and script URLs are escaped, so a Markdown viewer does not run them, and tool inputs and
results are in code fences that their content cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast
from unicodedata import normalize

import msgspec

from handrail.bridge.store.index_base import SessionLine

__all__ = ["file_name", "head", "pieces", "safe_text"]

JsonObject = dict[str, Any]
_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY: Final = re.compile(r"&(?=#?\w+;)")
_SCRIPT: Final = re.compile(r"\b(javascript|vbscript|data)(?=\\*:\S)", re.IGNORECASE)
_MARKUP: Final = re.compile(r"([\\`*_\[\]#|~>])")
_OPENS: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")
_BACKTICKS: Final = re.compile(r"`+")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def file_name(title: str, id: str) -> str:
    """A portable file name without extension; the session's id if nothing of the title remains."""
    plain = normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")[:80].strip("-") or id


def head(line: SessionLine) -> str:
    """The beginning of the document: title, folder, dates."""
    facts = {"Folder": line.cwd, "Session": line.id, "Model": line.model}
    facts |= {"Begun": _date(line.created), "Changed": _date(line.changed)}
    told = [f"- {name}: {_inline(value)}" for name, value in facts.items() if value]
    return "\n".join([f"# {_inline(line.title) or 'A session'}", "", *told, ""])


def pieces(item: JsonObject) -> Iterator[str]:
    """An event as blocks of Markdown; most kinds give none."""
    show = _KINDS.get(item["kind"])
    data: Any = item.get("data")
    if show is None or not isinstance(data, dict):
        return
    for heading, text in show(cast("JsonObject", data)):
        if text.strip():
            yield f"\n## {heading} · {_date(item['time'])}\n\n{text.rstrip()}\n" if heading else f"\n{text.rstrip()}\n"


Said = Iterator[tuple[str, str]]
"""Pairs of a heading, or "" for none, and the text below it."""


def _said(data: JsonObject) -> Said:
    yield f"You ({_inline(str(data.get('by') or 'unknown'))})", _content(data.get("content"))


def _frame(line: JsonObject) -> Said:
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
        yield "", "*The conversation was compacted here.*"


def _asked(data: JsonObject) -> Said:
    request: Any = data.get("request")
    tool = cast("JsonObject", request).get("tool_name") if isinstance(request, dict) else ""
    yield "", f"*Asked for permission: {_inline(str(tool or data.get('kind')))}*"


def _answered(data: JsonObject) -> Said:
    given: Any = data.get("answer")
    answer = cast("JsonObject", given) if isinstance(given, dict) else {}
    why = f": {_inline(str(answer['reason']))}" if answer.get("reason") else ""
    yield "", f"*{_inline(str(data.get('by')))} answered {_inline(str(answer.get('behavior')))}{why}*"


def _ended(data: JsonObject) -> Said:
    errors: Any = data.get("errors")
    why = str(cast("list[Any]", errors)[0]) if isinstance(errors, list) and errors else str(data.get("why") or "")
    if why:
        yield "", f"*The turn ended early: {_inline(why[:500])}*"


_KINDS: Final[Mapping[str, Callable[[JsonObject], Said]]] = {
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
    shown = msgspec.json.format(msgspec.json.encode(block.get("input")), indent=2).decode()
    return f"**{_inline(str(block.get('name')))}**\n\n{_fenced(shown, 'json')}"


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
    """Foreign Markdown made harmless. Code fences in it are closed."""
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
    """Text on one line with Markdown characters escaped."""
    return _MARKUP.sub(r"\\\1", _escaped(" ".join(_CONTROLS.sub("\ufffd", text).split())))


def _fenced(text: str, language: str = "") -> str:
    text = _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _date(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
