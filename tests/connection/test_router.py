"""Serving requests: exactly one answer each, unless withdrawn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from handrail.connection.router import Refusal, Router
from handrail.protocol.codec import encode_request
from handrail.protocol.frames import Request


class Sent:
    """The answers of a router, in order."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()

    async def answer(self, id: str, payload: Mapping[str, Any] | None) -> None:
        self.answers.put_nowait((id, payload))

    async def refuse(self, id: str, error: str, code: str) -> None:
        self.answers.put_nowait((id, error, code))

    async def next(self) -> tuple[Any, ...]:
        async with asyncio.timeout(10):
            return await self.answers.get()


async def fine(request: Request) -> dict[str, str]:
    return {"subtype": request.subtype}


async def refused(_: Request) -> None:
    raise Refusal("not now", "busy")


async def broken(_: Request) -> None:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("subtype", "answer"),
    [
        ("fine", ("r1", {"subtype": "fine"})),
        ("refused", ("r1", "not now", "busy")),
        ("broken", ("r1", "KeyError: 'x'", "")),
        ("unknown", ("r1", "Unsupported control request subtype: unknown", "unsupported_request")),
    ],
)
async def test_every_request_is_answered(subtype: str, answer: tuple[Any, ...]):
    sent = Sent()
    router = Router({"fine": fine, "refused": refused, "broken": broken}, sent.answer, sent.refuse)
    router.dispatch(encode_request("r1", subtype, {}))
    assert await sent.next() == answer
    await router.close()
    assert sent.answers.empty()


async def test_unknown_withdrawal_is_harmless():
    sent = Sent()
    router = Router({}, sent.answer, sent.refuse)
    router.withdraw("r1")
    assert sent.answers.empty()


@pytest.mark.parametrize("raised", [Refusal("too late"), KeyError("x"), asyncio.CancelledError()])
async def test_withdrawn_handler_does_not_refuse_a_newer_request_with_the_same_id(raised: BaseException):
    started, withdrawn = asyncio.Event(), asyncio.Event()

    async def reacts(_: Request) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            withdrawn.set()
            raise raised from None

    sent = Sent()
    router = Router({"reacts": reacts, "fine": fine}, sent.answer, sent.refuse)
    async with asyncio.timeout(10):
        router.dispatch(encode_request("r1", "reacts", {}))
        await started.wait()
        router.withdraw("r1")
        router.dispatch(encode_request("r1", "fine", {}))
        await withdrawn.wait()
        assert await sent.next() == ("r1", {"subtype": "fine"})
        await router.close()
    assert sent.answers.empty()


async def test_close_waits_for_all_handlers():
    let_go: list[str] = []

    async def slow(request: Request) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            let_go.append(request.id)

    sent = Sent()
    router = Router({"slow": slow}, sent.answer, sent.refuse)
    for id in ("r1", "r2"):
        router.dispatch(encode_request(id, "slow", {}))
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await router.close()
    assert (sorted(let_go), sent.answers.empty()) == (["r1", "r2"], True)


async def test_unsendable_answer_is_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "handrail.connection")
    tried = asyncio.Event()

    async def cannot(*_: Any) -> None:
        tried.set()
        raise OSError("the disk is full")

    router = Router({}, cannot, cannot)
    router.dispatch(encode_request("r1", "anything", {}))
    async with asyncio.timeout(10):
        await tried.wait()
        await router.close()
    await asyncio.sleep(0)
    assert "the answer to r1 could not be sent: the disk is full" in caplog.text
