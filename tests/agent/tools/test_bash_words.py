"""What the words of a command say."""

import pytest

from handrail.agent.tools.bash_words import expects_no_output, long_sleep, meaning_of


@pytest.mark.parametrize(
    "command", ["sleep 5; echo x", "sleep 24", "echo; sleep 99", "sleep 30 & wait", "sleepy 99", ""]
)
def test_short_pauses_and_other_commands_are_no_long_sleep(command: str):
    assert long_sleep(command) == ""


def test_what_would_follow_a_long_sleep_is_named():
    assert long_sleep("sleep 60 && make").startswith("Blocked: sleep 60 followed by: make.")


def test_only_silent_programs_let_no_output_be_expected():
    assert expects_no_output("mkdir -p a && cd a; touch b")
    assert not expects_no_output("touch a; ls")


def test_only_code_one_of_some_programs_is_an_answer():
    assert meaning_of("ls | grep x", 1) == "No matches found"
    assert meaning_of("diff a b", 1) == "Files differ"
    assert meaning_of("grep x", 2) == ""
    assert meaning_of("grep x; make", 1) == ""
