"""Exports a conversation as Markdown or as JSON lines."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from handrail.transcripts.entry import Entry, mapping, mappings
from handrail.transcripts.read import Transcript

_HEADINGS = {"user": "User", "assistant": "Assistant", "tool": "Tool result"}


def jsonl(transcript: Transcript) -> Iterator[bytes]:
    """Each message of the conversation, byte for byte as in the file."""
    return (entry.raw + b"\n" for entry in transcript.messages)


def markdown(transcript: Transcript, title: str | None = None) -> Iterator[str]:
    """The conversation as Markdown, piece by piece."""
    yield f"# {title or transcript.session_id}\n\nSession `{transcript.session_id}`\n"
    speaker = None
    for entry in transcript.messages:
        blocks = entry.blocks()
        now = "tool" if any(block.get("type") == "tool_result" for block in blocks) else entry.type
        pieces = [piece for block in blocks if (piece := _block(block))]
        if not pieces:
            continue
        if now != speaker:
            yield f"\n## {_HEADINGS.get(now, now)}{_when(entry)}\n"
            speaker = now
        yield from (f"\n{piece}\n" for piece in pieces)
    if transcript.damage.total:
        yield f"\n---\n\nDamage in the file: {damage_text(transcript)}.\n"


def damage_text(transcript: Transcript) -> str:
    """The damage that was found, in words."""
    counts: dict[str, int] = msgspec.structs.asdict(transcript.damage)
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _when(entry: Entry) -> str:
    return f" · {entry.timestamp[:19].replace('T', ' ')}" if entry.timestamp else ""


def _block(block: dict[str, Any]) -> str:
    show = _BLOCKS.get(str(block.get("type")))
    return show(block) if show else f"*[{block.get('type')}]*"


def _thinking(block: dict[str, Any]) -> str:
    text = str(block.get("thinking") or "").strip()
    return "\n".join(f"> {line}" for line in text.splitlines())


def _tool_use(block: dict[str, Any]) -> str:
    shown = msgspec.json.format(msgspec.json.encode(block.get("input")), indent=2).decode()
    return f"**{block.get('name')}**\n\n{_fenced(shown, 'json')}"


def _tool_result(block: dict[str, Any]) -> str:
    content = block.get("content")
    if not isinstance(content, str):
        parts = mappings(content)
        content = "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts)
    return ("**Error**\n\n" if block.get("is_error") else "") + _fenced(content)


def _image(block: dict[str, Any]) -> str:
    kind = mapping(block.get("source")).get("media_type")
    return f"*[{block.get('type')} {kind or ''}]*"


def _fenced(text: str, language: str = "") -> str:
    # Longer than any run of backticks inside, so that nothing in the text can end the fence.
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


_BLOCKS: dict[str, Callable[[dict[str, Any]], str]] = {
    "text": lambda block: str(block.get("text") or "").strip(),
    "thinking": _thinking,
    "redacted_thinking": lambda block: "",
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
    "document": _image,
}
