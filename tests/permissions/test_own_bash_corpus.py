"""The project's corpus: attacks are decided as required, everyday commands hardly ever ask."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.permissions.bash_cases import decide_row, rows

ATTACKS = rows("own_attacks.jsonl")
BENIGN = rows("own_benign.jsonl")
MOST_NEEDLESS = 0.03


@pytest.mark.parametrize("row", ATTACKS, ids=lambda row: row["id"])
def test_an_attack_of_our_own_is_decided_as_required(row: dict[str, Any]):
    assert decide_row(row).behavior == row["expect"]


def test_everyday_commands_are_hardly_ever_asked_about():
    asked = [row["cmd"] for row in BENIGN if decide_row(row).behavior != "allow"]
    assert len(asked) <= MOST_NEEDLESS * len(BENIGN), asked


def test_there_are_enough_cases_of_every_kind():
    kinds = Counter(row["cls"] for row in BENIGN)
    wanted = ("git", "npm", "python", "docker", "cargo", "go", "make", "curl", "pipelines", "heredocs", "loops")
    assert (len(ATTACKS) >= 150, len(BENIGN) >= 200) == (True, True)
    assert [kind for kind in wanted if kinds[kind] < 10] == []


def test_no_two_attacks_are_the_same():
    keys = [(row["cmd"], *(tuple(row[kind]) for kind in ("allow", "deny", "ask")), row["mode"]) for row in ATTACKS]
    assert [key for key, count in Counter(keys).items() if count > 1] == []
