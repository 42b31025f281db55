"""In a whole tour of the embedded agent, every question is stored behind the tool use it belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bridge.stage import stage

pytestmark = pytest.mark.usefixtures("anywhere")


def _answers(asked: dict[str, Any]) -> dict[str, Any]:
    if asked["kind"] != "questions":
        return {}
    questions = asked["request"]["input"]["questions"]
    return {"answers": {one["question"]: one["options"][0]["label"] for one in questions}}


async def test_questions_of_a_tour_follow_their_tool_use(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start(prompt="Show me the tour")
        async with on.viewer(session) as viewer:
            answered = 0
            while not viewer.frames("result"):
                await viewer.until(lambda: len(viewer.of("asked")) > answered or viewer.frames("result"))  # noqa: B023
                for asked in viewer.of("asked")[answered:]:
                    answered += 1
                    await on.answer(session, asked, **_answers(asked))
        calls: set[str] = set()
        early: list[str] = []
        for event in viewer.kept:
            data = event["data"]
            if event["kind"] == "frame" and data["type"] == "assistant":
                calls |= {block["id"] for block in data["message"]["content"] if block["type"] == "tool_use"}
            elif event["kind"] == "asked" and data["request"]["tool_use_id"] not in calls:
                early.append(data["request"]["tool_name"])
        assert (answered > 5, early) == (True, [])
