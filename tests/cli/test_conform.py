"""handrail conform: exit codes, the table, JSON, the list."""

from __future__ import annotations

import json
import sys

from tests.cli.command import piped

AGENT = (sys.executable, "-m", "handrail.agent.main")
SILENT = (sys.executable, "-c", "raise SystemExit('no such luck')")


def test_agreement_exits_with_0_and_a_table():
    run = piped("conform", "--only", "flag.version", "--", *AGENT)
    out = run.stdout.decode()
    assert run.returncode == 0, out
    assert "✓" in out
    assert "flag.version" in out
    assert "1 of 1 checks agree, 0 drifted." in out


def test_drift_exits_with_1_and_shows_expected_and_seen():
    run = piped("conform", "--only", "initialize.answer", "--", *SILENT)
    out = run.stdout.decode()
    assert run.returncode == 1
    assert "✗" in out
    assert "initialize is answered with commands" in out
    assert "no such luck" in out


def test_json_has_the_counts_and_every_check():
    run = piped("conform", "--json", "--only", "flag.version", "--only", "flag.unknown-flag", "--", *SILENT)
    report = json.loads(run.stdout)
    assert run.returncode == 1
    assert (report["agrees"], report["drifted"]) == (0, 2)
    assert [each["name"] for each in report["checks"]] == ["flag.unknown-flag", "flag.version"]
    assert set(report["checks"][0]) == {"name", "verdict", "expected", "seen", "seconds"}


def test_the_list_runs_nothing():
    run = piped("conform", "--list", "--only", "mcp")
    lines = run.stdout.decode().splitlines()
    assert run.returncode == 0
    assert all(line.startswith("mcp.") for line in lines)
    assert len(lines) >= 5


def test_usage_errors_end_with_2_and_one_sentence():
    for arguments, words in (
        ((), "name the executable"),
        (("--", "no-such-executable"), "nor on PATH"),
        (("--only", "nothing-of-the-kind", "--", "true"), "--list"),
        (("--jobs", "0", "--", "true"), "--jobs"),
    ):
        run = piped("conform", *arguments)
        assert run.returncode == 2
        assert words in run.stderr.decode()
        assert b"Traceback" not in run.stderr
