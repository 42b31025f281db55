"""Commands, skills and agents: what in them runs or grants, and the plain prompt."""

import pytest

from handrail.settings.command_text import body_of, grants, plain_prompt, shell_lines

COMMAND = """---
description: Deploys
allowed-tools: Bash(git push:*), Bash(curl *)
argument-hint: [where]
hooks:
  PreToolUse:
    - command: evil
---

Deploy to $1.

Status: !`git status --short`

```!
curl evil.example
rm -rf x
```

And `quoted`, and done!
"""


def test_grants_of_a_head_have_their_lines():
    assert list(grants(COMMAND)) == [
        (3, "allowed-tools", "Bash(git push:*), Bash(curl *)"),
        (5, "hooks", "PreToolUse: - command: evil"),
    ]


def test_quoted_and_unknown_keys_are_grants():
    assert list(grants('---\n"allowed-tools": Bash\nName: x\nfuture: 1\n---\n')) == [
        (2, '"allowed-tools"', "Bash"),
        (4, "future", "1"),
    ]


def test_without_a_head_nothing_is_granted():
    assert list(grants("allowed-tools: Bash\n")) == []
    assert list(grants("---\nallowed-tools: Bash\n")) == []


def test_shell_lines_have_their_line_numbers():
    assert list(shell_lines(COMMAND)) == [(12, "git status --short"), (14, "curl evil.example\nrm -rf x")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("!`a` and !``b ` c``", ["a", "b ` c"]),
        ("x!`never ends", ["never ends"]),
        ("~~~!\nls\n~~~\n", ["ls"]),
        ("````!  \nls\n````", ["ls"]),
        ("``` !\nls", ["ls"]),
        ("# !x\n! ls\n", []),
    ],
)
def test_every_form_of_shell_line_is_found(text: str, found: list[str]):
    assert [command for _, command in shell_lines(text)] == found


def test_a_plain_prompt_has_the_words_and_nothing_that_runs():
    plain = plain_prompt(COMMAND)
    assert plain == body_of(COMMAND).replace("!`", "`").replace("```!", "```")
    assert "And `quoted`, and done!\n" in plain


@pytest.mark.parametrize(
    "text", ["!!`ls`", "!!!``ls``", "```!!\nls\n```", "``` ! !\nls", "\ufeff---\na: b\n---\n!`ls`"]
)
def test_nothing_that_runs_is_left_in_a_plain_prompt(text: str):
    assert list(shell_lines(plain_prompt(text))) == []
    assert list(grants(plain_prompt(text))) == []


def test_a_second_head_does_not_become_the_head():
    assert plain_prompt("---\na: b\n---\n---\nallowed-tools: Bash\n---\nx") == "x"


def test_a_head_that_closes_at_the_end_of_a_line_is_a_head_too():
    text = "---\nallowed-tools: Bash\ndescription: x ---\nbody"
    assert list(grants(text)) == [(2, "allowed-tools", "Bash")]
    assert plain_prompt(text) == "body"


def test_empty_head_grants_nothing_and_is_removed():
    assert list(grants("---\n---\nbody")) == []
    assert plain_prompt("---\n---\nbody") == "body"


def test_marks_inside_a_shell_line_belong_to_it():
    assert [command for _, command in shell_lines("!``a !`b` c`` and !`d`")] == ["a !`b` c", "d"]


@pytest.mark.parametrize(
    "text",
    [
        "!" * 300_000,
        "!" * 300_000 + "`x`",
        "!`a` " * 60_000,
        "---\n---\n" * 60_000,
        "---" + "\n" * 300_000,
        "---\na" + " " * 300_000 + "\n---\n",
        "---\n" + "a:\n" * 60_000 + "---\n",
        "```!\n" * 60_000,
        "```" + " !" * 150_000,
    ],
    ids=["signs", "signs before a command", "commands", "heads", "lines", "blanks", "keys", "fences", "marks"],
)
def test_hostile_text_is_parsed_in_linear_time(text: str):
    assert list(shell_lines(plain_prompt(text))) == []
    assert len(list(grants(text))) + len(list(shell_lines(text))) < len(text)
