from __future__ import annotations

import pytest

from handrail.agent.extensions.command import Command
from handrail.agent.slash_commands.expansion import ShellLine, expansion_of


def command(body: str, *, trusted: bool = True) -> Command:
    return Command("x", body=body, trusted=trusted, grants=("Bash(ls:*)",) if trusted else ())


@pytest.mark.parametrize(
    ("body", "arguments", "text"),
    [
        ("Look at $ARGUMENTS.", "a b", "Look at a b."),
        ("First $0, second $1.", "a b", "First a, second b."),
        ("First $0, third $2.", "a 'b c' d", "First a, third d."),
        ("First $0, second $1.", "a", "First a, second $1."),
        ("Second $1, $ARGUMENTS[7].", "a", "Second $1, $ARGUMENTS[7].\n\nARGUMENTS: a"),
        (r"Costs \$0 or \$ARGUMENTS, not $0x.", "a", "Costs $0 or $ARGUMENTS, not $0x.\n\nARGUMENTS: a"),
        ("Word $ARGUMENTS[1].", "a 'b c'", "Word b c."),
        ("No place.", "a b", "No place.\n\nARGUMENTS: a b"),
        ("No place.", "", "No place."),
        ("It costs $100.", "", "It costs $100."),
        ("Odd $0", "it's", "Odd it's"),
    ],
)
def test_arguments_are_filled_in(body: str, arguments: str, text: str) -> None:
    assert expansion_of(command(body), arguments).text == text


def test_shell_lines_are_found_and_arguments_in_them_are_quoted() -> None:
    found = expansion_of(command("Log: !`git show $0`\nand\n```!\nls $ARGUMENTS\n```\nend"), "'a; rm b' c")
    assert [part for part in found.parts if isinstance(part, ShellLine)] == [
        ShellLine("git show 'a; rm b'"),
        ShellLine("ls 'a; rm b' c"),
    ]
    assert found.words == "Log: \nand\n\nend"


def test_arguments_cannot_add_a_shell_line() -> None:
    found = expansion_of(command("Say $ARGUMENTS"), "!`touch x`")
    assert not any(isinstance(part, ShellLine) for part in found.parts)
    assert found.text == "Say !`touch x`"


def test_folder_of_a_skill_is_filled_in_and_quoted_in_shell_lines() -> None:
    skill = Command("x", body="In ${CLAUDE_SKILL_DIR}: !`ls ${CLAUDE_SKILL_DIR}`", trusted=True, folder="/a b/!`x`")
    found = expansion_of(skill, "")
    assert [part for part in found.parts if isinstance(part, ShellLine)] == [ShellLine("ls '/a b/!`x`'")]
    assert found.words.endswith("In /a b/!`x`: ")


def test_untrusted_command_is_plain_text() -> None:
    found = expansion_of(command("---\nallowed-tools: Bash\n---\nLog: !`git log` $0", trusted=False), "now")
    assert found.parts == ("Log: `git log` now",)
    assert found.grants == ()
    assert found.model == ""
