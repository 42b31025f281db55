"""A session moves to a runner with another home, and its files are rewound there."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from handrail.agent.models.script import Script
from handrail.bridge.cluster.nats.names import TRANSCRIPTS
from handrail.bridge.cluster.transfer.manifest import decode
from handrail.bridge.cluster.transfer.object_store import ObjectStore
from handrail.bridge.server import Bridge
from handrail.testing import NatsServer, ScriptedMessagesApi, text, tool_use
from tests.bridge.cluster_stage import GATEWAY, all_machines_known, laid_out, node, with_keys
from tests.bridge.stage import Clock, Stage

PATIENCE = 90


@asynccontextmanager
async def runner(folder: Path, name: str, server: NatsServer, api: ScriptedMessagesApi) -> AsyncGenerator[Process]:
    """A runner process with its own home."""
    home = folder / name
    home.mkdir()
    arguments = ["--cluster", server.url, "--credentials", server.folder / "runner.nk", "--name", name]
    arguments += ["--data", home / "data", "--root", folder, "--cli", "agent", "--least-memory", 0]
    variables = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
    for variable in variables:
        arguments += ["--pass-env", variable]
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "handrail.cli", "runner", *map(str, arguments)],
        env={**os.environ, **variables, "HOME": str(home)},
        stdin=DEVNULL,
        stdout=PIPE,
    )
    assert process.stdout is not None
    try:
        while not (await process.stdout.readline()).startswith(b"Connected to NATS"):
            assert process.returncode is None
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def until_uploaded(on: Stage, session: str, home: Path) -> None:
    """Wait until NATS has the whole transcript of the session."""
    assert on.bridge.cluster is not None
    store = ObjectStore(on.bridge.cluster.link.js, TRANSCRIPTS)
    while True:
        found = await store.get(session)
        sizes = {file.path: file.size for file in decode(found.data).files} if found is not None else {}
        written = [path.stat().st_size for path in home.glob(".claude/projects/*/*.jsonl")]  # noqa: ASYNC240
        if written == [sizes.get("")]:
            return
        await asyncio.sleep(0.05)


async def test_files_are_rewound_on_the_runner_that_took_the_session_over(tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    old, new = work / "old.txt", work / "new.txt"
    old.write_text("one\n")
    script = Script.of(
        tool_use("Read", file_path=str(old)),
        tool_use("Edit", file_path=str(old), old_string="one", new_string="two"),
        tool_use("Write", file_path=str(new), content="new\n"),
        text("changed"),
        text("hello"),
    )
    async with (
        asyncio.timeout(PATIENCE),
        NatsServer(tmp_path / "nats", extra=with_keys(tmp_path / "nats")) as server,
        ScriptedMessagesApi(script) as api,
    ):
        await laid_out(server)
        async with Bridge(node(tmp_path, "gateway", server, **GATEWAY)) as gateway:
            on = Stage(gateway, tmp_path, Clock())
            async with runner(tmp_path, "runner-1", server, api) as first:
                await all_machines_known({"gateway": gateway})
                session = await on.start(prompt="change them", mode="acceptEdits")
                async with on.viewer(session) as viewer:
                    await viewer.until_result()
                    prompts = {one["uuid"]: one["message"]["content"] for one in viewer.frames("user")}
                    [prompt] = [uuid for uuid, content in prompts.items() if content == "change them"]
                assert (old.read_text(), new.exists()) == ("two\n", True)
                await until_uploaded(on, session, tmp_path / "runner-1")
                first.terminate()
                await first.wait()
            async with runner(tmp_path, "runner-2", server, api):
                async with on.viewer(session) as viewer:
                    await on.do("send", session=session, text="hi")
                    await viewer.until_result(2)
                planned = await on.do("rewind", session=session, message=prompt)
                assert sorted(planned["filesChanged"]) == sorted([str(old), str(new)])
                await on.do("rewind", session=session, message=prompt, dry_run=False, hash=planned["hash"])
            assert (old.read_text(), new.exists()) == ("one\n", False)
