"""Rules as a ready `can_use_tool`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail.client.callbacks import Allow, Deny, PermissionRequest
from handrail.client.rule_policy import RulePolicy


def asked(tool: str, **given: Any) -> PermissionRequest:
    return PermissionRequest(tool_name=tool, input=given, tool_use_id="t1")


async def test_what_a_rule_allows_may_run(tmp_path: Path):
    policy = RulePolicy(allow=["Bash(npm test:*)"], cwd=tmp_path)
    assert await policy(asked("Bash", command="npm test -- --bail")) == Allow()


async def test_what_a_rule_denies_is_denied_and_the_model_is_told_which(tmp_path: Path):
    policy = RulePolicy(allow=["Bash"], deny=["Bash(rm:*)"], cwd=tmp_path)
    answer = await policy(asked("Bash", command="ls; rm x"))
    assert answer == Deny("Denied: the rule Bash(rm:*) denies it.")


async def test_what_no_rule_decides_is_denied_where_nobody_can_be_asked(tmp_path: Path):
    answer = await RulePolicy(cwd=tmp_path)(asked("Bash", command="make deploy"))
    assert answer == Deny("No rule allows this, and nobody can be asked: no rule allows it.")


async def test_what_no_rule_decides_goes_to_the_function_for_the_rest(tmp_path: Path):
    seen: list[str] = []

    def otherwise(request: PermissionRequest) -> bool:
        seen.append(request.tool_name)
        return True

    policy = RulePolicy(deny=["Bash(rm:*)"], cwd=tmp_path, otherwise=otherwise)
    assert await policy(asked("Bash", command="npm publish")) is True
    assert await policy(asked("Bash", command="rm x")) != Allow()
    assert seen == ["Bash"]


async def test_questions_to_a_person_are_never_answered_by_rules(tmp_path: Path):
    policy = RulePolicy(allow=["AskUserQuestion"], mode="bypassPermissions", cwd=tmp_path)
    assert isinstance(await policy(asked("AskUserQuestion", questions=[])), Deny)


async def test_the_mode_and_the_folders_count(tmp_path: Path):
    inside = RulePolicy(mode="acceptEdits", cwd=tmp_path, additional_directories=[str(tmp_path / "more")])
    assert await inside(asked("Write", file_path=str(tmp_path / "a.txt"), content="")) == Allow()
    assert isinstance(await inside(asked("Write", file_path="/etc/x", content="")), Deny)


def test_a_policy_tells_why(tmp_path: Path):
    decision = RulePolicy(allow=["Bash(git:*)"], cwd=tmp_path).decide("Bash", {"command": "git push"})
    assert (decision.behavior, str(decision.rule and decision.rule.rule)) == ("allow", "Bash(git:*)")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"deny": ["Bash(rm"]}, "the closing bracket is missing"),
        ({"allow": "Bash"}, "must be a list of rules"),
        ({"allow": ["Read", 7]}, "7 is none"),
        ({"additional_directories": "/tmp"}, "must be a list"),
        ({"mode": "yolo"}, "must be one of"),
    ],
)
def test_what_cannot_be_read_is_refused_at_once(options: dict[str, Any], problem: str):
    with pytest.raises(ValueError, match=problem):
        RulePolicy(**options)


def test_the_policy_is_one_of_the_public_names():
    assert handrail.RulePolicy is RulePolicy


def test_no_parser_is_loaded_before_a_command_is_judged():
    code = "import handrail, sys; handrail.RulePolicy(allow=['Read']); print('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_example_of_the_guide_runs_and_says_what_it_claims(capsys: pytest.CaptureFixture[str]):
    guide = Path(__file__).parents[2] / "docs" / "guides" / "permission-rules.md"
    example = guide.read_text().partition("```python\n")[2].partition("```")[0]
    exec(compile(example, "permission-rules.md", "exec"), {"__name__": "example"})
    printed = example.partition("decision.reason)  # ")[2].partition("\n")[0]
    assert capsys.readouterr().out == f"{printed}\n"
