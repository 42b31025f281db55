"""Commands that only read: file suggestions and the commands of the CLI."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge.commands.queries import all_commands
from tests.bridge.stage import Refused, stage
from tests.client.scripted_cli import write_cli

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


def test_commands_that_only_the_init_message_names_are_listed_once():
    described = [{"name": "compact", "description": "Compact", "argumentHint": ""}, {"name": "/review"}, 3]
    announced = ["compact", "review", "/mcp__shop__order", "plugin:deploy", "plugin:deploy"]
    more = [{"name": name, "description": "", "argumentHint": ""} for name in ("mcp__shop__order", "plugin:deploy")]
    assert all_commands(described, announced) == [*described, *more]


async def test_resources_of_mcp_servers_are_filtered_by_the_query(tmp_path: Path):
    found = [{"uri": "shop://orders", "name": "Orders"}, {"uri": "shop://users", "name": "Users"}]

    async def mcp_resources() -> list[dict[str, str]]:
        return found

    async with stage(tmp_path, write_cli(tmp_path, SUGGESTS)) as on:
        session = await on.start()
        (await on.host(session)).mcp_resources = mcp_resources
        assert (await on.do("file_suggestions", session=session, query="order"))["resources"] == found[:1]
        assert (await on.do("file_suggestions", session=session, query=""))["resources"] == found
