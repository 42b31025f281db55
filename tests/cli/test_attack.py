"""`handrail doctor --attack`: without a token and without a server beside it, one sentence says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.cli.main import main


def test_without_a_server_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["doctor", "--attack", "http://127.0.0.1:9", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert ("no server works in" in said, "HANDRAIL_TOKEN" in said, len(said.splitlines())) == (True, True, 1)
