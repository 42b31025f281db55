"""Plans."""

from pathlib import Path

from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.tools.plan_mode import read_plan
from tests.agent.stage import stage
from tests.agent.tools.workplace import call, desk_in, mode_of, text_in


async def test_planning_begins_and_ends_with_a_mode(tmp_path: Path):
    modes: list[bool] = []
    desk = desk_in(tmp_path, set_plan_mode=modes.append)
    entered = await call(desk, "EnterPlanMode")
    assert entered.content.startswith(entered.detail["message"])
    left = await call(desk, "ExitPlanMode")
    assert left.content == "User has approved exiting plan mode. You can now proceed."
    assert left.detail == {"plan": None, "isAgent": False}
    assert modes == [True, False]


async def test_the_plan_is_kept_in_a_file(tmp_path: Path):
    desk = desk_in(tmp_path, plans_folder=str(tmp_path / "plans"))
    outcome = await call(desk, "ExitPlanMode", plan="# Plan\n1. it")
    path = Path(outcome.detail["filePath"])
    assert (path.parent, text_in(path)) == (tmp_path / "plans", "# Plan\n1. it")
    assert mode_of(path) == 0o600
    assert outcome.detail == {"plan": "# Plan\n1. it", "isAgent": False, "filePath": str(path)}
    assert outcome.content.startswith("User has approved your plan.")


async def test_a_plan_that_lies_in_its_file_need_not_be_given(tmp_path: Path):
    desk = desk_in(tmp_path, plans_folder=str(tmp_path))
    desk.state.plan_file = str(tmp_path / "p.md")
    (tmp_path / "p.md").write_text("from the file")
    assert read_plan(desk) == "from the file"
    assert (await call(desk, "ExitPlanMode")).detail["plan"] == "from the file"
    edited = await call(desk, "ExitPlanMode", plan="better")
    assert (edited.detail["plan"], edited.detail["planWasEdited"]) == ("better", True)
    assert (tmp_path / "p.md").read_text() == "better"


async def test_only_a_session_that_plans_can_present_a_plan(tmp_path: Path):
    call = tool_use("ExitPlanMode", plan="1. it")
    async with stage(tmp_path, Script.of(call, text("done"))) as host:
        await host.turn("go")
        assert "not in plan mode" in str(host.results_of_tools()[0]["content"])
        assert host.requests("can_use_tool") == []
