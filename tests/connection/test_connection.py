"""A connection: two of them joined in memory, or one with raw lines from a test."""

from __future__ import annotations

import asyncio
import logging

import pytest

from handrail.connection import Connection, ControlRefused, ControlTimeout, Disconnected, NotSupported
from handrail.connection.router import Refusal, Reply
from handrail.protocol.codec import (
    decode,
    encode_cancel,
    encode_failure,
    encode_message,
    encode_request,
    encode_success,
)
from handrail.protocol.frames import CancelRequest, Failure, Message, Request, Success
from handrail.protocol.peer import Counts
from handrail.transport.base import Ending
from handrail.transport.memory import memory_pair
from tests.connection.joined import End, alone, joined


async def echo(request: Request) -> dict[str, str]:
    return {"heard": request.body.decode()}


async def never(_: Request) -> None:
    await asyncio.Event().wait()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def test_both_ends_answer_requests():
    async with joined(near={"hook_callback": echo}, far={"set_model": echo}) as (near, far):
        there = await near.connection.request("set_model", {"model": "opus"})
        back = await far.connection.request("hook_callback")
    assert there == encode_success(there.id, {"heard": '{"subtype":"set_model","model":"opus"}'})
    assert back == encode_success(back.id, {"heard": '{"subtype":"hook_callback"}'})
    assert there.id != back.id


async def test_handler_without_a_payload_sends_an_empty_answer():
    async def done(_: Request) -> None:
        return None

    async with joined(far={"interrupt": done}) as (near, _):
        answer = await near.connection.request("interrupt")
    assert answer == encode_success(answer.id, None)


async def test_handler_may_add_fields_next_to_the_payload():
    async def serve(_: Request) -> Reply:
        return Reply({"a": 1}, {"pending": []})

    async with joined(far={"set_model": serve}) as (near, _):
        answer = await near.connection.request("set_model", {})
    assert answer == encode_success(answer.id, {"a": 1}, {"pending": []})


async def test_messages_arrive_in_order():
    frames = [encode_message({"type": "user", "n": n}) for n in range(5)]
    async with joined() as (near, far):
        for frame in frames:
            await near.connection.send(frame)
        assert await far.until(Message, 5) == frames == far.messages


async def test_refusal_has_a_reason_and_a_code():
    async def refuse(_: Request) -> None:
        raise Refusal("no such model", "model_not_found")

    async with joined(far={"set_model": refuse}) as (near, _):
        with pytest.raises(ControlRefused, match=r"^set_model: no such model \[model_not_found\]$") as raised:
            await near.connection.request("set_model", {"model": "x"})
    assert (raised.value.subtype, raised.value.error, raised.value.code) == (
        "set_model",
        "no such model",
        "model_not_found",
    )


async def test_request_without_a_handler_is_unsupported(caplog: pytest.LogCaptureFixture):
    async with joined() as (near, _):
        with pytest.raises(ControlRefused) as raised:
            await near.connection.request("tomorrow")
    assert warnings(caplog) == ["refused the control request 'tomorrow': it has no handler"]
    assert raised.value.error == "Unsupported control request subtype: tomorrow"
    assert raised.value.code == "unsupported_request"


async def test_exception_in_a_handler_becomes_an_answer(caplog: pytest.LogCaptureFixture):
    async def fail(_: Request) -> None:
        raise ValueError("no such thing")

    async with joined(far={"set_model": fail}) as (near, _):
        with pytest.raises(ControlRefused) as raised:
            await near.connection.request("set_model")
    assert (raised.value.error, raised.value.code) == ("ValueError: no such thing", "")
    assert "the handler of set_model failed" in caplog.text


async def test_error_with_unencodable_text_becomes_an_answer(
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level(logging.CRITICAL, "handrail.connection")  # not every log can encode it either

    async def fail(_: Request) -> None:
        raise RuntimeError("half a pair: \ud83e")

    async with joined(far={"set_model": fail}) as (near, _):
        with pytest.raises(ControlRefused, match=r"^set_model: RuntimeError: half a pair: \?$"):
            await near.connection.request("set_model")


async def test_unencodable_payload_is_refused():
    async def answer(_: Request) -> dict[str, object]:
        return {"thing": object()}

    async with joined(far={"set_model": answer}) as (near, _):
        with pytest.raises(ControlRefused, match="TypeError: Encoding objects of type object is unsupported"):
            await near.connection.request("set_model")


async def test_request_is_withdrawn_after_its_timeout():
    async with joined(far={"side_question": never}) as (near, far):
        with pytest.raises(ControlTimeout, match="^side_question: no answer within 0.01 s") as raised:
            await near.connection.request("side_question", timeout=0.01)
        (request,) = far.received(Request)
        assert await far.until(CancelRequest) == [encode_cancel(request.id)]
        assert (raised.value.seconds, isinstance(raised.value, TimeoutError)) == (0.01, True)
        assert dict(near.connection.peer.waiting) == {}


async def test_cancelled_request_is_withdrawn():
    async with joined(far={"side_question": never}) as (near, far):
        asking = asyncio.create_task(near.connection.request("side_question"))
        (request,) = await far.until(Request)
        asking.cancel()
        assert await far.until(CancelRequest) == [encode_cancel(request.id)]
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_late_answer_is_counted_and_dropped(caplog: pytest.LogCaptureFixture):
    async with alone() as (near, far):
        with pytest.raises(ControlTimeout):
            await near.connection.request("set_model", timeout=0.01)
        (id,) = [frame.id for direction, frame in near.seen if direction == "in" and isinstance(frame, Request)]
        for frame in (encode_success(id, None), encode_failure("req_9", "what?")):
            await far.send(frame.raw + b"\n")
        await near.until(Failure)
        assert near.connection.peer.counts == Counts(late_answers=1, unknown_answers=1)
    # Late answers are expected; only an answer to an unknown request is a warning.
    assert warnings(caplog) == ["ignored Failure 'req_9': it answers an unknown request"]


async def test_duplicate_request_is_logged_as_a_warning(caplog: pytest.LogCaptureFixture):
    async with alone({"side_question": never}) as (near, far):
        for subtype in ("side_question", "set_model"):
            await far.send(encode_request("r\n1", subtype, {}).raw + b"\n")
        await near.until(Request, 2)
    assert warnings(caplog) == ["ignored Request 'r\\n1': a request with this id is open already"]


async def test_withdrawal_cancels_the_handler_without_an_answer():
    started, stopped = asyncio.Event(), asyncio.Event()

    async def ask_somebody(_: Request) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with alone({"can_use_tool": ask_somebody, "ping": echo}) as (near, far):
        await far.send(encode_request("r1", "can_use_tool", {}).raw + b"\n")
        await started.wait()
        await far.send(encode_cancel("r1").raw + b"\n")
        await stopped.wait()
        await far.send(encode_request("r2", "ping", {}).raw + b"\n")
        assert decode((await far.receive()).rstrip()) == encode_success("r2", {"heard": '{"subtype":"ping"}'})
        assert [frame for direction, frame in near.seen if direction == "in"] == [
            encode_success("r2", {"heard": '{"subtype":"ping"}'})
        ]


async def test_request_withdrawn_at_once_is_never_served():
    served: list[str] = []

    async def serve(request: Request) -> None:
        served.append(request.id)

    async with alone({"can_use_tool": serve}) as (_, far):
        lines = [
            encode_request("r1", "can_use_tool", {}),
            encode_cancel("r1"),
            encode_request("r2", "can_use_tool", {}),
        ]
        await far.send(b"".join(line.raw + b"\n" for line in lines))
        assert decode((await far.receive()).rstrip()) == encode_success("r2", None)
    assert served == ["r2"]


async def test_stubborn_handler_cannot_answer_a_newer_request_with_its_id():
    """Otherwise a permission could be applied to the wrong request."""
    first_started, release = asyncio.Event(), asyncio.Event()

    async def decide(request: Request) -> dict[str, str]:
        if b"harmless" in request.body:
            first_started.set()
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return {"behavior": "allow"}
        release.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return {"behavior": "deny"}

    async with alone({"can_use_tool": decide}) as (_, far):
        await far.send(encode_request("r1", "can_use_tool", {"input": "harmless"}).raw + b"\n")
        await first_started.wait()
        await far.send(encode_cancel("r1").raw + b"\n")
        await far.send(encode_request("r1", "can_use_tool", {"input": "rm -rf /"}).raw + b"\n")
        assert decode((await far.receive()).rstrip()) == encode_success("r1", {"behavior": "deny"})


async def test_slow_handlers_run_concurrently():
    running: list[str] = []
    all_run, go = asyncio.Event(), asyncio.Event()

    async def slow(request: Request) -> dict[str, int]:
        running.append(request.id)
        if len(running) == 10:
            all_run.set()
        await go.wait()
        return {"n": len(running)}

    async with joined(far={"can_use_tool": slow, "interrupt": echo}) as (near, far):
        asking = [asyncio.create_task(near.connection.request("can_use_tool")) for _ in range(10)]
        await all_run.wait()
        await near.connection.request("interrupt")
        await near.connection.send(encode_message({"type": "user"}))
        assert await far.until(Message) == [encode_message({"type": "user"})]
        assert not any(task.done() for task in asking)
        go.set()
        assert {answer.body for answer in await asyncio.gather(*asking)} == {b'{"n":10}'}


async def test_bad_lines_are_counted_logged_and_skipped(caplog: pytest.LogCaptureFixture):
    good = encode_message({"type": "user"})
    bad = [b"[SandboxDebug] x", b'{"type":"user","x":"\xff"}', b"[]", b"\xef\xbb\xbf{}", b"x" * 300]
    async with alone(line_limit=250) as (near, far):
        await far.send(b"\n".join([*bad, good.raw]) + b"\n\r\n\n" + good.raw + b"\r\n" + b'{"cut')
        assert await near.until(Message, 2) == [good, good] == near.messages
        await far.close()
        await near.connection.closed()
        assert near.connection.bad_lines == len(bad) + 1
    assert [record.message.split(": ")[0] for record in caplog.records] == [
        "bad line of 16 bytes",
        "bad line of 23 bytes",
        "bad line of 2 bytes",
        "bad line of 5 bytes",
        "bad line of 300 bytes",
        "bad line of 5 bytes",
    ]


async def test_content_of_a_bad_line_is_not_logged(caplog: pytest.LogCaptureFixture):
    async with alone() as (near, far):
        await far.send(b"Invalid API key: sk-ant-secret\n" + encode_message({"type": "user"}).raw + b"\n")
        await near.until(Message)
    assert "bad line of 30 bytes" in caplog.text
    assert "secret" not in caplog.text


async def test_failing_listener_closes_the_connection(caplog: pytest.LogCaptureFixture):
    def fail(_: list[Message]) -> None:
        raise KeyError("broken listener")

    left, right = memory_pair()
    endings: list[Ending] = []
    connection = Connection(left, on_messages=fail, on_end=endings.append)
    async with asyncio.timeout(30):
        await connection.start()
        await right.send(encode_message({"type": "user"}).raw + b"\n")
        assert [await connection.closed()] == endings
        with pytest.raises(Disconnected):
            await connection.request("set_model")
    assert "broken listener" in caplog.text


async def test_transport_without_control_rejects_requests():
    left, _ = memory_pair()
    left.can_control = False
    near = End(left)
    with pytest.raises(NotSupported, match="^set_model: this transport cannot answer control requests$"):
        await near.connection.request("set_model")
    assert (near.seen, dict(near.connection.peer.waiting)) == ([], {})


async def test_messages_and_control_frames_keep_their_order():
    """Messages before and after a request are delivered before and after it."""
    known: list[tuple[int, list[str]]] = []

    def take(messages: list[Message]) -> None:
        known.append((len(messages), list(connection.peer.open)))

    one, two, three = (encode_message({"type": "user", "n": n}) for n in (1, 2, 3))
    left, right = memory_pair()
    connection = Connection(left, on_messages=take, handlers={"s": never})
    await connection.start()
    async with asyncio.timeout(30):
        lines = [one, two, encode_request("r1", "s", {}), three, encode_request("r2", "s", {}), one]
        await right.send(b"".join(frame.raw + b"\n" for frame in lines))
        await right.end_input()
        await connection.closed()
        await connection.close()
    assert known == [(2, []), (1, ["r1"]), (1, ["r1", "r2"])]


async def test_answer_precedes_later_messages():
    async with alone() as (near, far):
        asking = asyncio.create_task(near.connection.request("set_model"))
        request = decode((await far.receive()).rstrip())
        assert isinstance(request, Request)
        await far.send(encode_success(request.id, {"a": 1}).raw + b"\n" + encode_message({"type": "user"}).raw + b"\n")
        assert await asking == encode_success(request.id, {"a": 1})


async def test_slow_reader_does_not_delay_control():
    async with joined(far={"interrupt": echo}, near={"can_use_tool": echo}) as (near, far):
        for _ in range(5):
            await far.connection.send(encode_message({"type": "assistant", "text": "x" * 1_000_000}))
        assert isinstance(await near.connection.request("interrupt"), Success)
        assert isinstance(await far.connection.request("can_use_tool"), Success)


async def test_keep_alives_have_no_effect():
    async with alone() as (near, far):
        await far.send(b'{"type":"keep_alive"}\n' + encode_message({"type": "user"}).raw + b"\n")
        await near.until(Message)
        assert (near.messages, near.connection.bad_lines) == ([encode_message({"type": "user"})], 0)


async def test_handlers_and_listeners_are_optional():
    left, right = memory_pair()
    connection = Connection(left, on_messages=lambda _: None)
    await connection.start()
    async with asyncio.timeout(30):
        await right.send(encode_message({"type": "user"}).raw + b"\n" + encode_request("r1", "s", {}).raw + b"\n")
        answer = decode((await right.receive()).rstrip())
        assert answer == encode_failure("r1", "Unsupported control request subtype: s", "unsupported_request")
        await connection.close()
