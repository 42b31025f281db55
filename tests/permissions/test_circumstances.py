"""The step that decides among several, and the defaults."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.permissions.circumstances import Circumstances, Decision, Step, strictest
from tests.permissions.bash_cases import ANCHORS


@pytest.mark.parametrize(
    ("behaviors", "index"),
    [
        ("allow", 0),
        ("allow ask deny", 2),
        ("deny ask allow deny", 0),
        ("allow ask ask", 1),
        ("ask allow", 0),
        ("allow allow", 0),
    ],
)
def test_the_first_of_the_strictest_steps_decides(behaviors: str, index: int):
    given: list[Any] = behaviors.split()
    steps = [Step(behavior, "", subject=str(place)) for place, behavior in enumerate(given)]
    assert strictest(iter(steps)) is steps[index]


def test_by_default_a_person_can_be_asked_and_nothing_is_bypassed():
    assert Circumstances(ANCHORS) == Circumstances(
        ANCHORS, mode="default", rules=(), bypass_available=False, can_prompt=True, trusted=True
    )


def test_a_step_and_a_decision_name_no_rule_and_no_path_of_themselves():
    assert Step("ask", "y") == Step("ask", "y", "other", None, None)
    assert Decision("ask", "y") == Decision("ask", "y", "other", None, (), (), None)
