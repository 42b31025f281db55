"""Files of a session's folder; paths outside of it are refused."""

from __future__ import annotations

import os

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(autouse=True, scope="module")
def folder(world: World) -> None:
    (world.work / "sub").mkdir()
    (world.work / "sub" / "page.html").write_text("<script>window.__xss=1</script>")
    (world.work / "large").write_bytes(bytes(8 * 1024 * 1024 + 1))
    (world.work / ".ssh").mkdir()
    (world.work / ".ssh" / "id").write_text("secret")
    (world.work / "key").symlink_to("/etc/passwd")
    (world.work / "inside").symlink_to("sub")
    (world.work / "dangling").symlink_to("/no/such/file")
    os.mkfifo(world.work / "pipe")
    evil = world.work.parent / "work_evil"
    evil.mkdir()
    (evil / "s").write_text("secret")


async def test_a_folder_is_listed(world: World):
    async with world.client(await world.same_token()) as client:
        top = (await client.get(f"/api/sessions/{world.session}/files")).json()
        below = (await client.get(f"/api/sessions/{world.session}/files", params={"path": "sub"})).json()
    kinds = {one["name"]: one["kind"] for one in top["entries"]}
    assert (kinds["sub"], kinds["key"], kinds["large"]) == ("directory", "link", "file")
    assert ".ssh" not in kinds
    assert [one["name"] for one in below["entries"]] == ["page.html"]


async def test_file_is_sent_as_an_inert_download(world: World):
    async with world.client(await world.same_token()) as client:
        answer = await client.get(f"/api/sessions/{world.session}/files", params={"path": "sub/page.html"})
    assert answer.text == "<script>window.__xss=1</script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''page.html"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_refusal_does_not_reveal_whether_an_outside_file_exists(world: World):
    outside = [
        "/etc/passwd",
        "/etc/no-such",
        "..",
        "../work_evil/s",
        "../no-such",
        f"{world.work}_evil/s",
        "key",
        "dangling",
    ]
    closed = [".ssh", ".ssh/id", ".ssh/no-such", "sub/../.ssh/id", "inside", "inside/page.html", "pipe", "a\x00b"]
    async with world.client(await world.same_token()) as client:
        answers = [
            await client.get(f"/api/sessions/{world.session}/files", params={"path": path}) for path in outside + closed
        ]
    assert {(one.status_code, one.text) for one in answers} == {(403, answers[0].text)}


async def test_data_folder_of_the_server_is_closed(world: World):
    record = await world.bridge.sessions.index.get(world.session)
    assert record is not None
    id = "aaaaaaaa-bbbb-cccc-dddd-000000000002"
    above = type(record)(id=id, cwd=str(world.work.parent), created=1, changed=1, state="hibernated")
    await world.bridge.sessions.index.put(above)
    async with world.client(await world.same_token()) as client:
        for path in ("data", "data/handrail.db", "work/../data/handrail.db", f"{world.work.parent}/data/handrail.db"):
            answer = await client.get(f"/api/sessions/{id}/files", params={"path": path})
            assert answer.status_code == 403


async def test_missing_and_large_files_have_status_codes(world: World):
    async with world.client(await world.same_token()) as client:
        missing = await client.get(f"/api/sessions/{world.session}/files", params={"path": "no-such"})
        large = await client.get(f"/api/sessions/{world.session}/files", params={"path": "large"})
    assert (missing.status_code, large.status_code) == (404, 413)
