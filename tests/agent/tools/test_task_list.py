"""The list of tasks."""

from pathlib import Path

from tests.agent.tools.workplace import call, desk_in


async def test_tasks_are_made_changed_looked_up_and_deleted(tmp_path: Path):
    desk = desk_in(tmp_path)
    made = await call(desk, "TaskCreate", subject="A", description="d", activeForm="As")
    assert made.content == "Task #1 created successfully: A"
    assert made.detail == {"task": {"id": "1", "subject": "A", "description": "d"}}
    await call(desk, "TaskCreate", subject="B", description="d2")
    changed = await call(desk, "TaskUpdate", taskId="2", addBlockedBy=["1", "77"], owner="me", status="in_progress")
    assert changed.content == "Updated task #2 owner, status, blockedBy"
    assert changed.detail == {
        "success": True,
        "taskId": "2",
        "updatedFields": ["owner", "status", "blockedBy"],
        "statusChange": {"from": "pending", "to": "in_progress"},
    }
    first = await call(desk, "TaskGet", taskId="1")
    assert first.content == "Task #1: A\nStatus: pending\nDescription: d\nBlocks: #2"
    assert first.detail["task"]["blocks"] == ["2"]
    listed = await call(desk, "TaskList")
    assert listed.content == "#1 [pending] A\n#2 [in_progress] B (me) [blocked by #1]"
    assert listed.detail["tasks"][1] == {
        "id": "2",
        "subject": "B",
        "status": "in_progress",
        "owner": "me",
        "blockedBy": ["1"],
    }
    deleted = await call(desk, "TaskUpdate", taskId="1", status="deleted")
    assert (deleted.content, deleted.detail["updatedFields"]) == ("Updated task #1 deleted", ["deleted"])
    assert (await call(desk, "TaskList")).content == "#2 [in_progress] B (me)"
    await call(desk, "TaskUpdate", taskId="2", status="deleted")
    assert (await call(desk, "TaskList")).content == "No tasks found"
    again = await call(desk, "TaskCreate", subject="C", description="")
    assert again.detail["task"]["id"] == "3"


async def test_missing_task_is_reported_without_an_error(tmp_path: Path):
    desk = desk_in(tmp_path)
    assert (await call(desk, "TaskGet", taskId="7")).detail == {"task": None}
    outcome = await call(desk, "TaskUpdate", taskId="9", status="completed")
    assert (outcome.content, outcome.is_error) == ("Task not found", False)
    assert outcome.detail == {"success": False, "taskId": "9", "updatedFields": [], "error": "Task not found"}
