"""The quick reader of the command line, and argparse for what it leaves alone. Both read the same."""

from __future__ import annotations

import pytest

from handrail.agent.argument_parser import parser
from handrail.agent.arguments import quickly, read_arguments
from handrail.agent.errors import Refused

SERVE = "-p --verbose --input-format stream-json --output-format=stream-json"
PLAIN = (
    [],
    SERVE.split(),
    ["--allowedTools", "Bash(git:*),Read", "Edit", "--add-dir", "/a", "/b", "--add-dir=/c"],
    ["--allowed-tools=Read", "--tools", "", "--model=", "--debug", "--verbose"],
    ["--resume", "an id", "--continue", "-c", "--debug", "api", "--max-turns", "7", "--max-turns=8"],
    ["--system-prompt", "be short", "--system-prompt=a=b", "--mcp-config", '{"mcpServers":{}}', "--strict-mcp-config"],
    ["--permission-mode", "plan", "--setting-sources=", "--effort", "low"],
)
LEFT = (
    ["a prompt"],
    ["-p", "a prompt"],
    ["--verbose", "--", "a prompt"],
    ["--no-such-flag"],
    ["--verbose=yes"],
    ["--permission-mode", "delegate"],
    ["--model"],
    ["--add-dir"],
    ["--max-turns", "many"],
    ["--max-budget-usd", "1.5"],
    ["-rID"],
    ["-"],
)


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_the_quick_reader_and_argparse_agree(words: list[str]):
    slowly = {name: value for name, value in vars(parser().parse_args(words)).items() if value is not None}
    assert quickly(words) == slowly


@pytest.mark.parametrize("words", LEFT, ids=" ".join)
def test_unusual_words_are_left_to_argparse(words: list[str]):
    assert quickly(words) is None


def test_an_unknown_flag_is_refused_with_the_text_of_the_cli():
    with pytest.raises(Refused, match="unknown option '--no-such-flag'"):
        read_arguments(["--no-such-flag"])
