"""`handrail doctor` reports what is installed, what is missing and what to do, and never shows a key."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import TABLES as LOG_TABLES
from handrail.bridge.store.session_index import TABLES as INDEX_TABLES
from handrail.cage.guards import guard_problem
from handrail.model_access.stored import ModelAccess, save_access
from tests.cli.command import piped
from tests.cli.words import cli

SECRET = "sk-ant-very-secret-4711"


def report(*arguments: object, **environment: str) -> tuple[int, bool, dict[str, dict[str, Any]]]:
    done = piped("doctor", "--json", *arguments, **environment)
    found = json.loads(done.stdout)
    return done.returncode, found["ready"], {check["name"]: check for check in found["checks"]}


def speaking_cli(folder: Path) -> str:
    path = cli(folder, "")
    text = Path(path).read_text().replace("exec ", 'if [ "$1" = --version ]; then echo "9.9.9 (test)"; exit; fi\nexec ')
    Path(path).write_text(text)
    return path


def test_cli_that_answers_the_handshake_is_ready(tmp_path: Path):
    path = speaking_cli(tmp_path)
    code, ready, checks = report("--cli", path)
    assert (code, ready) == (0, True)
    assert checks["CLI"]["text"] == f"{path} (--cli)"
    assert (checks["CLI version"]["text"], checks["handshake"]["state"]) == ("9.9.9 (test)", "good")


def test_report_says_how_the_cli_was_found(tmp_path: Path):
    path = speaking_cli(tmp_path)
    assert report(HANDRAIL_CLI=path)[2]["CLI"]["text"] == f"{path} (HANDRAIL_CLI)"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(path)
    Path(f"{path}.script").rename(tmp_path / "bin" / "claude.script")
    checks = report(PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")[2]
    assert checks["CLI"]["text"] == f"{tmp_path / 'bin' / 'claude'} (on PATH)"


def test_missing_cli_fails_with_a_hint(tmp_path: Path):
    code, ready, checks = report(PATH=str(tmp_path))
    assert (code, ready, checks["CLI"]["state"]) == (1, False, "bad")
    assert "npm install" in checks["CLI"]["hint"]


def test_program_without_the_protocol_is_not_ready():
    code, ready, checks = report("--cli", "/bin/true")
    assert (code, ready, checks["CLI"]["state"], checks["handshake"]["state"]) == (1, False, "good", "bad")


def test_model_of_new_sessions_is_reported(tmp_path: Path):
    nothing = {"PATH": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    demo = report(**nothing)[2]["new sessions"]
    assert (demo["state"], "Demo" in demo["text"], demo["hint"]) == (
        "info",
        True,
        "connect a real model: handrail connect",
    )
    save_access(ModelAccess("api", SECRET, "http://127.0.0.1:9", "some-model"), nothing)
    connected = report(**nothing)[2]["new sessions"]
    assert (connected["state"], "some-model" in connected["text"], SECRET in str(connected)) == ("good", True, False)
    (tmp_path / "handrail" / "model.json").write_text("{")
    assert "handrail connect" in report(**nothing)[2]["new sessions"]["hint"]


def test_keys_are_reported_by_name_only(tmp_path: Path):
    keys = {"ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_AUTH_TOKEN": SECRET, "CLAUDE_CODE_OAUTH_TOKEN": SECRET}
    for form in ([], ["--json"]):
        done = piped("doctor", *form, "--cli", speaking_cli(tmp_path), **keys)
        assert SECRET[:4].encode() not in done.stdout + done.stderr
    checks = report("--cli", "/bin/true", ANTHROPIC_API_KEY=SECRET)[2]
    assert [checks[name]["text"] for name in keys] == ["set", "not set", "not set"]


def test_missing_sign_in_is_reported_with_a_hint():
    checks = report("--cli", "/bin/true")[2]
    assert (checks["credentials"]["state"], "ANTHROPIC_API_KEY" in checks["credentials"]["hint"]) == ("bad", True)
    home = Path(os.environ["HOME"]) / ".claude"
    home.mkdir()
    (home / ".credentials.json").write_text(SECRET)
    checks = report("--cli", "/bin/true")[2]
    assert (checks["credentials"]["state"], SECRET in str(checks)) == ("good", False)


def test_sessions_are_counted_with_their_folder():
    folder = Path(os.environ["HOME"]) / ".claude" / "projects" / "-p"
    assert report("--cli", "/bin/true")[2]["sessions"]["text"] == f"{folder.parent}: 0 sessions, writable"
    folder.mkdir(parents=True)
    (folder / "00000000-0000-4000-8000-000000000001.jsonl").touch()
    assert report("--cli", "/bin/true")[2]["sessions"]["text"] == f"{folder.parent}: 1 session, writable"


def test_text_report_has_marks_and_hints():
    done = piped("doctor", "--cli", "/bin/true")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert {line[0] for line in lines if line and not line.startswith((" ", "`claude`"))} == {"✓", "✗", "·"}
    assert any(line.strip() == "→ this CLI cannot be used; --cli names another" for line in lines)
    assert lines[-1].startswith("`claude` cannot be used yet")


def test_store_of_the_server_is_checked(tmp_path: Path):
    database = Database(tmp_path / "handrail.db", LOG_TABLES, INDEX_TABLES)
    asyncio.run(database.close())
    checks = report("--data", tmp_path)[2]
    assert (checks["store"]["state"], checks["server"]["state"]) == ("good", "info")
    (tmp_path / "handrail.db").write_bytes(b"no store" * 1000)
    code, _, checks = report("--data", tmp_path)
    assert (code, checks["store"]["state"], ".recover" in checks["store"]["hint"]) == (1, "bad", True)


def test_guard_in_use_is_reported(tmp_path: Path):
    checks = report("--cli", "/bin/true")[2]
    if problem := guard_problem():
        assert (checks["cage"]["state"], checks["cage"]["text"]) == ("info", f"none: {problem}")
    else:
        assert checks["cage"]["state"] == "good"
        assert "only read run in it" in checks["cage"]["text"]
    assert ("bubblewrap (" in checks["sandbox"]["text"]) is (shutil.which("bwrap") is not None)
    without = report("--cli", "/bin/true", PATH=str(tmp_path))[2]["sandbox"]
    assert "install bubblewrap" in without["hint"]
