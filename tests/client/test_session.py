"""A session: how it starts and how that fails, what it sends, how it ends."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import handrail.client.session as module
from handrail import (
    ControlRefused,
    ControlTimeout,
    Disconnected,
    Ending,
    HandshakeFailed,
    NotSupported,
    Options,
    OptionsError,
    Session,
    StartFailed,
    mcp_server,
)
from handrail.testing import ScriptedCli, exits, hold
from handrail.testing.scripted_cli import Refusal
from handrail.testing.scripted_lines import init_line, stream_line
from handrail.transport.memory import MemoryTransport
from tests.client.conversation import PATIENCE, joined
from tests.client.scripted_cli import write_cli

PNG = b"\x89PNG\r\n\x1a\n0000"


def exists(path: str) -> bool:
    return os.path.exists(path)


async def never(_: Any) -> None:
    await asyncio.Event().wait()


async def fails_to_start(options: Options, cli: ScriptedCli | None = None) -> Exception:
    """The error with which a session does not start."""
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - what it is, the tests say
            await Session(options, transport=cli.transport if cli else None).start()
        return caught.value


# The handshake


async def test_a_session_knows_what_the_cli_says_of_itself():
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


async def test_a_handshake_of_a_shape_from_tomorrow_is_good_enough():
    async with joined(ScriptedCli(replies={"initialize": {"commands": "all of them"}})) as session:
        assert session.server_info is not None
        assert session.server_info.commands == []
        assert b"all of them" in session.server_info.raw


async def test_the_handshake_carries_options_hooks_and_servers():
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


async def test_a_prompt_may_be_sent_before_the_handshake_ends_and_comes_after_initialize():
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


async def test_a_handshake_without_an_answer_says_so_and_what_to_look_at(tmp_path: Path):
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


async def test_a_handshake_that_is_refused_gives_the_clis_reason():
    error = await fails_to_start(Options(), ScriptedCli(replies={"initialize": Refusal("hooks are wrong", "bad")}))
    assert isinstance(error, HandshakeFailed)
    assert "the CLI refused: hooks are wrong" in str(error)


async def test_a_cli_that_dies_at_once_gives_its_exit_code_and_last_words(tmp_path: Path):
    cli = write_cli(tmp_path, "sys.stderr.write('unknown option --frobnicate\\n'); raise SystemExit(1)")
    error = await fails_to_start(Options(cli_path=cli, extra_args={"frobnicate": None}))
    assert isinstance(error, StartFailed)
    assert error.stderr == "unknown option --frobnicate"
    for part in ("it ended before the handshake (exit code 1)", "unknown option --frobnicate", "command: "):
        assert part in str(error)


async def test_a_cli_that_says_why_before_it_dies_is_quoted(tmp_path: Path):
    script = """
        errors = ["No conversation found"]
        say({"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": errors})
        raise SystemExit(1)
    """
    error = await fails_to_start(Options(cli_path=write_cli(tmp_path, script), resume="gone"))
    assert isinstance(error, StartFailed)
    assert "it ended before the handshake (exit code 1): No conversation found" in str(error)


async def test_a_program_that_cannot_be_started_is_a_failed_start(tmp_path: Path):
    error = await fails_to_start(Options(cli_path=write_cli(tmp_path, ""), cwd=tmp_path / "missing"))
    assert isinstance(error, StartFailed)
    assert "the working folder does not exist" in str(error)


async def test_when_nobody_waits_for_the_handshake_its_failure_reaches_whoever_waits_for_a_turn():
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
def test_the_environment_may_say_how_long_to_wait(given: str, seconds: float, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(module.TIMEOUT_VARIABLE, given)
    assert Session()._handshake_timeout() == seconds
    assert Session(Options(initialize_timeout=7))._handshake_timeout() == 7


async def test_a_transport_that_cannot_carry_control_needs_no_handshake():
    class Deaf(MemoryTransport):
        can_control = False

    deaf, other = Deaf(), MemoryTransport()
    deaf.other, other.other = other, deaf
    async with asyncio.timeout(PATIENCE), Session(transport=deaf) as session:
        assert session.server_info is not None
        with pytest.raises(NotSupported, match="interrupt: this transport cannot answer control requests"):
            await session.interrupt()


# Wrong use


async def test_a_session_that_is_not_started_says_how_to_start_it():
    session = Session()
    for attempt in (session.send("Hi"), session.ready(), session.interrupt(), session.wait_closed()):
        with pytest.raises(RuntimeError, match="use `async with Session"):
            await attempt
    assert (session.pid, session.ending, session.stderr, session.running) == (None, None, "", False)
    assert session.capabilities == frozenset()
    assert await session.close() == Ending()


async def test_a_session_is_started_once():
    async with joined(ScriptedCli()) as session:
        with pytest.raises(RuntimeError, match="make a new one, with resume="):
            await session.start()


def test_an_option_that_only_the_session_can_check_is_an_options_error():
    with pytest.raises(OptionsError, match="mcp_servers: .*is not an MCP server"):
        Session(Options(mcp_servers={"a": 5}))


# Sending


async def test_a_prompt_goes_out_with_its_uuid_and_what_else_was_said():
    cli = ScriptedCli()
    async with joined(cli, Options(verbatim_prompts=True)) as session:
        turn = await session.send("Hi", uuid="u-1", priority="next", should_query=False)
        await turn
    assert turn.uuid == "u-1"
    assert cli.prompts == [
        {
            "type": "user",
            "message": {"role": "user", "content": "Hi"},
            "parent_tool_use_id": None,
            "session_id": "",
            "uuid": "u-1",
            "priority": "next",
            "shouldQuery": False,
            "client_composed": True,
        }
    ]


async def test_images_go_with_a_prompt_by_path_or_bytes(tmp_path: Path):
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    cli = ScriptedCli()
    async with joined(cli) as session:
        await session.ask("Look", images=[path, PNG])
        with pytest.raises(ValueError, match="not an image"):
            await session.send("Look", images=[b"text"])
    blocks = cli.prompts[0]["message"]["content"]
    assert [block["type"] for block in blocks] == ["text", "image", "image"]
    assert blocks[1] == blocks[2]
    assert len(cli.prompts) == 1


async def test_a_prompt_that_cannot_be_sent_leaves_nothing_to_wait_for():
    cli = ScriptedCli()
    async with joined(cli) as session:
        with pytest.raises(ValueError, match="priority 'soon' is not one of now, next, later"):
            await session.send("Hi", priority="soon")
        with pytest.raises(ValueError, match="half a character at position 0"):
            await session.send("\ud800", uuid="u-1")
        assert (await (await session.send("Hi", uuid="u-1"))).text == "Done."
        with pytest.raises(ValueError, match="was used in this session"):
            await session.send("Hi", uuid="u-1")
    assert len(cli.prompts) == 1


async def test_the_session_follows_its_id_and_the_last_init():
    other = "00000000-0000-4000-8000-000000000009"
    cli = ScriptedCli([["One"], [init_line(session_id=other, model="other")]])
    async with joined(cli) as session:
        assert (session.id, session.info) == ("", None)
        await session.ask("1")
        assert session.id == cli.session_id
        await session.ask("2")
        assert session.id == other
        assert session.info is not None
        assert session.info.model == "other"


async def test_an_init_of_unknown_shape_changes_nothing():
    async with joined(ScriptedCli([["One"], [init_line(tools=5, session_id="other")]])) as session:
        await session.ask("1")
        before = (session.id, session.info)
        await session.ask("2")
        assert (session.id, session.info) == before


async def test_a_line_longer_than_the_limit_is_skipped_and_the_session_goes_on():
    cli = ScriptedCli([[stream_line("x" * 5000), "One"]])
    async with joined(cli, Options(max_buffer_size=4000)) as session:
        turn = await session.send("Hi")
        assert [message.type async for message in turn].count("stream_event") == 0
        assert turn.result.text == "One"


# Control


async def test_a_control_request_without_an_answer_times_out_and_is_withdrawn():
    cli = ScriptedCli(replies={"get_usage": never})
    async with joined(cli, Options(control_timeout=0.05)) as session:
        with pytest.raises(ControlTimeout, match="get_usage: no answer within 0.05 s; pass timeout="):
            await session.get_usage()
        with pytest.raises(ControlTimeout, match="no answer within 0.01 s"):
            await session.get_usage(timeout=0.01)
        await cli.until(lambda: sum(line["type"] == "control_cancel_request" for line in cli.heard) == 2)
        assert (await session.ask("Hi")).text == "Done."


async def test_a_control_request_that_is_refused_has_its_code():
    cli = ScriptedCli(replies={"set_permission_mode": Refusal("no such mode", "invalid_mode")})
    async with joined(cli) as session:
        with pytest.raises(ControlRefused, match=r"set_permission_mode: no such mode \[invalid_mode\]") as caught:
            await session.set_permission_mode("x")
        assert (caught.value.subtype, caught.value.error, caught.value.code) == (
            "set_permission_mode",
            "no such mode",
            "invalid_mode",
        )


async def test_control_is_answered_while_a_turn_floods_a_reader_that_does_not_read():
    cli = ScriptedCli([[*[stream_line("x" * 500)] * 3000, hold("end")]], replies={"get_session_cost": {"text": "$1"}})
    async with joined(cli, Options(inbox_limit=1000)) as session:
        unread = session.messages()
        turn = await session.send("Hi")
        await cli.until(lambda: "end" in cli.held)
        assert (await session.get_session_cost()).text == "$1"
        await session.interrupt()
        assert (await turn).reason == "aborted_streaming"
    assert len([1 async for message in unread if message.type == "stream_event"]) == 3000


async def test_a_request_that_waits_when_the_cli_dies_is_told():
    cli = ScriptedCli([[exits(5)]], replies={"get_usage": never})
    async with joined(cli) as session:
        waiting = asyncio.create_task(session.get_usage())
        await cli.until(lambda: len(cli.requests) == 2)
        await session.send("Die")
        with pytest.raises(Disconnected, match="exit code 5"):
            await waiting


# The end


async def test_closing_says_how_the_cli_ended_and_may_be_done_twice():
    async with joined(ScriptedCli()) as session:
        assert await session.close() == Ending(code=0)
        assert await session.close() == Ending(code=0)
        assert session.ending == Ending(code=0)


async def test_waiting_for_a_cli_that_ends_by_itself():
    cli = ScriptedCli([["Bye", exits(0)]])
    async with joined(cli) as session:
        await session.send("Leave")
        assert await session.wait_closed() == Ending(code=0)


async def test_an_error_in_the_body_of_a_session_comes_out_as_it_is():
    with pytest.raises(ZeroDivisionError):
        async with joined(ScriptedCli()):
            _ = 1 / 0


async def test_closing_that_is_cancelled_while_a_turn_will_not_stop_still_ends_the_cli(tmp_path: Path):
    cli = write_cli(tmp_path, "prompt()\nrequested('interrupt')\nwhile True: hear()")
    async with asyncio.timeout(PATIENCE):
        session = Session(Options(cli_path=cli, settings={"a": 1}))
        await session.start()
        folder = session._launch._folder if session._launch else None
        assert folder is not None
        assert exists(folder)
        turn = await session.send("Hi")
        while (await anext(turn)).type != "system":
            pass
        closing = asyncio.create_task(session.close())
        frames = session.frames()
        async for _, frame in frames:
            if b"interrupt" in frame.raw:
                break
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        assert session.ending is not None
        assert not exists(f"/proc/{session.pid}")
        assert not exists(folder)


async def test_a_start_that_is_cancelled_leaves_no_process(tmp_path: Path):
    cli = write_cli(tmp_path, "while True: sys.stdin.readline()")
    session = Session(Options(cli_path=cli, eof_grace=0.05))
    frames = session.frames()
    async with asyncio.timeout(PATIENCE):
        starting = asyncio.create_task(session.start())
        await anext(frames)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
    assert session.pid is not None
    assert not exists(f"/proc/{session.pid}")


async def test_a_session_may_be_closed_from_inside_a_callback():
    async def leave(_: object) -> Any:
        await session.close()

    cli = ScriptedCli([[{"type": "asks", "request": {"subtype": "can_use_tool", "tool_name": "Bash"}}]])
    async with joined(cli, Options(can_use_tool=leave)) as session:
        turn = await session.send("Hi")
        with pytest.raises(Disconnected):
            await turn
