"""What runs in the background."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

from handrail.agent.base import Prompt
from handrail.agent.conversation.tasks import TaskRun, Tasks
from handrail.agent.speaker import Speaker

LIMIT = 30


class Lines:
    """Keeps what is said; with `gate`, only once that is open."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def emit(self, line: dict[str, Any]) -> None:
        await self.gate.wait()
        self.said.append(line)

    async def finish(self) -> None:
        return


class Stage:
    def __init__(self, folder: Path) -> None:
        self.lines = Lines()
        self.told: asyncio.Queue[Prompt | None] = asyncio.Queue()
        speaker = Speaker(self.lines, lambda: "s", record=lambda line: None)
        self.tasks = Tasks(speaker, lambda: str(folder), self.told.put_nowait)

    def start(self, work: Any) -> Any:
        return self.tasks.start(kind="local_bash", description="work", call_id="c", work=work)

    def output(self, task: Any) -> Path:
        return Path(task.output_file)

    def subtypes(self) -> list[str]:
        return [line["subtype"] for line in self.lines.said]


async def test_the_end_of_a_task_is_reported_to_host_and_model(tmp_path: Path):
    stage = Stage(tmp_path / "tasks")

    async def work(run: TaskRun) -> tuple[str, str]:
        run.write(b"some ")
        run.write(b"output")
        return "completed", "all done"

    task = stage.start(work)
    assert stage.tasks.running == [task]
    async with asyncio.timeout(LIMIT):
        prompt = await stage.told.get()
    assert prompt is not None
    assert "all done" in prompt.text
    assert stage.subtypes() == [
        "task_started",
        "background_tasks_changed",
        "task_updated",
        "task_notification",
        "background_tasks_changed",
    ]
    assert stage.output(task).read_bytes() == b"some output"
    assert stat.S_IMODE(stage.output(task).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "tasks").stat().st_mode) == 0o700
    assert stage.tasks.running == []


async def test_a_task_that_raises_has_failed(tmp_path: Path):
    stage = Stage(tmp_path)

    async def work(run: TaskRun) -> tuple[str, str]:
        raise RuntimeError("no such luck")

    task = stage.start(work)
    async with asyncio.timeout(LIMIT):
        await stage.told.get()
    assert (task.status, "no such luck" in task.summary) == ("failed", True)


async def test_a_task_stopped_at_once_still_cleans_up(tmp_path: Path):
    stage = Stage(tmp_path)
    happened: list[str] = []

    async def work(run: TaskRun) -> tuple[str, str]:
        happened.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            happened.append("cleaned")
        return "completed", ""

    tasks = [stage.start(work), stage.start(work)]
    async with asyncio.timeout(LIMIT):
        await stage.tasks.stop_all()
    assert happened.count("begun") == happened.count("cleaned") == 2
    assert [task.status for task in tasks] == ["stopped", "stopped"]
    assert stage.tasks.running == []
    assert not await stage.tasks.stop(tasks[0].id)


async def test_a_temporary_folder_replaces_one_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("")
    stage = Stage(tmp_path / "file" / "tasks")

    async def work(run: TaskRun) -> tuple[str, str]:
        run.write(b"kept")
        return "completed", "done"

    task = stage.start(work)
    async with asyncio.timeout(LIMIT):
        await stage.told.get()
    output = stage.output(task)
    assert output.read_bytes() == b"kept"
    output.unlink()
    output.parent.rmdir()


async def test_tasks_are_busy_until_the_end_is_reported(tmp_path: Path):
    stage = Stage(tmp_path / "tasks")

    async def work(run: TaskRun) -> tuple[str, str]:
        stage.lines.gate.clear()  # the host does not read the report yet
        return "completed", "all done"

    task = stage.start(work)
    async with asyncio.timeout(LIMIT):
        while stage.tasks.running:  # noqa: ASYNC110 - the end of the work sets no event
            await asyncio.sleep(0)
        assert (task.status, stage.tasks.busy) == ("completed", True)  # its turn is still to come
        stage.lines.gate.set()
        assert await stage.told.get() is not None
        while stage.tasks.busy:  # noqa: ASYNC110
            await asyncio.sleep(0)
