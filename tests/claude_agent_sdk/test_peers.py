"""Programs that use a package of this interface, run with the shim and with the official package.

`peers/NAME.py` is the program, `peers/NAME.json` its output with the official package. `make test` compares the shim
with that; `make interop` checks that the official package still gives it. After a new official version:

    cd $(mktemp -d) && env -i PATH="$PATH" HOME="$PWD" PYTHON peers/NAME.py claude_agent_sdk > peers/NAME.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PEERS = Path(__file__).parent / "peers"
NAMES = ("frames", "options", "sessions", "tools")
SDK = os.environ.get("HANDRAIL_PYTHON_SDK", "")
LIMIT = 120


def output(python: str, name: str, package: str, folder: Path) -> Any:
    """The output of a program in an empty folder and environment."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    program = [python, "-B", str(PEERS / f"{name}.py"), package]
    done = subprocess.run(program, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def recorded(name: str) -> Any:
    return json.loads((PEERS / f"{name}.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_shim_does_the_same(tmp_path: Path, name: str):
    assert output(sys.executable, name, "handrail.claude_agent_sdk", tmp_path) == recorded(name)


@pytest.mark.interop
@pytest.mark.parametrize("name", ["facts", *NAMES])
def test_recorded_output_is_that_of_the_official_package(tmp_path: Path, name: str):
    if not Path(SDK).is_file():
        pytest.fail(f"HANDRAIL_PYTHON_SDK names no file ({SDK!r}): run `make interop`", pytrace=False)
    assert output(SDK, name, "claude_agent_sdk", tmp_path) == recorded(name)
