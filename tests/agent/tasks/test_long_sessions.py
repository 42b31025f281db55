"""Sessions that are compacted, cleared, resumed, or wait for a background task."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from uuid import uuid4

import pytest

from tests.agent.tasks.story import (
    bash,
    earlier,
    edit,
    failure,
    note,
    process_task,
    prompt,
    read,
    result,
    shown,
    task,
    with_found,
    write,
)

SMALL = {"HANDRAIL_CONTEXT_WINDOW": "20000"}


async def test_a_conversation_is_compacted_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    chapter = "".join(f"{number}: a line of the chapter\n" for number in range(830))
    files = {"CLAUDE.md": "Answer in French.\n", "one.txt": chapter, "two.txt": chapter, "three.txt": "The end.\n"}
    async with task(tmp_path, files, environment=SMALL, counts=True) as work:
        work.story.summary = "one.txt and two.txt were read; three.txt is left."
        await work.turn(
            "Read the three chapters.",
            shown(note("Answer in French."), prompt("Read the three")).says("First.").calls(read("one.txt")),
            shown(result("830\t829: a line")).says("Second.").calls(read("two.txt")),
            # The window is full: the summary, and the last call with its result.
            shown(
                note("Answer in French."),
                prompt("three.txt is left.", str(tmp_path / "home")),
                earlier("Second."),
                earlier("two.txt"),
                result("1\t0: a line"),
            ).calls(read("three.txt")),
            shown(result("The end.")).calls(edit("three.txt", "The end.", "Fin.")),
            shown(result("has been updated successfully")).says("Voilà."),
        )
        assert work.text("three.txt") == "Fin.\n"


async def test_files_are_not_known_any_more_after_a_compaction(tmp_path: Path) -> None:
    files = {"a.py": "x = 1\n", "lib/CLAUDE.md": "Types everywhere.\n", "lib/b.py": "y = 1\n"}
    async with task(tmp_path, files) as work:
        await work.turn(
            "Read a.py and lib/b.py.",
            shown(prompt("Read a.py")).calls(read("a.py"), read("lib/b.py")),
            shown(result("x = 1"), result("y = 1"), note("Types everywhere.")).says("Done."),
        )
        work.story.summary = "Two files were read."
        await work.turn("/compact")
        await work.turn(
            "Set both to 2.",
            shown(prompt("Two files were read."), prompt("Set both to 2.")).calls(
                edit("a.py", "x = 1", "x = 2"), write("lib/b.py", "y = 2\n")
            ),
            shown(
                result("has been updated successfully").without("current in your context"),
                result("has been updated successfully", "current in your context"),
                note("Types everywhere."),
            ).says("Done."),
        )
        assert (work.text("a.py"), work.text("lib/b.py")) == ("x = 2\n", "y = 2\n")


async def test_a_cleared_conversation_knows_nothing(tmp_path: Path) -> None:
    async with task(tmp_path, {"CLAUDE.md": "Be brief.\n", "a.py": "x = 1\n"}) as work:
        await work.turn(
            "Read @a.py",
            shown(note("Be brief."), prompt("Read @a.py"), note("x = 1")).says("Done."),
        )
        await work.turn("/clear")
        work.story.main.start_over()
        await work.turn(
            "Set x to 2 in @a.py",
            shown(note("Be brief."), prompt("Set x to 2"), note("x = 1")).calls(edit("a.py", "x = 1", "x = 2")),
            shown(result("has been updated successfully")).says("Done."),
        )


async def test_a_session_is_resumed_in_a_second_process(tmp_path: Path) -> None:
    hook = {"hooks": [{"type": "command", "command": "echo The style is checked by the CI."}]}
    files = {
        "CLAUDE.md": "Be brief.\n",
        "lib/CLAUDE.md": "Types everywhere.\n",
        "lib/a.py": "x: int = 1\n",
        "spec.md": "x is 2\n",
    }
    settings = {"hooks": {"UserPromptSubmit": [hook]}}
    session = str(uuid4())
    async with process_task(tmp_path, files, session_id=session, settings=settings) as work:
        await work.turn(
            "Do what @spec.md says.",
            shown(note("Be brief."), prompt("Do what @spec.md says."), note("x is 2"), note("checked by the CI")).calls(
                bash("ls lib"), read("lib/a.py")
            ),
            shown(result("a.py"), result("x: int = 1"), note("Types everywhere.")).calls(
                edit("lib/a.py", "1", "2"), bash("exit 3")
            ),
            shown(result("has been updated successfully"), failure("Exit code 3")).says("x is 2 now."),
        )
    async with process_task(tmp_path, {}, work.story, resume=session, settings=settings) as work:
        await work.turn(
            "And now 3.",
            shown(prompt("And now 3."), note("checked by the CI")).calls(read("lib/a.py")),
            shown(result("x: int = 2")).calls(edit("lib/a.py", "2", "3")),
            shown(result("has been updated successfully")).says("Done."),
        )
        assert work.text("lib/a.py") == "x: int = 3\n"


async def test_a_background_command_reports_its_end(tmp_path: Path) -> None:
    async with task(tmp_path, {}) as work:
        os.mkfifo(gate := work.project / "gate")
        await work.turn(
            "Start the build in the background.",
            shown(prompt("Start the build")).calls(bash("cat gate", run_in_background=True)),
            shown(result("running in background", ".output")).says("It runs."),
        )
        await work.after(
            lambda: asyncio.get_running_loop().run_in_executor(None, gate.write_text, "built 12 files\n"),
            shown(note("<status>completed</status>", "not the user")).calls(
                with_found(r"<output-file>(\S+)</output-file>", read)
            ),
            shown(result("1\tbuilt 12 files")).says("The build is done: 12 files."),
        )
        await work.turn("Thanks.", shown(prompt("Thanks.")).says("You are welcome."))


@pytest.mark.parametrize(("command", "output"), [("/cost", "Total cost"), ("/context", "Context Usage")])
async def test_output_that_the_user_saw_is_known(tmp_path: Path, command: str, output: str) -> None:
    async with task(tmp_path, {}) as work:
        await work.turn("Hello.", shown(prompt("Hello.")).says("Hello!"))
        await work.turn(command)
        await work.turn("Is that much?", shown(note(command, output), prompt("Is that much?")).says("No."))
