"""Stored tool output is served from the folders of transcripts, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio

from handrail.files.open import READ_LIMIT
from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    folder = tmp_path / "projects" / "-work" / "some-session" / "tool-results"
    folder.mkdir(parents=True)
    (folder / "out.txt").write_text("".join(f"line {number}\n" for number in range(1, 1001)))
    return folder


async def fetch(world: World, path: Path | str, **query: int):
    async with world.client(await world.same_token()) as client:
        return await client.get(f"/api/sessions/{world.session}/output", params={"path": str(path), **query})


async def test_whole_output_is_sent_as_inert_text(world: World, results: Path):
    answer = await fetch(world, results / "out.txt")
    assert answer.text == (results / "out.txt").read_text()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_tail_has_the_last_lines_and_the_number_of_all(world: World, results: Path):
    answer = (await fetch(world, results / "out.txt", tail=2)).json()
    assert answer == {"bytes": (results / "out.txt").stat().st_size, "lines": 1000, "tail": "line 999\nline 1000\n"}


async def test_an_unterminated_last_line_counts(world: World, results: Path):
    (results / "short.txt").write_text("a\nb")
    assert (await fetch(world, results / "short.txt", tail=5)).json() == {"bytes": 3, "lines": 2, "tail": "a\nb"}


async def test_other_files_are_refused(world: World, results: Path):
    transcript = results.parent.parent / "other.jsonl"
    transcript.write_text("{}")
    (results / "link.txt").symlink_to("/etc/passwd")
    for path in (transcript, "/etc/passwd", results / ".." / "x.txt", results.parent / "elsewhere" / "out.txt"):
        assert (await fetch(world, path)).status_code == 403
    for path in (results / "link.txt", results / "missing.txt", results / "sub" / ".." / "missing.txt"):
        assert (await fetch(world, path)).status_code == 404


async def test_output_beyond_the_limit_is_refused(world: World, results: Path):
    with (results / "huge.txt").open("wb") as file:
        file.truncate(READ_LIMIT + 1)
    answer = await fetch(world, results / "huge.txt")
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"
