"""Plans and lists of things to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handrail.agent.models.script import tool_use
from tests.agent.tasks.story import bash, edit, failure, note, prompt, read, result, shown, task

JsonObject = dict[str, Any]


async def test_a_plan_is_made_approved_and_carried_out(tmp_path: Path) -> None:
    answers = iter([{"behavior": "deny", "message": "Keep the old name as an alias."}, {"behavior": "allow"}])

    def decide(request: JsonObject) -> JsonObject:
        return next(answers) if request["tool_name"] == "ExitPlanMode" else {"behavior": "allow"}

    async with task(tmp_path, {"a.py": "def old():\n    return 1\n"}, "--permission-mode", "plan", asks=True) as work:
        work.host.answers["can_use_tool"] = decide
        await work.turn(
            "Rename old() to new().",
            shown(prompt("Rename old()"), note("Plan mode is on", "ExitPlanMode:")).calls(read("a.py")),
            shown(result("def old()")).calls(tool_use("ExitPlanMode", plan="1. Rename it.")),
            shown(failure("Keep the old name as an alias.")).calls(
                tool_use("ExitPlanMode", plan="1. Rename it.\n2. Keep an alias.")
            ),
            shown(result("approved your plan", "2. Keep an alias.")).calls(edit("a.py", "def old()", "def new()")),
            shown(result("has been updated successfully")).calls(
                edit("a.py", "return 1\n", "return 1\n\n\nold = new\n")
            ),
            shown(result("has been updated successfully")).says("Renamed, with an alias."),
        )
        await work.turn("Thanks.", shown(prompt("Thanks.")).says("You are welcome."))
        assert work.text("a.py") == "def new():\n    return 1\n\n\nold = new\n"


async def test_plan_mode_is_explained_once_and_its_end_is_said(tmp_path: Path) -> None:
    async with task(tmp_path, {"a.py": "x = 1\n"}, "--permission-mode", "plan", asks=True) as work:
        work.host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "The plan mode is on."}
        await work.turn("Look.", shown(prompt("Look."), note("Plan mode is on")).says("I see."))
        await work.turn(
            "Go on.",
            shown(prompt("Go on."), note("still on").without("How to work")).calls(edit("a.py", "1", "2")),
            shown(failure("plan mode")).says("Not yet."),
        )
        await work.host.control("set_permission_mode", mode="acceptEdits")
        await work.turn(
            "Do it.",
            shown(prompt("Do it."), note("Plan mode has ended")).calls(edit("a.py", "1", "2")),
            shown(result("has been updated successfully")).says("Done."),
        )
        await work.turn("Good.", shown(prompt("Good.")).says("Yes."))
        assert work.text("a.py") == "x = 2\n"


async def test_plan_mode_is_explained_again_after_a_compaction(tmp_path: Path) -> None:
    async with task(tmp_path, {}, "--permission-mode", "plan", asks=True) as work:
        await work.turn("Plan a game.", shown(prompt("Plan a game."), note("How to work")).says("Which one?"))
        work.story.summary = "The user wants a plan for a game."
        await work.turn("/compact")
        await work.turn(
            "Chess.",
            shown(
                prompt("The user wants a plan for a game."), note("How to work"), prompt("Chess."), note("still on")
            ).says("A board first."),
        )


async def test_a_list_of_things_to_do(tmp_path: Path) -> None:
    def todos(*states: str) -> JsonObject:
        names = ("Find the typo", "Fix it", "Check the text")
        return tool_use(
            "TodoWrite",
            todos=[
                {"content": name, "status": state, "activeForm": name}
                for name, state in zip(names, states, strict=True)
            ],
        )

    async with task(tmp_path, {"text.md": "Teh end.\n"}, "--tools", "Read,Edit,Bash,TodoWrite") as work:
        await work.turn(
            "Find the typo, fix it, check the text.",
            shown(prompt("Find the typo")).calls(todos("in_progress", "pending", "pending"), read("text.md")),
            shown(result("list of todos was changed"), result("Teh end.")).calls(
                todos("completed", "in_progress", "pending"), edit("text.md", "Teh", "The")
            ),
            shown(result("list of todos was changed"), result("has been updated")).calls(
                todos("completed", "completed", "in_progress"), bash("cat text.md")
            ),
            shown(result("list of todos was changed"), result("The end.")).calls(
                todos("completed", "completed", "completed")
            ),
            shown(result("list of todos was changed")).says("Fixed."),
        )
        assert work.text("text.md") == "The end.\n"


async def test_open_todos_survive_a_compaction(tmp_path: Path) -> None:
    todo = {"content": "Write the docs", "status": "in_progress", "activeForm": "Writing"}
    async with task(tmp_path, {}, "--tools", "TodoWrite") as work:
        await work.turn(
            "Write the docs.",
            shown(prompt("Write the docs.")).calls(tool_use("TodoWrite", todos=[todo])),
            shown(result("list of todos was changed")).says("I'll begin."),
        )
        work.story.summary = "Nothing is written yet."
        await work.turn("/compact")
        await work.turn(
            "Go on.",
            shown(prompt("Nothing is written yet."), note("Write the docs", "in_progress"), prompt("Go on.")).says(
                "Yes."
            ),
        )
