"""Where sessions may work, and who answers there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_who_may_start_sessions_is_told_where(world: World):
    async with world.client(await world.same_token(("prompt",))) as client:
        told = (await client.get("/api/folders")).json()
    assert told["folders"] == [str(root) for root in world.bridge.configuration.roots]
    assert told["cli"]["kind"] == world.bridge.configuration.cli.kind
    assert "path" not in told["cli"]


async def test_the_folders_in_a_folder_are_told_without_hidden_ones_links_and_files(world: World):
    for name in ("src", "docs", ".git", ".ssh"):
        (world.work / name).mkdir(exist_ok=True)
    (world.work / "file.txt").write_text("x")
    if not (world.work / "away").is_symlink():
        (world.work / "away").symlink_to("/")
    async with world.client(await world.same_token(("prompt",))) as client:
        told = (await client.get("/api/folders", params={"below": str(world.work)})).json()
    assert [Path(one).name for one in told["folders"]] == ["docs", "src"]
    assert told["complete"] is True


@pytest.mark.parametrize("below", ["/", "/etc", "work", "/nowhere/at/all"])
async def test_folders_elsewhere_are_not_told(world: World, below: str):
    async with world.client(await world.same_token(("prompt",))) as client:
        answer = await client.get("/api/folders", params={"below": below})
    assert answer.status_code in (400, 403, 404), answer.text
    assert "folders" not in answer.json()


async def test_who_may_only_look_is_not_told(world: World):
    async with world.client(await world.same_token(("view",))) as client:
        assert (await client.get("/api/folders", params={"below": str(world.work)})).status_code == 403
