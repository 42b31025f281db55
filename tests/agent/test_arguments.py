"""The command line: flags, their values, and combinations that are refused."""

from __future__ import annotations

import pytest

from handrail.agent.arguments import VERSION, Arguments, is_subcommand, read_arguments
from handrail.agent.errors import Refused
from handrail.agent.flags import FLAGS, Flag

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


def test_tools_are_split_at_commas_and_blanks_outside_parentheses() -> None:
    given = read_arguments(["--allowedTools", "Bash(git log:*, x),Read Edit", "Glob"])
    assert given.allowed_tools == ("Bash(git log:*, x)", "Read", "Edit", "Glob")


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        (["Bash(npm:*", "Write"], ("Bash(npm:*", "Write")),
        (["Bash(npm:*,Write"], ("Bash(npm:*,Write",)),
        (["Bash(npm:* Write"], ("Bash(npm:* Write",)),
        (["Bash(npm (a", "Write"], ("Bash(npm (a", "Write")),
        (["Bash(npm (a b)),Write"], ("Bash(npm (a b))", "Write")),
        (["Bash)", "Write"], ("Bash)", "Write")),
    ],
)
@pytest.mark.parametrize("flag", ["--allowedTools", "--disallowedTools"])
def test_a_rule_with_an_open_bracket_does_not_become_a_rule_for_the_whole_tool(
    flag: str, words: list[str], rules: tuple[str, ...]
) -> None:
    given = read_arguments([flag, *words])
    assert given.allowed_tools + given.disallowed_tools == rules


def test_an_empty_list_of_tools_differs_from_no_list() -> None:
    assert read_arguments(["--tools", ""]).tools == ()
    assert read_arguments([]).tools is None


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    assert read_arguments(["-p", "a\udcffb"]).prompt == "a\ufffdb"


def test_version_is_printed_without_a_session(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        read_arguments(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(VERSION)


def test_help_lists_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_arguments(["--help"])
    printed = capsys.readouterr().out
    assert [name for flag in FLAGS for name in flag.names.split() if name not in printed] == []
    assert all(flag.help for flag in FLAGS)


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.state == "refused"], ids=lambda flag: flag.name)
def test_unsupported_flags_are_refused_by_name(flag: Flag) -> None:
    message = refused("-p", "hi", flag.name)
    assert f"'{flag.name}' is not supported" in message
    assert flag.why in message


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.state == "notice"], ids=lambda flag: flag.name)
def test_flags_without_effect_leave_a_notice(flag: Flag) -> None:
    [notice] = read_arguments(["-p", "hi", flag.name]).notices
    assert flag.name in notice
    assert flag.why in notice


def test_every_working_flag_sets_a_field() -> None:
    without = {"no_chrome"}  # browsers are not supported anyway
    fields = {flag.field for flag in FLAGS if flag.state == "works"}
    assert fields - without <= set(Arguments.__struct_fields__)
    assert set(Arguments.__struct_fields__) - fields == {"prompt", "resume_given", "notices"}


@pytest.mark.parametrize("words", [["mcp", "list"], ["plugin", "install", "x"], ["doctor"], ["update", "--help"]])
def test_subcommands_are_recognized(words: list[str]) -> None:
    assert is_subcommand(words)


@pytest.mark.parametrize("words", [[], ["-p", "mcp"], ["mcp", "-p"], ["mcp list"], ["a prompt"]])
def test_prompts_are_not_subcommands(words: list[str]) -> None:
    assert not is_subcommand(words)


def test_a_subcommand_after_flags_is_refused_rather_than_sent_as_a_prompt() -> None:
    assert "must follow the sub-command" in refused("--model", "opus", "mcp", "list")


def test_words_after_two_dashes_are_the_prompt() -> None:
    assert read_arguments(["-p", "--", "--not-a-flag"]).prompt == "--not-a-flag"


def test_an_unknown_flag_is_refused() -> None:
    assert refused("--no-such-flag") == "error: unknown option '--no-such-flag'"


def test_an_invalid_choice_is_refused_with_the_choices() -> None:
    assert "Allowed choices are acceptEdits" in refused("--permission-mode", "delegate")
    assert "Allowed choices are text, json, stream-json" in refused("--output-format", "xml")


def test_a_flag_without_its_value_is_refused() -> None:
    assert "--model" in refused("--model")


def test_an_invalid_number_is_refused() -> None:
    assert "--max-turns" in refused("--max-turns", "many")


@pytest.mark.parametrize("number", ["0", "-1"])
def test_no_more_than_zero_turns_means_no_limit(number: str) -> None:
    assert read_arguments(["--max-turns", number]).max_turns is None


@pytest.mark.parametrize("amount", ["0", "nan", "-2"])
def test_a_budget_that_is_not_positive_is_refused(amount: str) -> None:
    assert "--max-budget-usd must be a number greater than 0" in refused("--max-budget-usd", amount)


@pytest.mark.parametrize("tokens", ["0", "-5", "many"])
def test_a_task_budget_that_is_not_positive_is_refused(tokens: str) -> None:
    assert "--task-budget" in refused("--task-budget", tokens)


@pytest.mark.parametrize(
    "flag",
    [
        "--replay-user-messages",
        "--include-partial-messages",
        "--await-initialize",
        "--managed-settings-in-initialize",
    ],
)
def test_flags_for_hosts_need_stream_json(flag: str) -> None:
    assert flag in refused("-p", "hi", flag)


def test_resuming_at_a_message_needs_a_session() -> None:
    assert "requires --resume" in refused("--resume-session-at", SESSION)
    assert "requires --resume-session-at" in refused("--resume", SESSION, "--resume-drops-turn", SESSION)


def test_lines_need_verbose() -> None:
    assert "requires --verbose" in refused("--output-format", "stream-json")


def test_lines_in_need_lines_out() -> None:
    assert "requires output-format=stream-json" in refused("--input-format", "stream-json")


def test_a_session_id_must_be_a_uuid() -> None:
    assert "Must be a valid UUID" in refused("--session-id", "mine")


def test_a_session_id_with_resume_needs_fork_session() -> None:
    assert "--fork-session" in refused("--session-id", SESSION, "--continue")
    assert read_arguments(["--session-id", SESSION, "--resume", SESSION, "--fork-session"]).session_id == SESSION


def test_resume_without_an_id_says_how_to_list_sessions() -> None:
    assert "handrail sessions list" in refused("--resume")


@pytest.mark.parametrize("fallback", ["opus", "haiku, opus"])
def test_a_fallback_that_is_the_model_itself_leaves_a_notice(fallback: str) -> None:
    (notice,) = read_arguments(["--model", "opus", "--fallback-model", fallback]).notices
    assert "--fallback-model opus has no effect" in notice


def test_an_unknown_effort_is_ignored_with_a_notice() -> None:
    found = read_arguments(["--effort", "huge"])
    assert found.effort == ""
    assert "--effort 'huge'" in found.notices[0]


def test_an_unknown_setting_source_is_refused() -> None:
    assert "Invalid setting source: nonsense" in refused("--setting-sources", "user,nonsense")
    assert read_arguments(["--setting-sources", ""]).setting_sources == ""


def test_a_number_with_decimals_is_cut() -> None:
    assert read_arguments(["--max-turns", "1.5"]).max_turns == 1


def test_fallback_models_may_be_a_list() -> None:
    assert read_arguments(["--fallback-model", "haiku, sonnet,"]).fallback_models == ("haiku", "sonnet")
