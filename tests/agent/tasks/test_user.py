"""The user beside the agent: changes of files, refusals, interruptions, questions and mentions."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from tests.agent.stage import StagedHost
from tests.agent.tasks.story import bash, edit, failure, note, prompt, read, result, shown, task, write

JsonObject = dict[str, Any]


async def test_a_file_changed_by_the_user_in_between(tmp_path: Path) -> None:
    async with task(tmp_path, {"config.ini": "port = 80\nhost = a\n"}) as work:
        await work.turn(
            "What is the port?",
            shown(prompt("What is the port?")).calls(read("config.ini")),
            shown(result("1\tport = 80")).says("80."),
        )
        (work.project / "config.ini").write_text("port = 80\nhost = b\ndebug = yes\n")
        await work.turn(
            "Set the port to 8080.",
            shown(prompt("Set the port")).calls(write("config.ini", "port = 8080\nhost = a\n")),
            shown(failure("modified since read", "Read it again")).calls(read("config.ini")),
            shown(result("2\thost = b", "3\tdebug = yes")).calls(edit("config.ini", "port = 80\n", "port = 8080\n")),
            shown(result("has been updated successfully")).says("The port is 8080; your other changes are kept."),
        )
        assert work.text("config.ini") == "port = 8080\nhost = b\ndebug = yes\n"


async def test_a_refused_call_and_another_way(tmp_path: Path) -> None:
    def decide(request: JsonObject) -> JsonObject:
        if "rm" in request["input"].get("command", ""):
            return {"behavior": "deny", "message": "Not with rm: move it to old/ instead."}
        return {"behavior": "allow"}

    async with task(tmp_path, {"draft.txt": "old words\n"}, asks=True) as work:
        work.host.answers["can_use_tool"] = decide
        ended = await work.turn(
            "Get rid of draft.txt.",
            shown(prompt("Get rid")).calls(bash("rm draft.txt")),
            shown(failure("Not with rm: move it to old/ instead.")).calls(bash("mkdir old && mv draft.txt old/")),
            shown(result("no output")).calls(bash("ls old")),
            shown(result("draft.txt")).says("It is in old/ now."),
        )
        assert [denied["tool_input"]["command"] for denied in ended["permission_denials"]] == ["rm draft.txt"]
        assert work.text("old/draft.txt") == "old words\n"


async def test_an_interrupted_answer_is_continued(tmp_path: Path) -> None:
    def has_begun(host: StagedHost) -> bool:
        return any("There are three" in str(line["message"]) for line in host.of("assistant"))

    async with task(tmp_path, {}) as work:
        ended = await work.interrupted(
            "Explain the design.",
            has_begun,
            shown(prompt("Explain the design.")).says("There are three parts.").hangs(),
        )
        assert ended["subtype"] == "error_during_execution"
        await work.turn(
            "Shorter, please.",
            shown(prompt("[Request interrupted by user]"), prompt("Shorter, please.")).says("Three parts: a, b, c."),
        )


async def test_interrupted_commands_are_continued(tmp_path: Path) -> None:
    async with task(tmp_path, {"a.txt": "one\n"}) as work:
        await work.interrupted(
            "Start the server and read a.txt.",
            lambda host: host.of("assistant"),
            shown(prompt("Start the server"))
            .says("Starting.")
            .calls(read("a.txt"), bash("tail -f /dev/null"), read("a.txt")),
        )
        await work.turn(
            "Only read it.",
            shown(
                result("1\tone"),
                failure("does not want this tool"),
                failure("does not want this tool"),
                prompt("[Request interrupted by user for tool use]"),
                prompt("Only read it."),
            ).says("It says: one."),
        )


async def test_a_question_is_answered_without_an_edit(tmp_path: Path) -> None:
    source = "import sys\n\nTIMEOUT = 30\n\n\ndef main():\n    sys.exit(TIMEOUT)\n"
    async with task(tmp_path, {}) as work:
        work.commit("First", {"app.py": source})
        before = work.git("rev-parse", "HEAD")
        await work.turn(
            "Where is the timeout set?",
            shown(prompt("Where is the timeout")).calls(bash("grep -rn TIMEOUT --include=*.py .")),
            shown(result("./app.py:3:TIMEOUT = 30", "./app.py:7:")).says("In app.py:3, to 30 seconds."),
        )
        assert work.git("rev-parse", "HEAD") == before
        assert work.git("status", "--short") == ""


async def test_a_mentioned_file_is_shown_once(tmp_path: Path) -> None:
    files = {"spec.md": "# Spec\nColours are hex.\n", "docs/CLAUDE.md": "Docs are in German.\n", "docs/a.md": "Hallo\n"}
    async with task(tmp_path, files) as work:
        await work.turn(
            "Do what @spec.md says.",
            shown(prompt("Do what @spec.md says."), note("spec.md", "2\tColours are hex.")).calls(
                write("colour.py", "RED = '#f00'\n")
            ),
            shown(result("File created successfully")).says("Done."),
        )
        await work.turn(
            "Is @spec.md clear, and @docs/a.md?",
            shown(prompt("Is @spec.md clear"), note("docs/a.md", "1\tHallo"), note("Docs are in German.")).says("Yes."),
        )
        (work.project / "spec.md").write_text("# Spec\nColours are names.\n")
        await work.turn(
            "I changed @spec.md.",
            shown(prompt("I changed @spec.md."), note("2\tColours are names.")).calls(
                edit("spec.md", "names", "words"), write("colour.py", "RED = 'red'\n")
            ),
            shown(result("has been updated successfully"), result("has been updated successfully")).says("Done."),
        )
        assert work.text("colour.py") == "RED = 'red'\n"


async def test_a_prompt_that_arrives_while_a_command_runs(tmp_path: Path) -> None:
    async with task(tmp_path, {}) as work:
        os.mkfifo(gate := work.project / "gate")
        work.story.main.steps.extend(
            [
                shown(prompt("Run the build.")).calls(bash("cat gate")),
                shown(result("built"), prompt("Then say the time it took.")).says("Built in a second."),
            ]
        )
        await work.host.say("Run the build.")
        await work.host.until_line("assistant")
        await work.host.say("Then say the time it took.")
        await asyncio.to_thread(gate.write_text, "built\n")
        await work.host.result()
        work.story.finish()
