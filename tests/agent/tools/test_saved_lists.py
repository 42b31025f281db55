"""Task and todo lists survive a resume."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.tools.saved_lists import SavedLists, SharedTask, SharedTasks
from tests.agent.stage import stage

JsonObject = dict[str, Any]
TASKS = ("--tools", "TaskCreate,TaskUpdate,TaskList,TodoWrite")
LIST = tool_use("TaskList")


def create(subject: str) -> Any:
    return tool_use("TaskCreate", subject=subject, description="d", activeForm=f"doing {subject}")


def todo(content: str, status: str = "pending") -> JsonObject:
    return {"content": content, "status": status, "activeForm": content}


async def session(folder: Path, *blocks: Any, flags: tuple[str, ...] = (), prompts: tuple[str, ...] = ("go",)) -> Any:
    async with stage(folder, Script.of(*blocks, text("ok")), *TASKS, *flags) as host:
        for prompt in prompts:
            await host.turn(prompt)
    return host


async def test_tasks_are_there_after_a_resume_and_numbers_are_not_reused(tmp_path: Path) -> None:
    done = tool_use("TaskUpdate", taskId="1", status="completed", addBlocks=["2"])
    gone = tool_use("TaskUpdate", taskId="3", status="deleted")
    host = await session(tmp_path, create("a"), create("b"), create("c"), done, gone)
    again = await session(tmp_path, LIST, create("d"), flags=("--resume", host.engine.session.id))
    listed, created = again.results_of_tools()
    assert listed["content"] == "#1 [completed] a\n#2 [pending] b [blocked by #1]"
    assert created["content"] == "Task #4 created successfully: d"


async def test_todos_are_there_after_a_resume(tmp_path: Path) -> None:
    host = await session(tmp_path, tool_use("TodoWrite", todos=[todo("a"), todo("b", "in_progress")]))
    again = await session(
        tmp_path, tool_use("TodoWrite", todos=[todo("c")]), flags=("--resume", host.engine.session.id)
    )
    (line,) = [line for line in again.of("user") if "tool_use_result" in line]
    assert line["tool_use_result"]["oldTodos"] == [todo("a"), todo("b", "in_progress")]


async def test_todos_of_a_conversation_of_the_cli_are_found_in_it(tmp_path: Path) -> None:
    host = await session(tmp_path, tool_use("TodoWrite", todos=[todo("a")]))
    shutil.rmtree(tmp_path / "home" / ".claude" / "todos")
    again = await session(tmp_path, tool_use("TodoWrite", todos=[]), flags=("--resume", host.engine.session.id))
    (line,) = [line for line in again.of("user") if "tool_use_result" in line]
    assert line["tool_use_result"]["oldTodos"] == [todo("a")]


async def test_a_fork_starts_with_the_tasks_and_changes_only_its_own(tmp_path: Path) -> None:
    host = await session(tmp_path, create("a"))
    resume = ("--resume", host.engine.session.id)
    fork = await session(tmp_path, create("b"), LIST, flags=(*resume, "--fork-session"))
    assert fork.results_of_tools()[1]["content"] == "#1 [pending] a\n#2 [pending] b"
    again = await session(tmp_path, LIST, flags=resume)
    assert again.results_of_tools()[0]["content"] == "#1 [pending] a"


async def test_a_cleared_conversation_has_empty_lists(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(create("a"), text("ok"), LIST, text("ok")), *TASKS) as host:
        for prompt in ("go", "/clear", "list"):
            await host.turn(prompt)
        assert host.results_of_tools()[1]["content"] == "No tasks found"


async def test_nothing_is_saved_without_persistence(tmp_path: Path) -> None:
    await session(tmp_path, create("a"), flags=("--no-session-persistence",))
    assert not (tmp_path / "home" / ".claude" / "tasks").exists()


async def test_the_layout_is_that_of_the_cli_and_private(tmp_path: Path) -> None:
    host = await session(tmp_path, create("a"))
    folder = tmp_path / "home" / ".claude" / "tasks" / host.engine.session.id
    task = json.loads((folder / "1.json").read_text())
    assert (task["id"], task["subject"], task["activeForm"]) == ("1", "a", "doing a")
    assert (task["status"], task["blocks"], task["blockedBy"]) == ("pending", [], [])
    assert not {"owner", "metadata"} & set(task)
    assert stat.S_IMODE((folder / "1.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"id": "7"}', b'{"id": "2", "subject": "", "description": ""}']
)
def test_files_that_cannot_be_read_are_skipped(content: bytes, tmp_path: Path) -> None:
    lists = SavedLists(str(tmp_path), "session")
    lists.write_tasks(SharedTasks(2, {"2": SharedTask("2", "b", "d")}))
    (tmp_path / "tasks" / "session" / "1.json").write_bytes(content)
    found = lists.read_tasks()
    assert found
    assert list(found.by_id) == ["2"]


def test_a_link_in_place_of_a_task_is_not_followed(tmp_path: Path) -> None:
    lists = SavedLists(str(tmp_path), "session")
    lists.write_tasks(SharedTasks(1, {"1": SharedTask("1", "a", "d")}))
    secret = tmp_path / "secret"
    secret.write_text('{"id": "1", "subject": "secret", "description": ""}')
    task = tmp_path / "tasks" / "session" / "1.json"
    task.unlink()
    task.symlink_to(secret)
    found = lists.read_tasks()
    assert found is None or not found.by_id


@pytest.mark.parametrize("session_id", ["..", "../x", "a/b", "", "."])
def test_invalid_file_name_as_id_saves_nothing(session_id: str, tmp_path: Path) -> None:
    lists = SavedLists(str(tmp_path / "home"), session_id)
    lists.write_tasks(SharedTasks(1, {"1": SharedTask("1", "a", "d")}))
    lists.write_todos([todo("a")])
    assert lists.read_tasks() is None
    assert not lists.read_todos()
    assert not list(tmp_path.iterdir())


async def test_a_list_that_cannot_be_saved_is_reported_once(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "tasks").write_text("in the way")
    host = await session(tmp_path, create("a"), create("b"), LIST)
    assert host.results_of_tools()[2]["content"] == "#1 [pending] a\n#2 [pending] b"
    assert capsys.readouterr().err.count("The task list is not saved") == 1
