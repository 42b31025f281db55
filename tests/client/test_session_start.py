"""Starting a session: the handshake and its failures."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import handrail.client.session as module
from handrail import (
    Disconnected,
    HandshakeFailed,
    NotSupported,
    Options,
    Session,
    StartFailed,
    mcp_server,
)
from handrail.testing import ScriptedCli, hold
from handrail.testing.scripted_cli import Refusal
from handrail.transport.memory import MemoryTransport
from tests.client.conversation import PATIENCE, joined
from tests.client.scripted_cli import write_cli


async def fails_to_start(options: Options, cli: ScriptedCli | None = None) -> Exception:
    """The error raised by a failed start."""
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - what it is, the tests say
            await Session(options, transport=cli.transport if cli else None).start()
        return caught.value


# The handshake


async def test_session_has_the_handshake_answer():
    answer = {"commands": [{"name": "clear"}], "models": [{"value": "m"}], "capabilities": ["a"], "pid": 7}
    async with joined(ScriptedCli(replies={"initialize": answer})) as session:
        assert session.server_info is not None
        assert await session.ready() is session.server_info
        assert [command.name for command in session.server_info.commands] == ["clear"]
        assert session.capabilities == {"a"}
        assert session.pid is None
        assert session.ending is None
        await session.ask("Hi")
        assert session.capabilities == {"interrupt_receipt_v1"}


async def test_handshake_answer_of_unknown_shape_is_accepted():
    async with joined(ScriptedCli(replies={"initialize": {"commands": "all of them"}})) as session:
        assert session.server_info is not None
        assert session.server_info.commands == []
        assert b"all of them" in session.server_info.raw


async def test_handshake_contains_options_hooks_and_servers():
    async def on_stop(_: object) -> None: ...

    cli = ScriptedCli()
    options = Options(system_prompt="Be brief.", hooks={"Stop": [on_stop]}, mcp_servers=[mcp_server("calc")], title="T")
    async with joined(cli, options):
        pass
    assert cli.requests[0] == {
        "subtype": "initialize",
        "systemPrompt": ["Be brief."],
        "title": "T",
        "hooks": {"Stop": [{"matcher": None, "hookCallbackIds": ["hook_0"]}]},
        "sdkMcpServers": ["calc"],
    }


async def test_prompt_before_the_end_of_the_handshake_follows_initialize():
    answered = asyncio.Event()

    async def later(_: Any) -> dict[str, Any]:
        await answered.wait()
        return {"pid": 7}

    cli = ScriptedCli([["Hello"]], replies={"initialize": later})
    async with joined(cli, Options(wait_until_ready=False)) as session:
        assert session.server_info is None
        turn = await session.send("Hi")
        assert (await turn).text == "Hello"
        assert session.server_info is None
        answered.set()
        assert (await session.ready()).pid == 7
    assert [line["type"] for line in cli.heard[:2]] == ["control_request", "user"]


async def test_handshake_timeout_error_has_advice(tmp_path: Path):
    cli = tmp_path / "cli"
    cli.write_text("#!/bin/sh\necho loading plugins >&2\nexec sleep 60\n")
    cli.chmod(0o700)
    options = Options(cli_path=cli, initialize_timeout=1, eof_grace=0.01, extra_args={"api-key": "sk-ant-abcdefgh"})
    error = await fails_to_start(options)
    assert isinstance(error, HandshakeFailed)
    for part in ("no answer within 1 s", "initialize_timeout=", "loading plugins", "`name`", "--api-key=***"):
        assert part in str(error)
    assert "sk-ant-abcdefgh" not in str(error)
    assert error.stderr == "loading plugins"
    assert error.argv[-1] == "--api-key=***"


async def test_refused_handshake_has_the_reason():
    error = await fails_to_start(Options(), ScriptedCli(replies={"initialize": Refusal("hooks are wrong", "bad")}))
    assert isinstance(error, HandshakeFailed)
    assert "the CLI refused: hooks are wrong" in str(error)


async def test_cli_that_exits_at_once_is_reported_with_code_and_stderr(tmp_path: Path):
    cli = write_cli(tmp_path, "sys.stderr.write('unknown option --frobnicate\\n'); raise SystemExit(1)")
    error = await fails_to_start(Options(cli_path=cli, extra_args={"frobnicate": None}))
    assert isinstance(error, StartFailed)
    assert error.stderr == "unknown option --frobnicate"
    for part in ("it ended before the handshake (exit code 1)", "unknown option --frobnicate", "command: "):
        assert part in str(error)


async def test_error_of_a_failing_cli_is_quoted(tmp_path: Path):
    script = """
        errors = ["No conversation found"]
        say({"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": errors})
        raise SystemExit(1)
    """
    error = await fails_to_start(Options(cli_path=write_cli(tmp_path, script), resume="gone"))
    assert isinstance(error, StartFailed)
    assert "it ended before the handshake (exit code 1): No conversation found" in str(error)


async def test_unstartable_program_is_start_failed(tmp_path: Path):
    error = await fails_to_start(Options(cli_path=write_cli(tmp_path, ""), cwd=tmp_path / "missing"))
    assert isinstance(error, StartFailed)
    assert "the working folder does not exist" in str(error)


async def test_handshake_failure_reaches_waiting_turns():
    cli = ScriptedCli([[hold("never")]], replies={"initialize": Refusal("no")})
    async with joined(cli, Options(wait_until_ready=False)) as session:
        turn = await session.send("Hi")
        with pytest.raises(Disconnected) as caught:
            await turn
        assert isinstance(caught.value.__cause__, HandshakeFailed)
        with pytest.raises(HandshakeFailed, match="the CLI refused: no"):
            await session.ready()
        assert session.server_info is None


@pytest.mark.parametrize(("given", "seconds"), [("", 60.0), ("5000", 5.0), ("1", 1.0), ("soon", 60.0)])
def test_handshake_timeout_from_the_environment(given: str, seconds: float, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(module.TIMEOUT_VARIABLE, given)
    assert Session()._handshake_timeout() == seconds
    assert Session(Options(initialize_timeout=7))._handshake_timeout() == 7


async def test_transport_without_control_skips_the_handshake():
    class Deaf(MemoryTransport):
        can_control = False

    deaf, other = Deaf(), MemoryTransport()
    deaf.other, other.other = other, deaf
    async with asyncio.timeout(PATIENCE), Session(transport=deaf) as session:
        assert session.server_info is not None
        with pytest.raises(NotSupported, match="interrupt: this transport cannot answer control requests"):
            await session.interrupt()


# Wrong use
