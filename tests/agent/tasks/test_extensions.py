"""What the project brings: skills, commands, servers, hooks; and subagents and structured answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from handrail.agent.models.script import tool_use
from tests.agent.mcp.servers import child
from tests.agent.tasks.story import bash, edit, failure, note, process_task, prompt, read, result, shown, task, write

JsonObject = dict[str, Any]


def hooks(**commands: str) -> tuple[str, str]:
    """The flags for a command of each event."""
    given = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}
    return "--settings", json.dumps({"hooks": given})


def adds(event: str, context: str) -> str:
    """A hook command that adds a context."""
    output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}
    return f"cat >/dev/null; echo '{json.dumps(output)}'"


async def test_a_skill_is_loaded_and_followed(tmp_path: Path) -> None:
    skill = (
        "---\nname: changelog\ndescription: Writes an entry of the changelog\n---\nOne line per change, newest first.\n"
    )
    files = {".claude/skills/changelog/SKILL.md": skill, "CHANGELOG.md": "- First\n"}
    async with process_task(tmp_path, files) as work:
        await work.turn(
            "Note in the changelog that tea was added.",
            shown(prompt("Note in the changelog")).calls(tool_use("Skill", skill="changelog")),
            shown(
                result("Launching skill: changelog").without("One line"),
                prompt("One line per change", ".claude/skills/changelog"),
            ).calls(read("CHANGELOG.md")),
            shown(result("1\t- First")).calls(write("CHANGELOG.md", "- Tea added\n- First\n")),
            shown(result("has been updated successfully")).calls(tool_use("Skill", skill="release")),
            shown(failure("Unknown skill: release", "changelog")).says("Noted."),
        )
        assert work.text("CHANGELOG.md") == "- Tea added\n- First\n"


async def test_a_slash_command_becomes_a_prompt(tmp_path: Path) -> None:
    command = (
        "---\ndescription: Fix an issue\n---\n"
        "Fix issue $ARGUMENTS. The branch is !`git branch --show-current`. See @rules.md\n"
    )
    files = {"../home/.claude/commands/fix.md": command, "rules.md": "Tests first.\n"}
    async with task(tmp_path, files) as work:
        work.commit("First")
        await work.turn(
            "/fix 12 today",
            shown(
                prompt("/fix", "12 today"), prompt("Fix issue 12 today. The branch is main."), note("1\tTests first.")
            ).calls(write("test_12.py", "assert True\n")),
            shown(result("File created successfully")).says("There is a test for it."),
        )
        assert work.text("test_12.py") == "assert True\n"


async def test_a_tool_of_an_mcp_server(tmp_path: Path) -> None:
    body = """
TOOLS = [tool("issue", inputSchema={"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]})]
def called(message):
    id = message["params"]["arguments"]["id"]
    answer(message, text(f"Issue {id}: the colour is red") if id == 7 else {**text(f"no issue {id}"), "isError": True})
"""
    servers = json.dumps({"mcpServers": {"tracker": child(tmp_path, body)}})
    async with task(tmp_path, {"style.css": "p { color: red }\n"}, "--mcp-config", servers) as work:
        await work.turn(
            "Do issue 7.",
            shown(prompt("Do issue 7.")).calls(tool_use("mcp__tracker__issue", id=70)),
            shown(failure("no issue 70")).calls(tool_use("mcp__tracker__issue", id=7)),
            shown(result("Issue 7: the colour is red")).calls(edit("style.css", "red", "blue")),
            shown(result("has been updated successfully")).says("It is blue."),
        )
        assert work.text("style.css") == "p { color: blue }\n"


async def test_hooks_that_fail_or_object_are_heard(tmp_path: Path) -> None:
    check = (
        "name=secret; input=$(cat); case $input in *secret*) echo Never touch $name files. >&2; exit 2;; esac;"
        " echo 'The hook itself is broken.' >&2; exit 1"
    )
    style = "cat >/dev/null; word=TODO; grep -q $word a.py && echo a.py has a $word. >&2 && exit 2; exit 0"
    async with task(tmp_path, {"a.py": "x = 1\n"}, *hooks(PreToolUse=check, PostToolUse=style)) as work:
        await work.turn(
            "Add a note to a.py and write secret.txt.",
            shown(prompt("Add a note")).calls(read("a.py"), write("secret.txt", "s")),
            shown(result("x = 1").without("broken"), failure("Never touch secret files.")).calls(
                edit("a.py", "x = 1", "x = 1  # TODO"), bash("echo done")
            ),
            shown(
                result("has been updated successfully"),
                result("done"),
                note("PostToolUse:Edit", "a.py has a TODO."),
                note("PostToolUse:Bash", "a.py has a TODO."),
            ).calls(edit("a.py", "  # TODO", "")),
            shown(result("has been updated successfully")).says("Without the note."),
        )
        assert work.text("a.py") == "x = 1\n"
        assert not (work.project / "secret.txt").exists()


async def test_contexts_of_hooks_are_marked_as_such(tmp_path: Path) -> None:
    flags = hooks(
        SessionStart=adds("SessionStart", "The week is frozen."),
        UserPromptSubmit=adds("UserPromptSubmit", "Ticket 5."),
        PreToolUse=adds("PreToolUse", "Mind the size."),
    )
    async with task(tmp_path, {"a.py": "x = 1\n"}, *flags) as work:
        await work.turn(
            "Read a.py twice.",
            shown(
                note("SessionStart", "The week is frozen."),
                prompt("Read a.py twice."),
                note("UserPromptSubmit hook", "Ticket 5."),
            ).calls(read("a.py"), read("a.py")),
            shown(
                result("x = 1"),
                result("x = 1"),
                note("PreToolUse:Read", "Mind the size."),
                note("PreToolUse:Read", "Mind the size."),
            ).says("Twice."),
        )


async def test_a_stop_hook_that_always_objects_is_given_up(tmp_path: Path) -> None:
    async with task(
        tmp_path, {}, *hooks(Stop="cat >/dev/null; tests=red; echo The tests are $tests. >&2; exit 2")
    ) as work:
        again = shown(prompt("Stop hook feedback", "The tests are red.")).says("I cannot fix them.")
        await work.turn("Finish.", shown(prompt("Finish.")).says("Done."), *[again] * 8)


async def test_a_subagent_searches_and_reports(tmp_path: Path) -> None:
    files = {"CLAUDE.md": "Use tabs.\n", "lib/CLAUDE.md": "No globals.\n", "lib/a.py": "LIMIT = 3\n"}
    async with task(tmp_path, files) as work:
        work.subagent(
            "Find where the limit is set.",
            shown(note("Use tabs."), prompt("Find where the limit is set.")).calls(bash("grep -rn LIMIT lib")),
            shown(result("lib/a.py:1:LIMIT = 3")).calls(read("lib/a.py")),
            shown(result("1\tLIMIT = 3"), note("No globals.")).says("It is set in lib/a.py:1."),
        )
        search = tool_use(
            "Task", description="Find the limit", prompt="Find where the limit is set.", run_in_background=False
        )
        await work.turn(
            "Raise the limit to 5.",
            shown(note("Use tabs."), prompt("Raise the limit")).calls(search),
            shown(result("Report of the subagent", "It is set in lib/a.py:1.")).calls(edit("lib/a.py", "3", "5")),
            # The main thread has not read this folder's notes: those of the subagent are not its own.
            shown(result("has been updated successfully"), note("No globals.")).says("The limit is 5."),
        )
        assert work.text("lib/a.py") == "LIMIT = 5\n"


async def test_two_subagents_work_side_by_side(tmp_path: Path) -> None:
    async with task(tmp_path, {"a.txt": "1\n", "b.txt": "2\n"}) as work:
        for name, number in (("a", "1"), ("b", "2")):
            work.subagent(
                f"Read {name}.txt",
                shown(prompt(f"Read {name}.txt")).calls(read(f"{name}.txt")),
                shown(result(f"1\t{number}")).says(f"{name} is {number}."),
            )
        calls = [
            tool_use("Task", description=f"Read {name}", prompt=f"Read {name}.txt", run_in_background=False)
            for name in ("a", "b")
        ]
        await work.turn(
            "What is in both files?",
            shown(prompt("What is in both")).calls(*calls),
            shown(result("a is 1."), result("b is 2.")).says("1 and 2."),
        )


async def test_a_structured_answer(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"files": {"type": "integer"}, "kind": {"enum": ["code", "text"]}},
        "required": ["files", "kind"],
    }
    async with task(tmp_path, {"a.txt": "", "b.txt": ""}, "--json-schema", json.dumps(schema)) as work:
        ended = await work.turn(
            "Count the files.",
            shown(prompt("Count the files.")).calls(bash("ls | wc -l")),
            shown(result("2")).calls(tool_use("StructuredOutput", files="two", kind="text")),
            shown(failure("files")).says("There are two."),
            shown(prompt("StructuredOutput")).calls(tool_use("StructuredOutput", files=2, kind="text")),
        )
        assert ended["structured_output"] == {"files": 2, "kind": "text"}
