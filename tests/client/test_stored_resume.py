"""Resuming a session from its store, with a CLI that tells how it was started."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from handrail import Options, OptionsError, Session
from handrail.session_store import InMemorySessionStore, SessionStoreError, project_key_for_directory
from tests.client.conversation import PATIENCE
from tests.client.scripted_cli import write_cli

ID, OTHER = "11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-666666666666"
ENTRIES: list[Any] = [
    {"type": "user", "uuid": "u", "message": {"role": "user", "content": "Grüße \ud83d"}, "sessionId": ID},
    {"customTitle": "T", "type": "custom-title"},
]
REPORT = """
import os, stat
prompt()
home = os.environ.get("CLAUDE_CONFIG_DIR", "")
found = {}
for folder, folders, files in os.walk(home):
    for name in (*folders, *files):
        path = os.path.join(folder, name)
        content = open(path).read() if name in files else None
        link = os.readlink(path) if os.path.islink(path) else ""
        mode = stat.S_IMODE(os.stat(path).st_mode)
        found[os.path.relpath(path, home)] = [oct(mode), content, link]
mode = oct(stat.S_IMODE(os.stat(home or "/").st_mode))
say(result({"argv": sys.argv[2:], "home": home, "files": found, "mode": mode}))
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def key(project: Path, session: str = ID, **more: str) -> Any:
    return {"project_key": project_key_for_directory(project), "session_id": session, **more}


async def filled(project: Path) -> InMemorySessionStore:
    store = InMemorySessionStore()
    await store.append(key(project), ENTRIES)
    return store


async def emptied(folder: Path) -> None:
    """Wait until a folder is empty."""
    async with asyncio.timeout(PATIENCE):
        while os.listdir(folder):  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.01)


async def started(tmp_path: Path, project: Path, store: Any, **options: Any) -> dict[str, Any]:
    """How the CLI was started, and what it found."""
    cli = options.pop("cli_path", None) or write_cli(tmp_path, REPORT)
    given = Options(cli_path=cli, cwd=project, session_store=store, **options)
    async with asyncio.timeout(PATIENCE), Session(given) as session:
        found = json.loads((await session.ask("Hi")).text)
    return {**found, "id": session.id}


async def test_transcript_is_written_for_the_cli_and_removed_afterwards(tmp_path: Path, project: Path, temporary: Path):
    store = await filled(project)
    found = await started(tmp_path, project, store, resume=ID)
    name = f"projects/{project_key_for_directory(project)}/{ID}.jsonl"
    lines = [json.loads(line) for line in found["files"][name][1].splitlines()]
    assert lines == ENTRIES
    assert found["files"][name][1].splitlines()[1] == '{"type":"custom-title","customTitle":"T"}'
    assert {mode for mode, *_ in found["files"].values()} == {"0o700", "0o600"}
    assert found["mode"] == "0o700"
    assert f"--resume={ID}" in found["argv"]
    assert "--session-mirror" in found["argv"]
    assert found["home"].startswith(str(temporary))
    assert os.listdir(temporary) == []


async def test_subagents_are_written_with_their_metadata(tmp_path: Path, project: Path, temporary: Path):
    store = await filled(project)
    first: list[Any] = [{"type": "agent_metadata", "agentType": "old"}, {"type": "user", "uuid": "x"}]
    last: Any = {"type": "agent_metadata", "agentType": "new", "toolUseId": "t"}
    await store.append(key(project, subpath="subagents/agent-a"), [*first, last])
    await store.append(key(project, subpath="subagents/workflows/w/agent-b"), [{"type": "user", "uuid": "y"}])
    files = (await started(tmp_path, project, store, resume=ID))["files"]
    below = f"projects/{project_key_for_directory(project)}/{ID}/subagents"
    assert files[f"{below}/agent-a.jsonl"][1] == '{"type":"user","uuid":"x"}\n'
    assert json.loads(files[f"{below}/agent-a.meta.json"][1]) == {"agentType": "new", "toolUseId": "t"}
    assert files[f"{below}/workflows/w/agent-b.jsonl"][1] == '{"type":"user","uuid":"y"}\n'
    assert f"{below}/workflows/w/agent-b.meta.json" not in files


@pytest.mark.parametrize("subpath", ["../../../outside", "/outside", "subagents/..", "a//b", "a\0b", ".", "a\\b"])
async def test_subpath_that_leaves_the_session_is_skipped(
    subpath: str, tmp_path: Path, project: Path, temporary: Path, caplog: pytest.LogCaptureFixture
):
    store = await filled(project)
    await store.append(key(project, subpath=subpath), [{"type": "user", "uuid": "x"}])
    found = await started(tmp_path, project, store, resume=ID)
    transcripts = [name for name in found["files"] if name.endswith(".jsonl")]
    assert transcripts == [f"projects/{project_key_for_directory(project)}/{ID}.jsonl"]
    assert "outside.jsonl" not in [name for _, _, names in os.walk(tmp_path) for name in names]
    assert "which is not below the session; skipped" in caplog.text


async def test_login_and_state_travel_without_refresh_tokens(
    tmp_path: Path, project: Path, temporary: Path, own_home: Path
):
    home = own_home / ".claude"
    home.mkdir()
    login = {"accessToken": "A", "refreshToken": "R1", "scopes": ["x"]}
    login_of_server = {"srv": {"accessToken": "B", "refresh_token": "R2"}}
    (home / ".credentials.json").write_text(json.dumps({"claudeAiOauth": login, "mcpOAuth": login_of_server}))
    (own_home / ".claude.json").write_text('{"userID": "me", "projects": {}}')
    (home / "settings.json").write_text('{"model": "m"}')
    files = (await started(tmp_path, project, await filled(project), resume=ID))["files"]
    credentials = {"claudeAiOauth": {"accessToken": "A", "scopes": ["x"]}, "mcpOAuth": {"srv": {"accessToken": "B"}}}
    assert json.loads(files[".credentials.json"][1]) == credentials
    assert json.loads(files[".claude.json"][1]) == {"userID": "me", "projects": {}}
    assert "settings.json" not in files
    assert (home / ".credentials.json").read_text().count("R1") == 1


async def test_user_settings_travel_if_they_are_a_source(tmp_path: Path, project: Path, temporary: Path):
    home = tmp_path / "config"
    (home / "agents").mkdir(parents=True)
    (home / "agents" / "reviewer.md").write_text("x")
    (home / "CLAUDE.md").write_text("memory")
    settings = {"model": "m", "enabledPlugins": {"p@m": True}, "extraKnownMarketplaces": {}, "env": {"A": "1"}}
    (home / "settings.json").write_text(json.dumps(settings))
    (home / ".claude.json").write_text('{"inside": true}')
    options = {"env": {"CLAUDE_CONFIG_DIR": str(home)}, "setting_sources": ["user"], "resume": ID}
    found = await started(tmp_path, project, await filled(project), **options)
    assert found["home"] != str(home)
    assert json.loads(found["files"]["settings.json"][1]) == {"model": "m", "env": {"A": "1"}}
    assert json.loads(found["files"][".claude.json"][1]) == {"inside": True}
    assert [found["files"][name][2] for name in ("CLAUDE.md", "agents")] == [
        str(home / "CLAUDE.md"),
        str(home / "agents"),
    ]
    assert (home / "agents" / "reviewer.md").read_text() == "x"  # removing the folder removed the links only


async def test_broken_credentials_are_not_copied(
    tmp_path: Path, project: Path, temporary: Path, own_home: Path, caplog: pytest.LogCaptureFixture
):
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / ".credentials.json").write_text('{"refreshToken": "R"')
    found = await started(tmp_path, project, await filled(project), resume=ID)
    assert ".credentials.json" not in found["files"]
    assert ".credentials.json is not used for the resumed session" in caplog.text


async def test_fork_keeps_its_flag_and_has_no_id_yet(tmp_path: Path, project: Path, temporary: Path):
    found = await started(tmp_path, project, await filled(project), resume=ID, fork_session=True)
    assert {f"--resume={ID}", "--fork-session"} <= {*found["argv"]}
    assert found["id"] != ID


async def test_continue_resumes_the_session_of_the_last_append(tmp_path: Path, project: Path, temporary: Path):
    store = await filled(project)
    await store.append(key(project, OTHER), ENTRIES)
    await store.append(key(project), ENTRIES)
    await store.append({"project_key": "-elsewhere", "session_id": OTHER}, ENTRIES)
    found = await started(tmp_path, project, store, continue_conversation=True)
    assert f"--resume={ID}" in found["argv"]
    assert "--continue" not in found["argv"]


async def test_continue_with_an_empty_store_is_left_to_the_cli(tmp_path: Path, project: Path, temporary: Path):
    found = await started(tmp_path, project, InMemorySessionStore(), continue_conversation=True)
    assert "--continue" in found["argv"]
    assert found["home"] == ""


async def test_session_of_this_machine_needs_no_store(tmp_path: Path, project: Path, temporary: Path, own_home: Path):
    folder = own_home / ".claude" / "projects" / "any"
    folder.mkdir(parents=True)
    (folder / f"{ID}.jsonl").write_text("{}\n")
    found = await started(tmp_path, project, InMemorySessionStore(), resume=ID)
    assert f"--resume={ID}" in found["argv"]
    assert found["home"] == ""


async def test_title_is_left_to_the_cli(tmp_path: Path, project: Path, temporary: Path):
    found = await started(tmp_path, project, await filled(project), resume="some title")
    assert "--resume=some title" in found["argv"]


class FailingStore(InMemorySessionStore):
    """Fails in the way that a test gives it."""

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        self._answers = answers

    async def _answer(self, method: str, otherwise: Any) -> Any:
        answer = self._answers.get(method, otherwise)
        if isinstance(answer, Exception):
            raise answer
        if answer == "hang":
            await asyncio.Event().wait()
        return answer

    async def load(self, key: Any) -> Any:
        return await self._answer("load", ENTRIES)

    async def list_subkeys(self, key: Any) -> Any:
        return await self._answer("list_subkeys", [])

    async def list_sessions(self, project_key: str) -> Any:
        return await self._answer("list_sessions", [{"session_id": ID, "mtime": 1}])


FAILURES = {
    "load fails": (FailingStore(load=OSError("db down")), rf"load\(\) for session {ID} .* failed: OSError: db down"),
    "load hangs": (FailingStore(load="hang"), r"load\(\) .* did not finish within 0\.1 s; session_store_load_timeout="),
    "store times out": (FailingStore(load=TimeoutError("own limit")), r"failed: TimeoutError: own limit"),
    "not a list": (FailingStore(load="text"), r"FailingStore\.load\(\) must return a list of dicts .* a str"),
    "not entries": (FailingStore(load=[{"type": "a"}, 7]), r"returned a list with a int in it"),
    "subkeys are missing": (FailingStore(list_subkeys=None), r"list_subkeys\(\) for session .* failed: TypeError"),
    "subkeys fail": (FailingStore(list_subkeys=KeyError("x")), r"list_subkeys\(\) for session .* failed: KeyError"),
    "session unknown": (FailingStore(load=None), rf"{ID} is neither in the session store, for project .*check resume="),
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_failing_store_ends_the_start_with_its_reason(
    failure: str, tmp_path: Path, project: Path, temporary: Path
):
    store, reason = FAILURES[failure]
    with pytest.raises(SessionStoreError, match=reason):
        await started(tmp_path, project, store, resume=ID, session_store_load_timeout=0.1)
    assert os.listdir(temporary) == []


async def test_failing_list_ends_a_continue_with_its_reason(tmp_path: Path, project: Path, temporary: Path):
    for answer, reason in ((OSError("db down"), "OSError: db down"), ([{"mtime": 1}], "KeyError: 'session_id'")):
        store = FailingStore(list_sessions=answer)
        with pytest.raises(SessionStoreError, match=rf"list_sessions\(\) for project .* failed: {reason}"):
            await started(tmp_path, project, store, continue_conversation=True)


async def test_failed_start_leaves_no_folder(tmp_path: Path, project: Path, temporary: Path):
    with pytest.raises(OptionsError, match="does not exist"):
        await started(tmp_path, project, await filled(project), resume=ID, cli_path="/nowhere/claude")
    assert os.listdir(temporary) == []


async def test_cancelled_start_leaves_no_folder(tmp_path: Path, project: Path, temporary: Path):
    store = await filled(project)
    await store.append(key(project), [{"type": "user", "uuid": str(n)} for n in range(20_000)])
    starting = asyncio.create_task(started(tmp_path, project, store, resume=ID))
    while not os.listdir(temporary):  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await emptied(temporary)


DYING = """
import asyncio, sys
from handrail import Options, Session
from handrail.session_store import InMemorySessionStore, project_key_for_directory

async def main(cli, project, session):
    store = InMemorySessionStore()
    key = {"project_key": project_key_for_directory(project), "session_id": session}
    await store.append(key, [{"type": "user", "uuid": "u"}])
    async with Session(Options(cli_path=cli, cwd=project, session_store=store, resume=session)):
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_folder_of_a_killed_process_is_removed(tmp_path: Path, project: Path, temporary: Path):
    cli = write_cli(tmp_path, "hear()")
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DYING, cli, str(project), ID, stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    assert [name for folder in os.listdir(temporary) for name in os.listdir(temporary / folder)] == ["config"]
    process.kill()
    await process.wait()
    await emptied(temporary)
