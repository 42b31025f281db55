"""A short race: paths that are swapped while they are opened never lead outside. `make races` runs the long one."""

from __future__ import annotations

import os
from pathlib import Path

from tests.files.race import build, is_good, race


def test_swapped_paths_never_lead_outside(tmp_path: Path):
    folder = build(Path(os.path.realpath(tmp_path)))
    rounds = (race(300, folder) for _ in range(40))
    # On one core, the swapping process may not run for a while. Then another round is needed.
    found = next((found for found in rounds if found["naive"]["escapes"]), None)
    assert found is not None
    assert is_good(found, enough=1)


def test_run_without_escapes_of_the_usual_check_is_not_good():
    tallies = {"naive": {"escapes": 99}, "openat2": {"escapes": 0}}
    assert not is_good(tallies)
    assert not is_good({**tallies, "naive": {"escapes": 100}, "walk": {"escapes": 1}})
