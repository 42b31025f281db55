"""Messages on the screen: every recorded kind can be drawn, and the notes say what matters."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from handrail.cli.terminal import Terminal
from handrail.cli.turn_view import TurnView
from handrail.protocol.codec import decode
from handrail.protocol.frames import Message
from handrail.schema.messages import read_message
from handrail.transport.recording_file import read_recording

GOLDEN = sorted((Path(__file__).parents[1] / "recordings" / "golden").glob("*.ndjson"))


def drawn(*messages: dict[str, Any], thinking: bool = False) -> str:
    out = io.StringIO()
    view = TurnView(Terminal(out, out, keyboard=None), thinking=thinking)
    for message in messages:
        view.show(read_message(message["type"], message.get("subtype", ""), json.dumps(message).encode()))
    view.end()
    return out.getvalue()


def system(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **fields}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_recorded_conversation_can_be_drawn(path: Path):
    out = io.StringIO()
    view = TurnView(Terminal(out, out, keyboard=None), thinking=True)
    for row in read_recording(path).rows:
        frame = decode(row.data) if row.dir == "out" and row.data.strip() else None
        if isinstance(frame, Message):
            view.show(read_message(frame.type, frame.subtype, frame.raw))
    view.end()
    assert {letter for letter in out.getvalue() if ord(letter) < 32} <= {"\n", "\t"}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            system(
                "init", model="m", permissionMode="plan", cwd="/p", mcp_servers=[{"name": "docs", "status": "failed"}]
            ),
            "m · plan · /p\nMCP server docs: failed\n",
        ),
        (
            system("api_retry", attempt=2, max_retries=10, retry_delay_ms=1500, error_status=529, error="overloaded"),
            "the model could not be reached (overloaded 529), trying again (2 of 10, in 1.5 s)\n",
        ),
        (
            system("model_fallback", original_model="a", fallback_model="b", trigger="overloaded"),
            "a → b (overloaded)\n",
        ),
        (system("status", permissionMode="acceptEdits"), "permission mode: acceptEdits\n"),
        (system("status", status="requesting"), ""),
        (system("compact_boundary"), "(the conversation so far was summarised to make room)\n"),
        (system("informational", content="a hook\nfailed", level="warning"), "a hook failed\n"),
        (system("informational", content="hidden", isMeta=True), ""),
        (system("local_command_output", content="two\nlines"), "two\nlines\n"),
        (system("of_tomorrow", content="x"), ""),
        ({"type": "of_tomorrow"}, ""),
        (
            {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "rateLimitType": "five_hour"}},
            "rate limit five_hour: rejected\n",
        ),
        ({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}}, ""),
        (
            {
                "type": "user",
                "message": {"role": "user", "content": "<local-command-stdout>Compacted</local-command-stdout>"},
            },
            "Compacted\n",
        ),
    ],
)
def test_session_information_is_shown(message: dict[str, Any], shown: str):
    assert drawn(message) == shown


def test_text_and_tools_are_set_apart_by_one_empty_line():
    def said(*blocks: Any) -> dict[str, Any]:
        return {"type": "assistant", "message": {"id": "m", "content": list(blocks)}}

    def use(id: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": id}}

    def done(id: str) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": id, "content": "ok"}
        return {"type": "user", "message": {"role": "user", "content": [block]}}

    text = {"type": "text", "text": "Words."}
    shown = drawn(said(text), said(use("a")), said(use("b")), done("b"), done("a"), said(text))
    assert shown == "Words.\n\n  ✓ Read b · ok\n  ✓ Read a · ok\n\nWords.\n"


def test_text_of_a_failed_answer_is_marked_as_void():
    start = {
        "type": "stream_event",
        "event": {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
    }
    delta = {
        "type": "stream_event",
        "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hal"}},
    }
    shown = drawn(start, delta, system("api_retry", attempt=1, max_retries=2))
    assert shown.startswith("Hal\n\nthe model could not be reached")
    assert "what was shown of this answer does not count" in shown
