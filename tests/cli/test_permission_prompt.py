"""Permission questions at a real (pseudo) terminal: what is shown, what may be typed, what the CLI is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Screen, at_a_terminal
from tests.cli.words import cli, go_on, told

RULE = {"toolName": "Bash", "ruleContent": "touch *"}
SUGGESTIONS = [
    {"type": "addRules", "rules": [RULE], "behavior": "allow", "destination": "localSettings"},
    {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
]
EDITS = "file edits, and cp, mkdir, mv, rm, rmdir, tee, touch on files in the project, without asking, in this session"
LOCAL = "(always in this project, for you: .claude/settings.local.json)"
ASKS = f"""
    prompt()
    say(assistant("Let me.", use("Bash", command="touch a")))
    decide(command="touch a", suggestions={SUGGESTIONS})
    say(result())
"""


def answered(path: str) -> Any:
    (answer,) = told(path)
    return answer


ALLOWED = {"behavior": "allow", "updatedInput": {"command": "touch a"}}


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["y"], ALLOWED),
        (["YES"], ALLOWED),
        (["n not like this"], {"behavior": "deny", "message": "not like this"}),
        (["n", "because"], {"behavior": "deny", "message": "because"}),
        (["n", ""], {"behavior": "deny", "message": "The user did not allow this."}),
        (["q"], {"behavior": "deny", "message": "The user stopped the turn.", "interrupt": True}),
        (["", "maybe", "a3", "a", "y"], ALLOWED),
        (
            ["a2"],
            {
                **ALLOWED,
                "updatedPermissions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
            },
        ),
    ],
)
def test_typed_text_becomes_the_answer(tmp_path: Path, typed: list[str], answer: dict[str, object]):
    path = cli(tmp_path, ASKS)
    with at_a_terminal("run", "--cli", path, "go") as screen:
        screen.shows("Allow? ")
        for line in typed[:-1]:
            screen.type(line)
            screen.shows("? ")
        screen.type(typed[-1])
        screen.ends()
    assert answered(path) == {"toolUseID": "toolu_1", **answer}


def test_the_question_shows_what_would_run_and_how_broad_each_rule_is(tmp_path: Path):
    with at_a_terminal("run", "--cli", cli(tmp_path, ASKS), "go") as screen:
        shown = screen.shows("Allow? ")
        screen.type("y")
        assert screen.ends() == 0
    lines = [line.rstrip() for line in shown.splitlines()]
    assert lines.index("Let me.") < lines.index("┃ Bash")
    assert lines[lines.index("┃ Bash") :] == [
        "┃ Bash",
        "┃ touch a",
        "",
        "  y  yes, this once",
        f"  a1 yes, and from now on: every command that begins with `touch`  {LOCAL}",
        f"  a2 yes, and from now on: {EDITS}  (mode acceptEdits)",
        "  n  no  (`n REASON` tells the model why)",
        "  e  edit the input first",
        "  q  no, and stop the turn",
    ]


def rule(tool: str, content: str | None = None, destination: str = "session") -> dict[str, Any]:
    value = {"toolName": tool} | ({} if content is None else {"ruleContent": content})
    return {"type": "addRules", "rules": [value], "behavior": "allow", "destination": destination}


OFFERED = [
    (rule("Bash", "*"), "every command at all  (in this session)"),
    (rule("Bash"), "every command at all  (in this session)"),
    (rule("Bash", "npm test:*", "localSettings"), f"every command that begins with `npm test`  {LOCAL}"),
    (rule("Edit", "/src/**"), "changing or creating any file below src, in the project  (in this session)"),
    (rule("WebFetch", "domain:x.org"), "fetching anything from x.org  (in this session)"),
    ({"type": "setMode", "mode": "acceptEdits", "destination": "session"}, f"{EDITS}  (mode acceptEdits)"),
    (
        {"type": "addDirectories", "directories": ["/a"], "destination": "tomorrow"},
        "working in /a too  (saved in tomorrow)",
    ),
]
NOT_OFFERED: list[dict[str, Any]] = [
    {"type": "setMode", "mode": "bypassPermissions", "destination": "userSettings"},
    {"behavior": "allow", "message": "a form of an old version"},
    {"type": "tomorrow"},
    rule("Read", "!secret"),
]


def test_prompt_describes_each_suggestion_in_the_words_of_the_engine(tmp_path: Path):
    suggestions = [*NOT_OFFERED, *(suggestion for suggestion, _ in OFFERED)]
    script = ASKS.replace(str(SUGGESTIONS), str(suggestions))
    with at_a_terminal("run", "--cli", cli(tmp_path, script), "go") as screen:
        shown = screen.shows("Allow? ")
        screen.type("y")
        assert screen.ends() == 0
    lines = [line.rstrip() for line in shown.splitlines()]
    assert [line for line in lines if line.startswith("  a")] == [
        f"  a{number} yes, and from now on: {words}" for number, (_, words) in enumerate(OFFERED, 1)
    ]


def test_an_input_edited_as_json_is_shown_again_before_it_is_allowed(tmp_path: Path):
    path = cli(tmp_path, ASKS)
    with at_a_terminal("run", "--cli", path, "go", EDITOR="", VISUAL="") as screen:
        screen.shows("Allow? ")
        screen.type("e")
        screen.shows("JSON: ")
        screen.type("{not json")
        assert "That is not JSON" in screen.shows("Allow? ")
        screen.type("e")
        screen.shows("JSON: ")
        screen.type('{"command": "touch b"}')
        assert "┃ as edited:\n┃ touch b\n" in screen.shows("Allow? ")
        screen.type("y")
        assert screen.ends() == 0
    assert answered(path)["updatedInput"] == {"command": "touch b"}


def test_an_input_can_be_edited_in_the_editor(tmp_path: Path):
    editor = tmp_path / "my editor"
    editor.write_text("#!/bin/sh\nsed -i 's/touch a/touch c/' \"$2\"\n")
    editor.chmod(0o700)
    path = cli(tmp_path, ASKS)
    with at_a_terminal("run", "--cli", path, "go", EDITOR=f"'{editor}' -w", VISUAL="") as screen:
        screen.shows("Allow? ")
        screen.type("e")
        assert "┃ touch c\n" in screen.shows("Allow? ")
        screen.type("y")
        assert screen.ends() == 0
    assert answered(path)["updatedInput"] == {"command": "touch c"}


def test_an_editor_that_fails_changes_nothing(tmp_path: Path):
    path = cli(tmp_path, ASKS)
    with at_a_terminal("run", "--cli", path, "go", EDITOR="/bin/false", VISUAL="") as screen:
        screen.shows("Allow? ")
        screen.type("e")
        assert "Nothing was changed." in screen.shows("Allow? ")
        screen.type("y")
        screen.ends()
    assert answered(path)["updatedInput"] == {"command": "touch a"}


def test_a_long_input_is_cut_and_v_shows_all_of_it(tmp_path: Path):
    script = """
        prompt()
        decide("Write", file_path="/no/such/file", content="\\n".join(f"line {n}" for n in range(100)))
        say(result())
    """
    with at_a_terminal("run", "--cli", cli(tmp_path, script), "go") as screen:
        first = screen.shows("Allow? ")
        assert ("line 10" in first, "line 99" in first, "61 more lines; v shows them all" in first) == (
            True,
            False,
            True,
        )
        screen.type("v")
        assert "line 99" in screen.shows("Allow? ")
        screen.type("y")
        assert screen.ends() == 0


def test_a_hostile_command_cannot_draw_on_the_screen(tmp_path: Path):
    script = """
        prompt()
        decide(command="\\x1b[2J\\x1b[1;31m rm -rf / \\x9b \\u202e # \\r echo hi\\u2028", description="\\x1b[0m nice")
        say(result())
    """
    with at_a_terminal("run", "--cli", cli(tmp_path, script), "go", NO_COLOR="1") as screen:
        shown = screen.shows("Allow? ")
        screen.type("n no")
        screen.ends()
        assert b"\x1b" not in screen.raw
    assert "\\x1b[2J\\x1b[1;31m rm -rf / \\x9b \\u202e # \\r echo hi\\u2028" in shown


def test_text_typed_before_the_question_does_not_answer_it(tmp_path: Path):
    path = cli(tmp_path, ASKS.replace("prompt()", "prompt(); say(assistant('Ready.')); wait_for_go()"))
    with at_a_terminal("run", "--cli", path, "go") as screen:
        screen.shows("Ready.")
        screen.type("y")
        screen.shows("y")  # the terminal has it
        go_on(path)
        screen.shows("Allow? ")
        screen.type("n meant")
        screen.ends()
    assert answered(path)["message"] == "meant"


def test_the_end_of_input_means_no(tmp_path: Path):
    path = cli(tmp_path, ASKS)
    with at_a_terminal("run", "--cli", path, "go") as screen:
        screen.shows("Allow? ")
        screen.press("\x04")
        screen.ends()
    assert answered(path)["behavior"] == "deny"


def test_two_questions_at_once_are_asked_one_after_the_other(tmp_path: Path):
    script = """
        prompt()
        for id in ("one", "two"):
            fields = permission(command=f"touch {id}") | {"subtype": "can_use_tool", "tool_use_id": id}
            say({"type": "control_request", "request_id": id, "request": fields})
        tell([hear()["response"]["response"] for _ in "12"])
        say(result())
    """
    path = cli(tmp_path, script)
    with at_a_terminal("run", "--cli", path, "go") as screen:
        assert "touch two" not in screen.shows("Allow? ")
        screen.type("y")
        assert "touch two" in screen.shows("Allow? ")
        screen.type("n no")
        screen.ends()
    answers = {answer["toolUseID"]: answer["behavior"] for answer in answered(path)}
    assert answers == {"one": "allow", "two": "deny"}


def test_a_withdrawn_question_leaves_the_screen_to_the_next(tmp_path: Path):
    script = """
        prompt()
        fields = permission(command="touch a") | {"subtype": "can_use_tool"}
        say({"type": "control_request", "request_id": "one", "request": fields})
        wait_for_go()
        say({"type": "control_cancel_request", "request_id": "one"})
        say(assistant("Never mind."))
        say(result())
    """
    path = cli(tmp_path, script)
    with at_a_terminal("run", "--cli", path, "go") as screen:
        screen.shows("Allow? ")
        go_on(path)
        screen.shows("(the question was withdrawn)")
        screen.shows("Never mind.")
        assert screen.ends() == 0


@pytest.mark.parametrize(("typed", "behavior"), [("y", "allow"), ("n smaller steps", "deny")])
def test_a_plan_is_shown_whole_and_approved_or_sent_back(tmp_path: Path, typed: str, behavior: str):
    script = """
        prompt()
        say(assistant(use("ExitPlanMode", plan="# The way\\n1. first")))
        decide("ExitPlanMode")
        say(result())
    """
    path = cli(tmp_path, script)
    with at_a_terminal("run", "--cli", path, "go") as screen:
        shown = screen.shows("Go ahead with the plan? ")
        assert "┃ The plan\n┃ # The way\n┃ 1. first\n" in shown
        assert "edit the input" not in shown
        screen.type("e")
        screen.shows("Please type one of y, n, q.")
        screen.type(typed)
        screen.ends()
    assert answered(path)["behavior"] == behavior


def test_in_quiet_form_questions_are_still_asked(tmp_path: Path):
    def use(screen: Screen) -> str:
        screen.shows("Allow? ")
        screen.type("y")
        screen.ends()
        return screen.text

    with at_a_terminal("run", "-q", "--cli", cli(tmp_path, ASKS), "go") as screen:
        text = use(screen)
    assert text.endswith("Allow? y\ndone\n")
    assert "Let me." not in text
