"""Checks which entries a resume with `--resume-session-at` would drop, for `--resume-drops-turn`.

A host that rewinds names the prompt of the turn it wants to drop. The session may contain more than the host has seen,
such as a queued message or the report of a background task. Such entries must not be lost, so the resume is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO, Final, cast

from handrail.errors import CallerError
from handrail.transcripts import InvalidSessionId, TranscriptError, check_session_id
from handrail.transcripts.chain import Link
from handrail.transcripts.entry import decode
from handrail.transcripts.read import raw_line

__all__ = ["ResumeRejected", "check_dropped"]

JsonObject = dict[str, Any]
_MARKER: Final = "[Request interrupted by user"
_PAYLOAD: Final = "structured_output"
"""The attachment with the answer of a turn that ends in a tool call."""


class ResumeRejected(TranscriptError, CallerError):
    """The resume would drop other entries than those of the named turn."""


def check_dropped(stream: BinaryIO, dropped: Iterable[Link], *, at: str, turn: str) -> None:
    """Raise ResumeRejected unless all of `dropped`, the entries after `at`, belong to the turn of the prompt `turn`."""
    refusal = (
        f"Resume rejected by --resume-drops-turn: resuming at {at} would drop entries of other turns than {turn}: "
    )
    try:
        check_session_id(turn)
    except InvalidSessionId:
        raise ResumeRejected(f"{refusal}the id of a turn is a UUID, and {turn!r} is not one") from None
    begun = False
    for link in dropped:
        if link.uuid == turn:
            begun = True
        elif not begun and _counts(stream, link):
            raise ResumeRejected(f"{refusal}the {link.type} entry {link.uuid} comes before the prompt of that turn")
        elif begun and _is_prompt(stream, link):
            raise ResumeRejected(f"{refusal}the user entry {link.uuid} is another prompt")


def _counts(stream: BinaryIO, link: Link) -> bool:
    """Whether an entry between `at` and the prompt would be missed: a message, or an answer in an attachment."""
    if link.meta:
        return False
    if link.type == "attachment":
        found = _decoded(stream, link).get("attachment")
        return isinstance(found, dict) and cast("JsonObject", found).get("type") == _PAYLOAD
    if link.type == "user" and _is_cancelled(_content(stream, link)):
        return False
    return link.type in ("user", "assistant")


def _is_prompt(stream: BinaryIO, link: Link) -> bool:
    if link.type != "user" or link.meta or link.answers:
        return False
    entry = _decoded(stream, link)
    if entry.get("isSynthetic") and not entry.get("origin"):
        return False  # a note of the agent to the model, such as the feedback of a hook
    return not _is_cancelled(_content(stream, link))


def _is_cancelled(content: list[JsonObject]) -> bool:
    """Whether an interrupt wrote this entry: the marker, or results of calls that were not run."""
    return bool(content) and all(
        str(block.get("text") or "").startswith(_MARKER)
        if block.get("type") == "text"
        else block.get("type") == "tool_result" and bool(block.get("is_error"))
        for block in content
    )


def _content(stream: BinaryIO, link: Link) -> list[JsonObject]:
    message = _decoded(stream, link).get("message")
    content = cast("JsonObject", message).get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast("list[JsonObject]", content) if isinstance(content, list) else []


def _decoded(stream: BinaryIO, link: Link) -> JsonObject:
    try:
        return decode(raw_line(stream, link.offset, link.length), dict[str, Any])[0]
    except ValueError:
        return {}
