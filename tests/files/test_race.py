"""A short race: what is exchanged while it is opened never leads out. `make races` runs the long one."""

from __future__ import annotations

import os
from pathlib import Path

from tests.files.race import build, is_good, race


def test_no_raced_open_leads_out_where_the_usual_check_does(tmp_path: Path):
    folder = build(Path(os.path.realpath(tmp_path)))
    rounds = (race(300, folder) for _ in range(40))
    # One core may run long without a change: then the race has not begun, and another round is needed.
    found = next((found for found in rounds if found["naive"]["escapes"]), None)
    assert found is not None
    assert is_good(found, enough=1)


def test_a_run_without_escapes_of_the_usual_check_shows_nothing():
    tallies = {"naive": {"escapes": 99}, "openat2": {"escapes": 0}}
    assert not is_good(tallies)
    assert not is_good({**tallies, "naive": {"escapes": 100}, "walk": {"escapes": 1}})
