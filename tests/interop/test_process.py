"""The CLI process: arguments, exit, and no processes left, even if the parent is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail import Disconnected, HandshakeFailed, OptionsError, Session, StartFailed
from handrail.testing import Endpoint, Lab, hang, text
from tests.interop.scenario import (
    LIMIT,
    Model,
    SessionOptions,
    Talk,
    bash,
    ended,
    first_line,
    results_sent,
)

ENDLESS = "echo $$ > pipe; while true; do sleep 1; done"


@pytest.fixture
def pipe(lab: Lab) -> Path:
    """A named pipe in the project, to which a command writes its process id."""
    path = lab.project / "pipe"
    os.mkfifo(path)
    return path


async def test_secrets_of_the_host_are_not_passed_to_tools(model: Model, talk: Talk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "correct-horse")
    api = model(bash("env"), text("done"))
    async with talk(api, can_use_tool=lambda request: True) as session:
        await session.ask("go")
    (printed,) = results_sent(api.main_requests[1])
    assert "PATH=" in printed
    assert "correct-horse" not in printed


async def test_inherit_env_passes_the_whole_environment(model: Model, talk: Talk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAVOURITE_COLOUR", "teal")
    api = model(bash("env"), text("done"))
    async with talk(api, can_use_tool=lambda request: True, inherit_env=True) as session:
        await session.ask("go")
    assert "FAVOURITE_COLOUR=teal" in results_sent(api.main_requests[1])[0]


async def test_killed_cli_ends_the_turn_and_leaves_no_commands(model: Model, talk: Talk, lab: Lab, pipe: Path):
    async with talk(model(bash(ENDLESS)), can_use_tool=lambda request: True) as session:
        turn = await session.send("run it")
        command = int(await first_line(pipe))
        assert session.server_info is not None
        assert session.pid == session.server_info.pid
        os.kill(session.pid or 0, signal.SIGKILL)
        with pytest.raises(Disconnected, match="SIGKILL") as caught:
            await turn
        assert (caught.value.ending.signal, caught.value.exit_code) == ("SIGKILL", None)
        await ended(command)
        assert lab.leftovers() == []
        with pytest.raises(Disconnected):
            await session.send("are you there?")
        with pytest.raises(Disconnected):
            await session.mcp_status()
    assert session.ending == caught.value.ending


async def test_killed_cli_ends_its_readers(model: Model, talk: Talk):
    api = model([text("Once upon"), hang()])
    async with talk(api) as session:
        messages, turns = session.messages(), session.turns()
        turn = await session.send("go")
        await api.hanging()
        os.kill(session.pid or 0, signal.SIGKILL)
        assert [message.type async for message in messages][-1] != "result"
        assert [each async for each in turns] == [turn]
        with pytest.raises(Disconnected):
            _ = [message async for message in turn]
        assert (await session.wait_closed()).signal == "SIGKILL"


async def test_killed_cli_fails_pending_requests(model: Model, talk: Talk):
    async with talk(model()) as session:
        os.kill(session.pid or 0, signal.SIGSTOP)
        waiting = asyncio.create_task(session.mcp_status())
        os.kill(session.pid or 0, signal.SIGKILL)
        with pytest.raises(Disconnected):
            await waiting


async def test_exit_code_of_a_terminated_cli_is_reported(model: Model, talk: Talk):
    api = model([text("Once upon"), hang()])
    async with talk(api) as session:
        turn = await session.send("go")
        await api.hanging()
        os.kill(session.pid or 0, signal.SIGTERM)
        with pytest.raises(Disconnected) as caught:
            await turn
    assert caught.value.exit_code == 143


async def test_end_session_ends_the_cli(model: Model, talk: Talk):
    async with talk(model(text("hi"))) as session:
        await session.ask("hello")
        await session.control("end_session")
        ending = await session.wait_closed()
    assert (ending.code, ending.signal) == (0, None)


async def test_cancelled_caller_leaves_no_processes(
    model: Model, session_options: SessionOptions, lab: Lab, pipe: Path
):
    options = session_options(model(bash(ENDLESS)), can_use_tool=lambda request: True)

    async def work() -> None:
        async with Session(options) as session:
            await session.ask("run it")

    async with asyncio.timeout(LIMIT):
        task = asyncio.create_task(work())
        command = int(await first_line(pipe))
        assert command in lab.leftovers()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert lab.leftovers() == []


async def test_handshake_times_out(model: Model, talk: Talk, lab: Lab):
    with pytest.raises(HandshakeFailed, match="no answer within 0.01 s"):
        async with talk(model(), initialize_timeout=0.01):
            pass
    assert lab.leftovers() == []


async def test_exception_of_the_caller_propagates(model: Model, talk: Talk, lab: Lab):
    api = model([text("Once upon"), hang()])

    async def program() -> None:
        async with talk(api) as session:
            await session.send("go")
            await api.hanging()
            raise LookupError("my own")

    with pytest.raises(LookupError, match="my own"):
        await program()
    assert lab.leftovers() == []


PARENT = """
import asyncio, json, sys
import handrail

async def main():
    options = handrail.Options(can_use_tool=lambda request: True, **json.loads(sys.argv[1]))
    async with handrail.Session(options) as session:
        await session.ask("run it")

asyncio.run(main())
"""


def parent_arguments(cli: Path, lab: Lab, endpoint: Endpoint) -> list[str]:
    """The command of a program that starts a session and then waits forever."""
    options: dict[str, Any] = {"cli_path": str(cli), "cwd": str(lab.project), "env": lab.environment(endpoint)}
    return [sys.executable, "-c", PARENT, json.dumps(options)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
async def test_killed_program_leaves_no_processes(number: int, cli: Path, model: Model, lab: Lab, pipe: Path):
    endpoint = model(bash(ENDLESS))
    async with asyncio.timeout(LIMIT):
        parent = await asyncio.create_subprocess_exec(*parent_arguments(cli, lab, endpoint))
        command = int(await first_line(pipe))
        left = lab.leftovers()
        assert command in left
        parent.send_signal(number)
        assert await parent.wait() == -number
        for pid in left:
            await ended(pid)


async def test_unknown_flag_error_contains_stderr(model: Model, talk: Talk):
    heard: list[str] = []
    with pytest.raises(StartFailed, match="unknown option '--no-such-flag'") as caught:
        async with talk(model(), extra_args={"no-such-flag": None}, stderr=heard.append):
            pass
    assert "--no-such-flag" in caught.value.argv
    assert "unknown option" in caught.value.stderr
    assert "unknown option" in "".join(heard)


async def test_missing_folder_is_in_the_error(model: Model, talk: Talk, lab: Lab):
    with pytest.raises(StartFailed, match="does not exist"):
        async with talk(model(), cwd=lab.project / "nowhere"):
            pass


async def test_missing_cli_is_in_the_error(model: Model, talk: Talk, lab: Lab):
    with pytest.raises(OptionsError, match="no-claude does not exist"):
        async with talk(model(), cli_path=lab.project / "no-claude"):
            pass


async def test_two_sessions_run_concurrently(model: Model, talk: Talk, lab: Lab):
    first, second = model([text("one"), hang()]), model(text("two"))
    async with talk(first) as left, talk(second) as right:
        slow = await left.send("a")
        await first.hanging()
        assert (await right.ask("b")).text == "two"
        first.release()
        assert (await slow).text == "one"
        assert left.id != right.id
        assert len(lab.leftovers()) == 2
