from __future__ import annotations

import pytest

from handrail.agent.arguments import VERSION, read_arguments
from handrail.agent.errors import Refused

SESSION = "11111111-2222-4333-8444-555555555555"


def refused(*argv: str) -> str:
    with pytest.raises(Refused) as error:
        read_arguments(argv)
    assert error.value.code == 1
    return error.value.message


def test_a_value_follows_its_flag_or_an_equals_sign() -> None:
    assert read_arguments(["--model", "opus"]) == read_arguments(["--model=opus"])


def test_a_value_that_begins_with_a_dash_belongs_to_the_flag_before_it() -> None:
    assert read_arguments(["--append-system-prompt", "--- be brief"]).append_system_prompt == "--- be brief"


def test_words_without_a_flag_are_the_prompt() -> None:
    assert read_arguments(["-p", "what is", "this?"]).prompt == "what is this?"


def test_tools_may_be_parted_by_commas_or_blanks_but_not_within_brackets() -> None:
    given = read_arguments(["--allowedTools", "Bash(git log:*, x),Read Edit", "Glob"])
    assert given.allowed_tools == ("Bash(git log:*, x)", "Read", "Edit", "Glob")


def test_an_empty_list_of_tools_is_not_the_same_as_none() -> None:
    assert read_arguments(["--tools", ""]).tools == ()
    assert read_arguments([]).tools is None


def test_flags_that_only_sdks_pass_are_taken() -> None:
    read_arguments(["--await-initialize", "--workload", "x", "--debug-to-stderr", "--thinking-display", "full"])


def test_bytes_of_the_command_line_that_are_no_utf8_become_replacement_characters() -> None:
    assert read_arguments(["-p", "a\udcffb"]).prompt == "a\ufffdb"


def test_the_version_is_printed_and_nothing_else_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        read_arguments(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(VERSION)


def test_help_names_the_flags_that_people_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_arguments(["--help"])
    assert "--output-format" in capsys.readouterr().out


def test_an_unknown_flag_is_refused() -> None:
    assert refused("--no-such-flag") == "error: unknown option '--no-such-flag'"


def test_a_value_that_is_no_choice_is_refused_with_the_choices() -> None:
    assert "Allowed choices are acceptEdits" in refused("--permission-mode", "delegate")
    assert "Allowed choices are text, json, stream-json" in refused("--output-format", "xml")


def test_a_flag_without_its_value_is_refused() -> None:
    assert "--model" in refused("--model")


def test_a_number_that_is_none_is_refused() -> None:
    assert "--max-turns" in refused("--max-turns", "many")


@pytest.mark.parametrize("argv", [("--max-turns", "0"), ("--max-turns", "-1"), ("--max-budget-usd", "nan")])
def test_a_limit_that_limits_nothing_is_refused(argv: tuple[str, str]) -> None:
    assert f"{argv[0]} must be a number greater than 0" in refused(*argv)


def test_lines_need_verbose() -> None:
    assert "requires --verbose" in refused("--output-format", "stream-json")


def test_lines_in_need_lines_out() -> None:
    assert "requires output-format=stream-json" in refused("--input-format", "stream-json")


def test_a_session_id_must_be_a_uuid() -> None:
    assert "Must be a valid UUID" in refused("--session-id", "mine")


def test_an_own_id_goes_with_resume_only_when_it_forks() -> None:
    assert "--fork-session" in refused("--session-id", SESSION, "--continue")
    assert read_arguments(["--session-id", SESSION, "--resume", SESSION, "--fork-session"]).session_id == SESSION


def test_resume_without_an_id_says_how_to_list_sessions() -> None:
    assert "handrail sessions list" in refused("--resume")


def test_a_fallback_that_is_the_model_itself_is_refused() -> None:
    assert "cannot be the same" in refused("--model", "opus", "--fallback-model", "opus")
