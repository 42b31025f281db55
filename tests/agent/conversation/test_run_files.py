"""The files that a shell command would run, and what is in them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from handrail.agent.conversation.run_files import LARGEST, run_files


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("./run.sh", ["run.sh"]),
        ("bash run.sh", ["run.sh"]),
        ("bash -x run.sh other.py", ["run.sh", "other.py"]),
        ("python3 other.py --flag", ["other.py"]),
        ("cd sub && ./deep.sh", ["sub/deep.sh"]),
        (". ./run.sh; source sub/deep.sh", ["run.sh", "sub/deep.sh"]),
        ("true | env sh run.sh", ["run.sh"]),
        ("cat run.sh", []),
        ("ls", []),
        ("./absent.sh", []),
        ("./sub", []),
        ("'", []),
    ],
)
def test_files_that_a_command_would_run(tmp_path: Path, command: str, names: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("run.sh", "other.py", "sub/deep.sh"):
        (tmp_path / name).write_text(name)
    found = run_files(command, str(tmp_path))
    assert found == {str(tmp_path / name): hashlib.sha256(name.encode()).hexdigest() for name in names}


def test_a_large_file_is_identified_by_its_start_and_time(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * (LARGEST + 10))
    before = run_files("./large", str(tmp_path))
    os.utime(large, ns=(1, 1))
    assert before != run_files("./large", str(tmp_path))
