"""A script played in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.base import ModelRequest
from handrail.agent.models.script import Script, ScriptError, reply, text
from handrail.agent.models.scripted import ScriptedModel, scripted_model

TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]
SCRIPT = Script.of(text("from the script"))


async def said(model: ScriptedModel, messages: Sequence[dict[str, Any]] = ()) -> str:
    message = await model.whole(ModelRequest("m", messages, tools=TOOLS))
    return message["content"][0]["text"]


async def test_script_from_a_file(tmp_path: Path):
    path = tmp_path / "script.json"
    path.write_bytes(SCRIPT.to_json())
    assert await said(scripted_model(str(path))) == "from the script"


async def test_script_from_json():
    assert await said(scripted_model(SCRIPT.to_json().decode())) == "from the script"


@pytest.mark.parametrize("source", ["/no/such/script.json", '{"replies": 7}', ""])
def test_invalid_scripts_are_rejected(source: str):
    with pytest.raises(ScriptError):
        scripted_model(source)


async def test_ids_are_random_without_a_label():
    asked = ModelRequest("m", [], tools=TOOLS)
    same = [(await scripted_model(SCRIPT.to_json().decode(), label="x").whole(asked))["id"] for _ in range(2)]
    new = [(await scripted_model(SCRIPT.to_json().decode()).whole(asked))["id"] for _ in range(2)]
    assert same == ["msg_x_0001"] * 2
    assert len(set(new)) == 2


class Watched(Sequence[dict[str, Any]]):
    """A history that counts accesses."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.messages, self.accesses = messages, 0

    def __getitem__(self, index: Any) -> Any:
        self.accesses += 1
        return self.messages[index]

    def __len__(self) -> int:
        return len(self.messages)


async def test_choosing_a_reply_reads_only_the_end_of_the_history():
    script = Script.from_dict({"replies": [{"when": {"prompt": "no"}, "blocks": [{"type": "text", "text": "x"}]}]})
    turn = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    accesses: list[int] = []
    for turns in (1, 1000):
        history = Watched([*turn * turns, {"role": "user", "content": "c"}])
        await said(ScriptedModel(script), history)
        accesses.append(history.accesses)
    assert accesses == [3, 3]


async def test_long_script_is_played_in_order():
    model = ScriptedModel(Script.of(*(reply(text(str(number)), times=2) for number in range(50))))
    assert [await said(model) for _ in range(101)] == [
        *(str(number // 2) for number in range(100)),
        "The script has run out of replies.",
    ]
