"""Sessions in the lists of the early bridge protocol."""

from __future__ import annotations

import json
from pathlib import Path

from handrail.bridge.session.launch import Cli
from handrail.transcripts import project_name
from tests.bridge.web.dialects.seed_server import serving

OURS = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
FIELDS = {"sessionId", "projectPath", "summary", "firstPrompt", "created", "modified"}


def terminal_session(home: Path, folder: Path) -> Path:
    """A session that a CLI had in a folder, which is made."""
    folder.mkdir()
    entry = {"type": "user", "uuid": OTHER, "parentUuid": None, "sessionId": OTHER, "cwd": str(folder)}
    entry |= {"timestamp": "2026-01-02T03:04:05.000Z", "message": {"role": "user", "content": "From the terminal"}}
    project = home / ".claude" / "projects" / project_name(str(folder))
    project.mkdir(parents=True)
    (project / f"{OTHER}.jsonl").write_text(json.dumps(entry) + "\n")
    return folder


async def test_lists_hold_ours_and_those_of_the_terminal(tmp_path: Path, own_home: Path):
    async with serving(tmp_path) as server, server.client() as client:
        terminal_session(own_home, server.folder / "x")
        await server.quiet_session(OURS)

        async def ids(**fields: object) -> list[str]:
            rows = (await client.ask("list_recent_sessions", "recent_sessions", **fields))["sessions"]
            assert all(
                {"sessionId", "projectPath", "summary", "firstPrompt", "created", "modified"} <= set(row)
                for row in rows
            )
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


async def test_a_session_of_the_terminal_is_resumed_in_its_own_folder_only(tmp_path: Path, own_home: Path):
    async with serving(tmp_path, cli=Cli(str(tmp_path / "missing"), "agent")) as server, server.client() as client:
        folder = terminal_session(own_home, server.folder / "x")
        error = await client.ask("resume_session", "error", sessionId=OTHER, projectPath=str(server.folder))
        assert error["errorCode"] == "not_found"
        assert await server.bridge.sessions.index.get(OTHER) is None
        error = await client.ask("resume_session", "error", sessionId=OTHER, projectPath=str(folder))
        assert error["errorCode"] == "not_started"  # it is ours now; there is only no CLI
        history = await client.ask("get_history", "history", sessionId=OTHER)
        assert history["messages"][0]["text"] == "From the terminal"
