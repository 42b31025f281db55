"""Commands that only read: file suggestions and the commands of the CLI."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from handrail.bridge.commands.queries import MOST_FILES, files_like, ranked
from tests.bridge.stage import Refused, stage
from tests.client.scripted_cli import write_cli
from tests.interop import library_server

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


@pytest.mark.usefixtures("anywhere")
async def test_suggestions_outside_the_folder_are_removed(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SUGGESTS)) as on:
        session = await on.start()
        suggested = await on.do("file_suggestions", session=session, query="known")
        files = [{"path": "known/", "kind": "folder"}, {"path": "known.txt", "kind": "file"}]
        assert suggested == {"files": files, "resources": []}


@pytest.mark.usefixtures("anywhere")
async def test_disk_is_searched_without_cli_suggestions(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SUGGESTS)) as on:
        session = await on.start()
        (tmp_path / "work" / "mine.txt").write_text("x")
        for query in ("mine", "min"):
            suggested = await on.do("file_suggestions", session=session, query=query)
            assert suggested["files"] == [{"path": "mine.txt", "kind": "file"}]
        await on.do("stop", session=session)
        assert await on.do("file_suggestions", session=session, query="mine") == suggested


@pytest.mark.usefixtures("anywhere")
async def test_agent_suggests_files(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start()
        (tmp_path / "work" / "mine.txt").write_text("x")
        suggested = await on.do("file_suggestions", session=session, query="mine")
        assert suggested["files"] == [{"path": "mine.txt", "kind": "file"}]


@pytest.mark.usefixtures("anywhere")
async def test_long_query_is_refused(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start()
        with pytest.raises(Refused):
            await on.do("file_suggestions", session=session, query="x" * 201)


@pytest.mark.usefixtures("anywhere")
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


# Files found on disk


def paths(found: list[dict[str, object]]) -> list[object]:
    return [one["path"] for one in found]


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def test_name_prefix_ranks_first_and_folders_are_marked(tmp_path: Path):
    make(tmp_path, "src/apple.py", "a/grapple.py", "docs/apple/x.md")
    assert files_like(str(tmp_path), "APPLE") == [
        {"path": "docs/apple/", "kind": "folder"},
        {"path": "src/apple.py", "kind": "file"},
        {"path": "a/grapple.py", "kind": "file"},
        {"path": "docs/apple/x.md", "kind": "file"},
    ]


def test_links_are_not_followed_and_closed_names_are_omitted(tmp_path: Path):
    make(tmp_path, "outside/secret.txt", "work/.ssh/id", "work/.git/HEAD", "work/.npmrc", "work/open.txt")
    (tmp_path / "work" / "link").symlink_to(tmp_path / "outside")
    assert paths(files_like(str(tmp_path / "work"), "")) == ["link", "open.txt"]


def test_names_with_quotes_or_unprintable_characters_are_omitted(tmp_path: Path):
    make(tmp_path, "a\nb", 'say "hi"', "plain")
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("x")
    assert paths(files_like(str(tmp_path), "")) == ["plain"]


def test_results_are_limited_and_empty_for_a_missing_folder(tmp_path: Path):
    assert len(ranked((f"file{n}" for n in range(MOST_FILES * 2)), "file")) == MOST_FILES
    assert files_like(str(tmp_path / "none"), "") == []
