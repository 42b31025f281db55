"""The SDK without async: plain calls and loops, from any thread."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from handrail import Allow, Disconnected, Ending, Options, TurnCancelled, blocking
from handrail.client import blocking as module
from handrail.testing import Lab, ScriptedCli, asks, exits, hold, merges
from handrail.testing.scripted_cli import Refusal
from tests.client.scripted_cli import write_cli

PATIENCE = 10
BASH = asks("can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="toolu_1")
FOREVER = """
prompt()
while True:
    say(assistant("more"))
    answer(hear())
"""


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "handrail"]


def in_time(work: Callable[[], Any]) -> Any:
    """Call a function in a thread, with a timeout."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(PATIENCE)


def test_session_with_plain_calls_and_loops():
    cli = ScriptedCli([["One"], ["Two"], ["Three"]], replies={"get_binary_version": {"version": "2"}})
    with blocking.Session(transport=cli.transport) as session:
        turn = session.send("1", uuid="u-1")
        assert turn.uuid == "u-1"
        assert [message.type for message in turn][-2:] == ["assistant", "result"]
        assert (turn.result.text, turn.done, turn.state, turn.from_cli) == ("One", True, "ended", False)
        assert session.send("2").wait().text == "Two"
        assert session.ask("3").text == "Three"
        assert session.get_binary_version().version == "2"
        assert session.id == cli.session_id
        assert session.server_info.pid == 1
    assert session.ending == Ending(code=0)
    assert session.id == cli.session_id
    assert threads() == []


def test_text_is_streamed():
    with blocking.Session(transport=ScriptedCli([["Hello ", "world"]]).transport) as session:
        assert list(session.send("Hi").text()) == ["Hello ", "world"]


def test_messages_frames_and_turns_can_be_followed():
    cli = ScriptedCli([["One"]])
    with blocking.Session(transport=cli.transport) as session:
        messages, frames, turns = session.messages(limit=10_000, policy="fail"), session.frames(), session.turns()
        session.ask("Hi")
        assert next(turns).result.text == "One"
    assert "assistant" in [message.type for message in messages]
    assert next(frames)[0] == "in"
    assert list(turns) == []


def test_queued_prompt_can_be_cancelled():
    with blocking.Session(transport=ScriptedCli([[merges(2)]]).transport) as session:
        turn = session.send("1")
        assert turn.cancel()
        with pytest.raises(TurnCancelled):
            turn.wait()


def test_plain_callbacks_can_use_the_session():
    def decide(_: object) -> Allow:
        session.rename_session("asked")
        return Allow()

    cli = ScriptedCli([[BASH]])
    with blocking.Session(Options(can_use_tool=decide), transport=cli.transport) as session:
        session.ask("Hi")
    assert cli.answers == [{"behavior": "allow", "updatedInput": {"command": "ls"}, "toolUseID": "toolu_1"}]
    assert cli.requests[-1] == {"subtype": "rename_session", "title": "asked"}


def test_async_callback_cannot_use_a_blocking_session():
    async def decide(_: object) -> Allow:
        session.rename_session("asked")
        return Allow()

    cli = ScriptedCli([[BASH]])
    with blocking.Session(Options(can_use_tool=decide), transport=cli.transport) as session:
        session.ask("Hi")
    assert "make the callback a plain function" in str(cli.answers[0])


def test_several_threads_share_one_session():
    cli = ScriptedCli([[f"{number}"] for number in range(8)])
    with blocking.Session(transport=cli.transport) as session, ThreadPoolExecutor(8) as pool:
        texts = pool.map(lambda _: session.ask("Hi").text, range(8), timeout=PATIENCE)
        assert sorted(texts) == [str(number) for number in range(8)]


def test_waiting_thread_is_woken_when_the_session_closes():
    cli = ScriptedCli([[merges(2)]])
    session = blocking.Session(transport=cli.transport)
    session.start()
    turn = session.send("Hi")
    with ThreadPoolExecutor(2) as pool:
        waiting, reading = pool.submit(turn.wait), pool.submit(list, turn)
        session.close()
        for thread in (waiting, reading):
            assert isinstance(thread.exception(PATIENCE), Disconnected)
    assert threads() == []


def test_session_closes_even_if_a_plain_callback_never_returns():
    stuck, asked = threading.Event(), threading.Event()

    def decide(_: object) -> Allow:
        asked.set()
        stuck.wait(60)
        return Allow()

    def work() -> None:
        with blocking.Session(Options(can_use_tool=decide), transport=ScriptedCli([[BASH]]).transport) as session:
            session.send("Hi")
            assert asked.wait(PATIENCE)

    try:
        in_time(work)
    finally:
        stuck.set()


def test_session_that_is_not_running_is_an_error():
    session = blocking.Session(transport=ScriptedCli().transport)
    for attempt in (lambda: session.send("Hi"), lambda: session.interrupt(), lambda: session.id):
        with pytest.raises(RuntimeError, match="use `with Session"):
            attempt()
    assert session.close() == Ending()
    with session:
        turn = session.send("Hi")
        turn.wait()
        with pytest.raises(RuntimeError, match="started once"):
            session.start()
    for attempt in (lambda: session.send("Hi"), lambda: session.interrupt(), session.messages):
        with pytest.raises(RuntimeError, match="not running"):
            attempt()
    assert turn.wait().text == "Done."
    assert [message.type for message in turn][-1] == "result"
    assert session.close() == Ending(code=0)


def test_waiting_for_a_closed_session_is_an_error():
    async def wait() -> None:
        await asyncio.sleep(0)

    loop = module._Loop()
    loop.stop()
    loop.stop()
    with pytest.raises(RuntimeError, match="the session has been closed"):
        loop.run(wait())


def test_pending_calls_are_cancelled_when_the_loop_stops():
    loop, waits = module._Loop(), threading.Event()

    async def wait() -> None:
        waits.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(loop.run, wait())
        assert waits.wait(PATIENCE)
        loop.stop()
        assert type(waiting.exception(PATIENCE)).__name__ == "CancelledError"
    assert threads() == []


def test_failed_start_leaves_no_thread():
    cli = ScriptedCli(replies={"initialize": Refusal("no")})
    with pytest.raises(Exception, match="the CLI refused: no"):
        blocking.Session(transport=cli.transport).start()
    assert threads() == []


def test_unknown_name_is_an_attribute_error():
    with blocking.Session(transport=ScriptedCli().transport) as session:
        with pytest.raises(AttributeError):
            session.no_such_thing()
        with pytest.raises(AttributeError):
            _ = session._nothing


def test_exit_of_the_cli_is_raised_in_the_loop():
    with blocking.Session(transport=ScriptedCli([["One", exits(3)]]).transport) as session:
        turn = session.send("Hi")
        with pytest.raises(Disconnected, match="exit code 3"):
            list(turn)
        assert session.wait_closed().code == 3


class Interrupted(BaseException):
    """Like KeyboardInterrupt, but does not stop the test runner."""


def test_keyboard_interrupt_in_the_loop_stops_the_child(tmp_path: Path):
    lab = Lab(tmp_path)
    options = Options(cli_path=write_cli(tmp_path, FOREVER), env=lab.environment())
    session = blocking.Session(options)

    def work() -> None:
        with session:
            for message in session.send("Hi"):
                if message.type == "assistant":
                    raise Interrupted

    with pytest.raises(Interrupted):
        work()
    assert session.ending is not None
    assert lab.leftovers() == []
    assert threads() == []


def test_keyboard_interrupt_cancels_a_waiting_call(monkeypatch: pytest.MonkeyPatch):
    cli = ScriptedCli([[hold("never")]])
    with blocking.Session(transport=cli.transport) as session:
        turn = session.send("Hi")
        loop = session._loop
        assert loop is not None
        submit, futures = loop._submit, list[Any]()

        def interrupted(coroutine: Any) -> Any:
            future = submit(coroutine)
            futures.append(future)
            monkeypatch.setattr(loop, "_submit", submit)
            monkeypatch.setattr(future, "result", lambda: (_ for _ in ()).throw(Interrupted))
            return future

        monkeypatch.setattr(loop, "_submit", interrupted)
        with pytest.raises(Interrupted):
            turn.wait()
        assert futures[0].cancelled()
        assert session.interrupt().still_queued == []
        assert turn.wait().is_error


@pytest.mark.parametrize("leave", ["read it all", "break", "error"])
def test_query_leaves_no_process_however_its_loop_ends(leave: str, tmp_path: Path):
    lab = Lab(tmp_path)
    script = 'prompt()\nsay(assistant("Hello"))\nsay(result("Hello"))'
    options = Options(cli_path=write_cli(tmp_path, script), env=lab.environment())

    def work() -> list[str]:
        seen: list[str] = []
        for message in blocking.query("Hi", options):
            seen.append(message.type)
            if leave == "break" and message.type == "assistant":
                break
            if leave == "error" and message.type == "assistant":
                raise Interrupted
        return seen

    if leave == "error":
        with pytest.raises(Interrupted):
            work()
    else:
        assert work()[-1] == ("result" if leave == "read it all" else "assistant")
    assert lab.leftovers() == []
    assert threads() == []


def test_blocking_is_exported():
    assert (blocking.Session, blocking.Turn, blocking.query) == (module.Session, module.Turn, module.query)
