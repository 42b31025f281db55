"""A `can_use_tool` callback that decides by rules."""

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


async def test_allowed_call_runs(tmp_path: Path):
    policy = RulePolicy(allow=["Bash(npm test:*)"], cwd=tmp_path)
    assert await policy(asked("Bash", command="npm test -- --bail")) == Allow()


async def test_denied_call_names_the_rule(tmp_path: Path):
    policy = RulePolicy(allow=["Bash"], deny=["Bash(rm:*)"], cwd=tmp_path)
    answer = await policy(asked("Bash", command="ls; rm x"))
    assert answer == Deny("Denied: the rule Bash(rm:*) denies it.")


async def test_undecided_call_is_denied_without_otherwise(tmp_path: Path):
    answer = await RulePolicy(cwd=tmp_path)(asked("Bash", command="make deploy"))
    assert answer == Deny("No rule allows this, and no one can be asked: no rule allows it.")


async def test_undecided_call_is_passed_to_otherwise(tmp_path: Path):
    seen: list[str] = []

    def otherwise(request: PermissionRequest) -> bool:
        seen.append(request.tool_name)
        return True

    policy = RulePolicy(deny=["Bash(rm:*)"], cwd=tmp_path, otherwise=otherwise)
    assert await policy(asked("Bash", command="npm publish")) is True
    assert await policy(asked("Bash", command="rm x")) != Allow()
    assert seen == ["Bash"]


async def test_rules_never_answer_user_questions(tmp_path: Path):
    policy = RulePolicy(allow=["AskUserQuestion"], mode="bypassPermissions", cwd=tmp_path)
    assert isinstance(await policy(asked("AskUserQuestion", questions=[])), Deny)


async def test_mode_and_folders_are_respected(tmp_path: Path):
    inside = RulePolicy(mode="acceptEdits", cwd=tmp_path, additional_directories=[str(tmp_path / "more")])
    assert await inside(asked("Write", file_path=str(tmp_path / "a.txt"), content="")) == Allow()
    assert isinstance(await inside(asked("Write", file_path="/etc/x", content="")), Deny)


def test_decision_has_reasons(tmp_path: Path):
    decision = RulePolicy(allow=["Bash(git:*)"], cwd=tmp_path).decide("Bash", {"command": "git push"})
    assert (decision.behavior, str(decision.rule and decision.rule.rule)) == ("allow", "Bash(git:*)")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"deny": ["Bash(rm"]}, "the closing bracket is missing"),
        ({"allow": "Bash"}, "must be a list of rules"),
        ({"allow": ["Read", 7]}, "7 is not a string"),
        ({"additional_directories": "/tmp"}, "must be a list"),
        ({"mode": "yolo"}, "must be one of"),
    ],
)
def test_invalid_arguments_are_rejected(options: dict[str, Any], problem: str):
    with pytest.raises(ValueError, match=problem):
        RulePolicy(**options)


def test_rule_policy_is_exported():
    assert handrail.RulePolicy is RulePolicy


def test_parser_is_imported_lazily():
    code = "import handrail, sys; handrail.RulePolicy(allow=['Read']); print('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_example_of_the_guide_works(capsys: pytest.CaptureFixture[str]):
    guide = Path(__file__).parents[2] / "docs" / "guides" / "permission-rules.md"
    example = guide.read_text().partition("```python\n")[2].partition("```")[0]
    exec(compile(example, "permission-rules.md", "exec"), {"__name__": "example"})
    printed = example.partition("decision.reason)  # ")[2].partition("\n")[0]
    assert capsys.readouterr().out == f"{printed}\n"
