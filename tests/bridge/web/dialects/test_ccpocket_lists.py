"""Lists of active and recent sessions."""

from __future__ import annotations

import json
from pathlib import Path

from handrail.model_access.choice import CliChoice
from handrail.transcripts import project_name
from tests.bridge.web.dialects.ccpocket_server import serving

OURS = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
FIELDS = {"sessionId", "projectPath", "summary", "firstPrompt", "created", "modified"}


def terminal_session(home: Path, folder: Path) -> Path:
    """Create a folder with a recorded CLI session and return it."""
    folder.mkdir()
    entry = {"type": "user", "uuid": OTHER, "parentUuid": None, "sessionId": OTHER, "cwd": str(folder)}
    entry |= {"timestamp": "2026-01-02T03:04:05.000Z", "message": {"role": "user", "content": "From the terminal"}}
    project = home / ".claude" / "projects" / project_name(str(folder))
    project.mkdir(parents=True)
    (project / f"{OTHER}.jsonl").write_text(json.dumps(entry) + "\n")
    return folder


async def test_lists_contain_server_and_terminal_sessions(tmp_path: Path, own_home: Path):
    async with serving(tmp_path) as server, server.client() as client:
        terminal_session(own_home, server.folder / "x")
        await server.quiet_session(OURS)

        async def ids(**fields: object) -> list[str]:
            rows = (await client.ask("list_recent_sessions", "recent_sessions", **fields))["sessions"]
            assert all(set(row) >= FIELDS for row in rows)
            return [row["sessionId"] for row in rows]

        assert await ids() == [OTHER, OURS]
        assert await ids(limit=1) == [OTHER]
        assert await ids(limit=5, offset=1) == [OURS]
        assert await ids(limit=0) == []
        assert await ids(projectPath=str(server.folder)) == [OURS]
        assert await ids(projectPath=str(server.folder / "x")) == [OTHER]
        assert await ids(projectPath="/nowhere") == []
        await server.do("archive", session=OURS)
        assert await ids() == [OTHER]


async def test_terminal_session_is_resumed_only_in_its_folder(tmp_path: Path, own_home: Path):
    async with (
        serving(tmp_path, cli=CliChoice.fixed(str(tmp_path / "missing"))) as server,
        server.client() as client,
    ):
        folder = terminal_session(own_home, server.folder / "x")
        error = await client.ask("resume_session", "error", sessionId=OTHER, projectPath=str(server.folder))
        assert error["errorCode"] == "not_found"
        assert await server.bridge.sessions.index.get(OTHER) is None
        error = await client.ask("resume_session", "error", sessionId=OTHER, projectPath=str(folder))
        assert error["errorCode"] == "not_started"  # it was imported; only the CLI is missing
        history = await client.ask("get_history", "history", sessionId=OTHER)
        assert history["messages"][0]["text"] == "From the terminal"
