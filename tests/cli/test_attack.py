"""`handrail doctor --attack` prints the outcome of each attack, or one line that says how to reach a server."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from handrail.attacks import TABLE
from handrail.cli.main import main
from tests.bridge.certificate import own_certificate
from tests.cli.served import serving


def test_missing_server_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["doctor", "--attack", "http://127.0.0.1:9", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert ("no server is running in" in said, "HANDRAIL_TOKEN" in said, len(said.splitlines())) == (True, True, 1)


@pytest.mark.parametrize("secure", [False, True])
def test_outcomes_are_printed_and_no_device_is_left_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, secure: bool
):
    """A few rows are enough: tests/attacks runs all of them. The certificate is self-signed."""
    certificate, key = own_certificate(tmp_path)
    rows = [row for row in TABLE if row.id in ("W01", "W13", "W16", "W48")]
    monkeypatch.setattr("handrail.attacks.TABLE", rows)
    with serving(tmp_path, *(["--tls-cert", certificate, "--tls-key", key] if secure else [])) as server:
        assert main(["doctor", "--attack", server.address, "--data", str(tmp_path / "data")]) == 0
        assert main(["serve", "--link", "--data", str(tmp_path / "data")]) == 0
        said, _, link = capsys.readouterr().out.partition("held\n")
        assert said.endswith(f"all {len(rows)} ")
        assert all(f"{row.id} " in said for row in rows)
        with httpx2.Client(base_url=server.address, verify=False) as client:  # W13 guessed links
            assert client.post("/api/login", json={"link": link.partition("#link=")[2]}).status_code == 429
