"""The list of things to do."""

from pathlib import Path

import msgspec
import pytest

from tests.agent.tools.workplace import call, desk_in


async def test_the_list_is_kept_and_shown_before_and_after(tmp_path: Path):
    desk = desk_in(tmp_path)
    todo = {"content": "a", "status": "pending", "activeForm": "A-ing"}
    assert (await call(desk, "TodoWrite", todos=[todo])).detail == {"oldTodos": [], "newTodos": [todo]}
    done = {**todo, "status": "completed"}
    assert (await call(desk, "TodoWrite", todos=[done])).detail == {"oldTodos": [todo], "newTodos": [done]}
    assert (await call(desk, "TodoWrite", todos=[])).detail["oldTodos"] == []


async def test_an_unknown_status_is_refused(tmp_path: Path):
    with pytest.raises(msgspec.ValidationError, match="status"):
        await call(desk_in(tmp_path), "TodoWrite", todos=[{"content": "a", "status": "x", "activeForm": "A"}])
