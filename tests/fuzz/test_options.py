"""A short run of the option fuzzer: allowed command lines have no effect, and effects would be detected."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cage.attack_range import range_problem
from tests.cage.caged import needs_guard
from tests.fuzz.documented_options import documented_options

FUZZER = Path(__file__).with_name("options.py")
PROBLEM = range_problem()
runnable = pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM or "it can run")


def fuzz(*arguments: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, str(FUZZER), "--workers", "1", *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return ended.returncode, json.loads(ended.stdout)


@needs_guard
@runnable
@pytest.mark.slow
def test_allowed_command_lines_have_no_effect():
    code, report = fuzz("--count", "200", "--seed", "30", "--cage-every", "2")
    assert (code, report["examples"]) == (0, [])
    assert min(report["run"], report["run_in_cage"]) >= 40


@needs_guard
@runnable
@pytest.mark.slow
def test_too_generous_descriptions_are_detected_and_harmless_in_the_cage():
    code, report = fuzz("--count", "300", "--seed", "31", "--with-faults")
    assert code == 1
    assert set(report["kinds"]) == {f"outside: {kind}" for kind in ("read", "written", "connected", "started", "left")}


def test_options_are_read_from_help_and_manuals():
    assert {"-e", "--regexp", "--recursive"} <= set(documented_options("grep"))
    assert "-r" in documented_options("read")
    assert "--word-diff" in documented_options("git diff")
