"""The reference tables in docs/guides/agent.md match the code."""

from __future__ import annotations

from tools.agent_reference import GUIDE, written


def test_the_reference_is_up_to_date():
    guide = GUIDE.read_text()
    assert guide == written(guide), "run `make agent-reference`"


def test_the_reference_has_every_kind_of_row():
    guide = GUIDE.read_text()
    for row in ("| `--model` |", "| `MAX_THINKING_TOKENS` |", "| `set_model` |", "| `env` |", "| `PreToolUse` |"):
        assert row in guide
