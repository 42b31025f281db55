from __future__ import annotations

from typing import Any

import pytest

from handrail.agent.speaker import Speaker
from handrail.schema.system_messages import StatusMessage


class Kept:
    """Collects the lines that are sent and those that are recorded."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.recorded: list[dict[str, Any]] = []

    async def emit(self, line: dict[str, Any]) -> None:
        self.lines.append(line)

    async def finish(self) -> None:
        return

    def speaker(self, **given: Any) -> Speaker:
        return Speaker(self, lambda: "session-1", record=self.recorded.append, **given)


def answer(kind: str = "text") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": kind, "text": "x"}]}


async def test_every_line_has_the_session_id_and_a_unique_id() -> None:
    kept = Kept()
    speaker = kept.speaker()
    await speaker.system("init")
    await speaker.user("x")
    assert [line["session_id"] for line in kept.lines] == ["session-1"] * 2
    assert len({line["uuid"] for line in kept.lines}) == 2


async def test_output_and_transcript_have_the_same_id() -> None:
    kept = Kept()
    await kept.speaker().assistant(answer())
    assert kept.lines[0]["uuid"] == kept.recorded[0]["uuid"]


async def test_hidden_line_is_only_in_the_transcript() -> None:
    kept = Kept()
    speaker = kept.speaker()
    await speaker.user("x", aloud=False, uuid="mine")
    assert (kept.lines, kept.recorded[0]["uuid"], speaker.user_lines) == ([], "mine", 0)


async def test_an_echo_is_neither_written_down_nor_counted() -> None:
    kept = Kept()
    speaker = kept.speaker()
    await speaker.user("x", isReplay=True)
    assert (len(kept.lines), kept.recorded, speaker.user_lines) == (1, [], 0)


async def test_stream_events_are_sent_only_if_enabled() -> None:
    silent, loud = Kept(), Kept()
    await silent.speaker().event({"type": "ping"}, "msg_1")
    await loud.speaker(partial=True).event({"type": "ping"}, "msg_1")
    assert (len(silent.lines), len(loud.lines)) == (0, 1)


async def test_the_first_answer_names_the_prompts_it_is_for() -> None:
    kept = Kept()
    speaker = kept.speaker()
    speaker.prompts = ["a", "b"]
    await speaker.assistant(answer())
    await speaker.assistant(answer())
    assert kept.lines[0]["user_message_uuids"] == ["a", "b"]
    assert "user_message_uuid" not in kept.lines[1]


async def test_a_subagent_may_be_heard_only_through_its_calls() -> None:
    kept = Kept()
    speaker = kept.speaker(parent="toolu_1", texts=False, extra={"agent_id": "a1"})
    await speaker.assistant(answer("text"))
    await speaker.assistant(answer("tool_use"))
    assert [line["message"]["content"][0]["type"] for line in kept.lines] == ["tool_use"]
    assert (kept.lines[0]["parent_tool_use_id"], kept.lines[0]["agent_id"]) == ("toolu_1", "a1")
    assert len(kept.recorded) == 2


async def test_a_view_is_sent_with_the_fields_that_it_always_has() -> None:
    kept = Kept()
    await kept.speaker().send(StatusMessage(permission_mode="plan"))
    (line,) = kept.lines
    assert (line["subtype"], line["status"], line["permissionMode"]) == ("status", None, "plan")


async def test_a_system_line_with_a_field_unknown_to_its_view_is_an_error() -> None:
    with pytest.raises(TypeError, match="StatusMessage does not have mood"):
        await Kept().speaker().system("status", mood="good")
