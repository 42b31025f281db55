"""Commands that only read: file suggestions and the commands of the CLI."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.bridge.stage import Refused, stage
from tests.client.scripted_cli import write_cli
from tests.interop import library_server

pytestmark = pytest.mark.usefixtures("anywhere")

SUGGESTS = """
    while True:
        heard = hear()
        if heard["request"]["query"] == "known":
            answer(heard, {"suggestions": [{"path": "known.txt"}, {"path": "known/"}, {"path": "/etc/known"},
                {"path": "../known"}, {"path": ".ssh/known_hosts"}, {"path": 3}, "known"], "cwd": "/w"})
        elif heard["request"]["query"] == "mine":
            answer(heard, {"suggestions": []})
        else:
            refuse(heard, "no")
"""


async def test_suggestions_outside_the_folder_are_removed(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SUGGESTS)) as on:
        session = await on.start()
        suggested = await on.do("file_suggestions", session=session, query="known")
        files = [{"path": "known/", "kind": "folder"}, {"path": "known.txt", "kind": "file"}]
        assert suggested == {"files": files, "resources": []}


async def test_disk_is_searched_without_cli_suggestions(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SUGGESTS)) as on:
        session = await on.start()
        (tmp_path / "work" / "mine.txt").write_text("x")
        for query in ("mine", "min"):
            suggested = await on.do("file_suggestions", session=session, query=query)
            assert suggested["files"] == [{"path": "mine.txt", "kind": "file"}]
        await on.do("stop", session=session)
        assert await on.do("file_suggestions", session=session, query="mine") == suggested


async def test_agent_suggests_files(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start()
        (tmp_path / "work" / "mine.txt").write_text("x")
        suggested = await on.do("file_suggestions", session=session, query="mine")
        assert suggested["files"] == [{"path": "mine.txt", "kind": "file"}]


async def test_long_query_is_refused(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start()
        with pytest.raises(Refused):
            await on.do("file_suggestions", session=session, query="x" * 201)


async def test_resources_and_prompts_of_mcp_servers_are_offered(tmp_path: Path):
    server = Path(library_server.__file__)
    async with stage(tmp_path) as on:
        session = await on.start()
        await on.do("mcp_set", session=session, servers={"library": {"command": sys.executable, "args": [str(server)]}})
        await on.do("mcp_reconnect", session=session, server="library")  # answered once it is connected
        found = (await on.do("file_suggestions", session=session, query="note"))["resources"]
        assert [(one["server"], one["uri"]) for one in found] == [("library", "note://one"), ("library", "note://two")]
        found = (await on.do("file_suggestions", session=session, query="TWO"))["resources"]
        assert [one["uri"] for one in found] == ["note://two"]
        assert (await on.do("file_suggestions", session=session, query="no such note"))["resources"] == []
        names = {one["name"] for one in (await on.do("about", session=session))["commands"]}
        assert {"mcp__library__greet", "mcp__library__memo"} <= names
