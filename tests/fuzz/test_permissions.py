"""A short run of the fuzzer: strings judged harmless call only the named programs, and misses would be detected."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FUZZER = Path(__file__).with_name("permissions.py")


def fuzz(*arguments: str) -> tuple[int, dict[str, Any]]:
    ended = subprocess.run([sys.executable, str(FUZZER), *arguments], capture_output=True, text=True, check=False)
    return ended.returncode, json.loads(ended.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20, 22])
def test_bash_calls_only_predicted_programs(seed: int):
    code, report = fuzz("--count", "2000", "--seed", str(seed), "--workers", "1")
    assert (code, report["misses"], report["examples"]) == (0, 0, [])
    assert report["share"] >= 0.1


@pytest.mark.slow
def test_without_the_pre_filter_the_run_fails():
    code, report = fuzz("--count", "1000", "--seed", "20", "--workers", "1", "--without-prefilter")
    assert code == 1
    assert report["misses"] > 0
