"""Cases in which other SDKs leave processes or warnings behind, with real processes."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

import handrail
from tests.client.scripted_cli import write_cli
from tests.client.scripted_session import PATIENCE, scripted_session


def has_ended(handles: list[int]) -> bool:
    """Wait for the processes behind these pidfds; returns whether all have exited."""
    try:
        return all(select.select([handle], [], [], PATIENCE)[0] for handle in handles)
    finally:
        for handle in handles:
            os.close(handle)


async def test_a_session_is_opened_used_and_closed_by_different_tasks(tmp_path: Path):
    script = """
        for _ in range(2):
            say(result(prompt()))
    """
    context = scripted_session(tmp_path, script)
    session = await asyncio.create_task(context.__aenter__())
    texts = [(await asyncio.create_task(session.ask(prompt))).text for prompt in ("one", "two")]
    await asyncio.create_task(context.__aexit__(None, None, None))
    assert (texts, session.ending.code) == (["one", "two"], 0)


STUBBORN = """
    import signal, subprocess
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    grandchild = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    prompt()
    say({"type": "pids", "pids": [os.getpid(), grandchild.pid]})
    answer(requested("interrupt"))
    try:
        hear()
    except SystemExit:
        say({"type": "end_of_input"})
    while True:
        signal.pause()
"""
"""Ignores end of input and SIGTERM, and has a child in another session."""


async def cancelled(context: Any, *, again: bool) -> list[int]:
    """Cancel the user of a session, with `again` a second time while it closes. Returns handles of its processes."""
    opened: asyncio.Future[handrail.MessageReader] = asyncio.get_running_loop().create_future()

    async def work() -> None:
        async with context as session:
            opened.set_result(session.messages())
            await (await session.send("go"))

    task = asyncio.create_task(work())
    async with asyncio.timeout(PATIENCE):
        messages = await opened
        handles = [os.pidfd_open(pid) for pid in json.loads((await first(messages, "pids")).raw)["pids"]]
        task.cancel()
        if again:
            await first(messages, "end_of_input")
            task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()
    return handles


async def first(messages: handrail.MessageReader, kind: str) -> handrail.MessageView:
    """The first message of a type."""
    async for message in messages:
        if message.type == kind:
            return message
    raise AssertionError(f"the session ended without {kind}")


async def test_cancelled_caller_leaves_no_process(tmp_path: Path):
    assert has_ended(
        await cancelled(scripted_session(tmp_path, STUBBORN, eof_grace=0.01, term_grace=0.01), again=False)
    )


async def test_caller_cancelled_while_closing_leaves_no_process(tmp_path: Path):
    assert has_ended(await cancelled(scripted_session(tmp_path, STUBBORN, eof_grace=1000, term_grace=1000), again=True))


PARENT = """
import asyncio, handrail, sys
async def main():
    async with handrail.Session(handrail.Options(cli_path=sys.argv[1])) as session:
        async for message in await session.send("go"):
            if message.type == "pids":
                print(message.raw.decode(), flush=True)
asyncio.run(main())
"""


def test_killed_parent_leaves_no_process(tmp_path: Path):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, write_cli(tmp_path, STUBBORN)], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout
        pids = json.loads(parent.stdout.readline())["pids"]
        helpers = [child.pid for child in psutil.Process(parent.pid).children() if child.pid not in pids]
        handles = [os.pidfd_open(pid) for pid in (*pids, *helpers)]
        parent.send_signal(signal.SIGKILL)
    assert has_ended(handles)


TIDY = """
import asyncio, handrail, sys
async def main():
    asyncio.get_running_loop().slow_callback_duration = 1000
    options = handrail.Options(cli_path=sys.argv[1], can_use_tool=lambda request: handrail.Allow())
    async with handrail.Session(options) as session:
        print((await session.ask("go")).text)
        reader, turn = session.messages(limit=1000), await session.send("more")
        async for message in turn:
            break
    async for message in handrail.query("go", options):
        if message.type == "result":
            print(message.text)
asyncio.run(main())
"""


def test_program_exits_without_warnings(tmp_path: Path):
    cli = write_cli(
        tmp_path,
        """
        prompt()
        ask("can_use_tool", **permission())
        say(result("done"))
        prompt()
        say(*[partial() for _ in range(1000)])
        """,
    )
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", TIDY, cli], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "done\ndone\n", "")
