"""A session: starting, sending, control requests, ending."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from handrail import (
    ControlRefused,
    ControlTimeout,
    Disconnected,
    Ending,
    Options,
    OptionsError,
    Session,
)
from handrail.client import session as session_module
from handrail.testing import ScriptedCli, exits, hold
from handrail.testing.scripted_cli import Refusal
from handrail.testing.scripted_lines import init_line, stream_line
from tests.client.conversation import PATIENCE, joined
from tests.client.scripted_cli import write_cli

PNG = b"\x89PNG\r\n\x1a\n0000"


def exists(path: str) -> bool:
    return os.path.exists(path)


async def never(_: Any) -> None:
    await asyncio.Event().wait()


async def test_unstarted_session_error_has_advice():
    session = Session()
    for attempt in (session.send("Hi"), session.ready(), session.interrupt(), session.wait_closed()):
        with pytest.raises(RuntimeError, match="use `async with Session"):
            await attempt
    assert (session.pid, session.ending, session.stderr, session.running) == (None, None, "", False)
    assert session.capabilities == frozenset()
    assert await session.close() == Ending()


async def test_session_cannot_be_started_twice():
    async with joined(ScriptedCli()) as session:
        with pytest.raises(RuntimeError, match="make a new one, with resume="):
            await session.start()


def test_options_checked_at_start_raise_options_error():
    with pytest.raises(OptionsError, match="mcp_servers: .*is not an MCP server"):
        Session(Options(mcp_servers={"a": 5}))


# Sending


async def test_prompt_is_sent_with_uuid_and_fields():
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


async def test_images_are_sent_by_path_or_bytes(tmp_path: Path):
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


async def test_unencodable_prompt_leaves_no_turn():
    cli = ScriptedCli()
    async with joined(cli) as session:
        with pytest.raises(ValueError, match="priority 'soon' is not one of now, next, later"):
            await session.send("Hi", priority="soon")
        with pytest.raises(ValueError, match="unpaired surrogate at position 0"):
            await session.send("\ud800", uuid="u-1")
        assert (await (await session.send("Hi", uuid="u-1"))).text == "Done."
        with pytest.raises(ValueError, match="was used in this session"):
            await session.send("Hi", uuid="u-1")
    assert len(cli.prompts) == 1


async def test_only_the_newest_uuids_are_remembered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session_module, "REMEMBERED", 3)
    cli = ScriptedCli([["Yes"]] * 5)
    async with joined(cli) as session:
        for n in range(5):
            await (await session.send("Hi", uuid=f"u-{n}"))
        assert [session.has_sent(f"u-{n}") for n in range(5)] == [False, False, True, True, True]


async def test_session_id_and_info_follow_init():
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


async def test_init_of_unknown_shape_is_ignored():
    async with joined(ScriptedCli([["One"], [init_line(tools=5, session_id="other")]])) as session:
        await session.ask("1")
        before = (session.id, session.info)
        await session.ask("2")
        assert (session.id, session.info) == before


async def test_overlong_line_is_skipped():
    cli = ScriptedCli([[stream_line("x" * 5000), "One"]])
    async with joined(cli, Options(max_buffer_size=4000)) as session:
        turn = await session.send("Hi")
        assert [message.type async for message in turn].count("stream_event") == 0
        assert turn.result.text == "One"


# Control


async def test_control_request_times_out_and_is_withdrawn():
    cli = ScriptedCli(replies={"get_usage": never})
    async with joined(cli, Options(control_timeout=0.05)) as session:
        with pytest.raises(ControlTimeout, match="get_usage: no answer within 0.05 s; pass timeout="):
            await session.get_usage()
        with pytest.raises(ControlTimeout, match="no answer within 0.01 s"):
            await session.get_usage(timeout=0.01)
        await cli.until(lambda: sum(line["type"] == "control_cancel_request" for line in cli.heard) == 2)
        assert (await session.ask("Hi")).text == "Done."


async def test_refused_control_request_has_its_code():
    cli = ScriptedCli(replies={"set_permission_mode": Refusal("no such mode", "invalid_mode")})
    async with joined(cli) as session:
        with pytest.raises(ControlRefused, match=r"set_permission_mode: no such mode \[invalid_mode\]") as caught:
            await session.set_permission_mode("x")
        assert (caught.value.subtype, caught.value.error, caught.value.code) == (
            "set_permission_mode",
            "no such mode",
            "invalid_mode",
        )


async def test_control_is_answered_during_a_flood_of_unread_messages():
    cli = ScriptedCli([[*[stream_line("x" * 500)] * 3000, hold("end")]], replies={"get_session_cost": {"text": "$1"}})
    async with joined(cli, Options(inbox_limit=1000)) as session:
        unread = session.messages()
        turn = await session.send("Hi")
        await cli.until(lambda: "end" in cli.held)
        assert (await session.get_session_cost()).text == "$1"
        await session.interrupt()
        assert (await turn).reason == "aborted_streaming"
    assert len([1 async for message in unread if message.type == "stream_event"]) == 3000


async def test_pending_request_fails_when_the_cli_exits():
    cli = ScriptedCli([[exits(5)]], replies={"get_usage": never})
    async with joined(cli) as session:
        waiting = asyncio.create_task(session.get_usage())
        await cli.until(lambda: len(cli.requests) == 2)
        await session.send("Die")
        with pytest.raises(Disconnected, match="exit code 5"):
            await waiting


# The end


async def test_close_returns_the_ending_and_is_idempotent():
    async with joined(ScriptedCli()) as session:
        assert await session.close() == Ending(code=0)
        assert await session.close() == Ending(code=0)
        assert session.ending == Ending(code=0)


async def test_wait_closed_returns_when_the_cli_exits():
    cli = ScriptedCli([["Bye", exits(0)]])
    async with joined(cli) as session:
        await session.send("Leave")
        assert await session.wait_closed() == Ending(code=0)


async def test_error_in_the_body_is_raised_unchanged():
    with pytest.raises(ZeroDivisionError):
        async with joined(ScriptedCli()):
            _ = 1 / 0


async def test_cancelled_close_still_stops_the_cli(tmp_path: Path):
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


async def test_cancelled_start_leaves_no_process(tmp_path: Path):
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


async def test_session_can_be_closed_from_a_callback():
    async def leave(_: object) -> Any:
        await session.close()

    cli = ScriptedCli([[{"type": "asks", "request": {"subtype": "can_use_tool", "tool_name": "Bash"}}]])
    async with joined(cli, Options(can_use_tool=leave)) as session:
        turn = await session.send("Hi")
        with pytest.raises(Disconnected):
            await turn
