"""JSON-RPC over lines: what a peer does with good and bad messages of the other side."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from handrail.acp.rpc import MOST_AT_ONCE, RpcError, RpcPeer
from handrail.transport.memory import memory_pair


class Other:
    """The other side of a connection, which sends and reads plain lines."""

    def __init__(self, transport: Any) -> None:
        self._transport, self._lines = transport, list[bytes]()

    async def send(self, message: Any) -> None:
        await self._transport.send((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")

    async def read(self) -> dict[str, Any]:
        while not self._lines:
            self._lines += (await self._transport.receive()).splitlines()
        return json.loads(self._lines.pop(0))

    async def end(self) -> None:
        await self._transport.close()


@pytest.fixture
async def sides() -> AsyncIterator[tuple[RpcPeer, Other, list[Any]]]:
    ours, theirs = memory_pair()
    noticed = list[Any]()

    async def answer(method: str, params: Any) -> Any:
        if method == "fail":
            raise RpcError(-32001, "it failed", {"why": params})
        if method == "break":
            raise ValueError("a fault of ours")
        if method == "wait":
            await asyncio.Event().wait()
        return {"got": params}

    await ours.start()
    await theirs.start()
    peer = RpcPeer(ours, answer, lambda method, params: noticed.append((method, params)))
    running = asyncio.create_task(peer.run())
    async with asyncio.timeout(30):
        yield peer, Other(theirs), noticed
    await theirs.close()
    await running
    await ours.close()


async def test_a_request_is_answered(sides: tuple[RpcPeer, Other, list[Any]]):
    _, other, _ = sides
    await other.send({"jsonrpc": "2.0", "id": "a", "method": "do", "params": [1]})
    assert await other.read() == {"jsonrpc": "2.0", "id": "a", "result": {"got": [1]}}


async def test_two_peers_do_not_refuse_refusals(sides: tuple[RpcPeer, Other, list[Any]]):
    _, other, _ = sides
    refusal = {"code": -32600, "message": "no"}
    for answer in (
        {"id": None, "error": refusal},
        {"error": refusal},
        {"id": {}, "result": 1},
        {"id": "a", "result": 1},
    ):
        await other.send({"jsonrpc": "2.0", **answer})
    await other.send({"jsonrpc": "2.0", "id": 1, "method": "do"})
    assert await other.read() == {"jsonrpc": "2.0", "id": 1, "result": {"got": None}}


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b"not json", -32700, None),
        (b"[1]", -32600, None),
        (b'"text"', -32600, None),
        ({"jsonrpc": "2.0", "id": 1}, -32600, 1),
        ({"jsonrpc": "2.0", "id": [], "method": "do"}, -32600, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "do"}, -32600, None),
        ({"jsonrpc": "2.0", "id": True, "method": "do"}, -32600, None),
        ({"jsonrpc": "2.0", "id": {"a": 1}}, -32600, None),
        ({"jsonrpc": "2.0", "id": 1, "method": "fail", "params": 7}, -32001, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "break"}, -32603, 1),
    ],
)
async def test_a_bad_line_is_refused_and_the_next_is_answered(
    sides: tuple[RpcPeer, Other, list[Any]], line: Any, code: int, number: Any
):
    _, other, _ = sides
    await other.send(line)
    refused = await other.read()
    assert (refused["id"], refused["error"]["code"]) == (number, code)
    await other.send({"jsonrpc": "2.0", "id": 2, "method": "do"})
    assert (await other.read())["result"] == {"got": None}


async def test_notifications_and_answers_to_nothing_are_not_answered(sides: tuple[RpcPeer, Other, list[Any]]):
    _, other, noticed = sides
    await other.send({"jsonrpc": "2.0", "method": "told", "params": {"a": 1}})
    await other.send({"jsonrpc": "2.0", "id": 99, "result": 1})
    await other.send({"jsonrpc": "2.0", "id": 1, "method": "do"})
    assert (await other.read())["id"] == 1
    assert noticed == [("told", {"a": 1})]


async def test_a_request_in_use_is_refused_and_a_cancelled_one_ends(sides: tuple[RpcPeer, Other, list[Any]]):
    _, other, _ = sides
    await other.send({"jsonrpc": "2.0", "id": 1, "method": "wait"})
    await other.send({"jsonrpc": "2.0", "id": 1, "method": "do"})
    assert (await other.read())["error"]["code"] == -32600
    for named in ([], {"a": 1}, 5):
        await other.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": named}})
    await other.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 1}})
    assert (await other.read())["error"]["code"] == -32800


async def test_our_requests_get_their_results_and_errors(sides: tuple[RpcPeer, Other, list[Any]]):
    peer, other, _ = sides
    asked = [asyncio.create_task(peer.request("ask", {"n": n})) for n in range(3)]
    numbers = [(await other.read())["id"] for _ in asked]
    await other.send({"jsonrpc": "2.0", "id": numbers[1], "result": "second"})
    await other.send({"jsonrpc": "2.0", "id": numbers[1], "result": "again"})
    await other.send({"jsonrpc": "2.0", "id": numbers[0], "error": {"code": 7, "message": "no"}})
    await other.send({"jsonrpc": "2.0", "id": numbers[2], "error": "broken"})
    assert await asked[1] == "second"
    with pytest.raises(RpcError, match="no") as refused:
        await asked[0]
    assert refused.value.code == 7
    with pytest.raises(RpcError, match="no reason was given"):
        await asked[2]


async def test_a_cancelled_request_is_withdrawn(sides: tuple[RpcPeer, Other, list[Any]]):
    peer, other, _ = sides
    asked = asyncio.create_task(peer.request("ask", {}))
    number = (await other.read())["id"]
    asked.cancel()
    assert (await other.read())["params"] == {"requestId": number}
    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_requests_fail_when_the_other_side_ends(sides: tuple[RpcPeer, Other, list[Any]]):
    peer, other, _ = sides
    asked = asyncio.create_task(peer.request("ask", {}))
    await other.read()
    await other.end()
    with pytest.raises(RpcError, match="the connection has ended"):
        await asked


async def test_a_request_after_the_end_fails_at_once():
    ours, theirs = memory_pair()
    await ours.start()
    await theirs.start()

    async def refuse(method: str, params: Any) -> Any:
        raise RpcError(-1, method)

    peer = RpcPeer(ours, refuse, lambda method, params: None)
    await theirs.close()
    async with asyncio.timeout(30):
        await peer.run()
        with pytest.raises(RpcError, match="the connection has ended"):
            await peer.request("ask", {})
    await ours.close()


async def test_an_answer_with_another_type_of_id_is_for_no_request(sides: tuple[RpcPeer, Other, list[Any]]):
    peer, other, _ = sides
    asked = [asyncio.create_task(peer.request("ask", {"n": n})) for n in range(2)]
    first, second = [(await other.read())["id"] for _ in asked]
    for number in (True, False, 1.0, "1", None, [1]):
        await other.send({"jsonrpc": "2.0", "id": number, "result": "stolen"})
    await other.send({"jsonrpc": "2.0", "id": second, "result": "second"})
    await other.send({"jsonrpc": "2.0", "id": first, "result": "first"})
    assert await asyncio.gather(*asked) == ["first", "second"]


async def test_refusals_that_are_not_read_stop_the_other_side():
    ours, theirs = memory_pair()
    await ours.start()
    await theirs.start()

    async def refuse(method: str, params: Any) -> Any:
        raise RpcError(-1, method)

    peer, lines = RpcPeer(ours, refuse, lambda method, params: None), 40_000

    async def send() -> None:
        for _ in range(lines // 1000):
            await theirs.send((b"junk" * 25 + b"\n") * 1000)

    running, sending = asyncio.create_task(peer.run()), asyncio.create_task(send())
    async with asyncio.timeout(60):
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not sending.done()
        refused = 0
        while refused < lines:
            refused += (await theirs.receive()).count(b"\n")
        await theirs.close()
        await asyncio.gather(sending, running)
    assert refused == lines
    await ours.close()


async def test_every_request_of_a_burst_is_answered(sides: tuple[RpcPeer, Other, list[Any]]):
    _, other, _ = sides
    wait = [json.dumps({"jsonrpc": "2.0", "id": number, "method": "wait"}) for number in range(MOST_AT_ONCE)]
    more = [json.dumps({"jsonrpc": "2.0", "id": f"more{number}", "method": "do"}) for number in range(1000)]
    await other.send("\n".join([*wait, *more]).encode())
    answers = [await other.read() for _ in more]
    assert [answer["id"] for answer in answers] == [f"more{number}" for number in range(1000)]
    assert {answer["error"]["code"] for answer in answers} == {-32600}


async def test_reading_pauses_between_reads():
    ours, theirs = memory_pair()
    await ours.start()
    await theirs.start()
    noticed, paused, may_read = list[str](), asyncio.Semaphore(0), asyncio.Semaphore(0)

    async def refuse(method: str, params: Any) -> Any:
        raise RpcError(-1, method)

    async def pause() -> None:
        paused.release()
        await may_read.acquire()

    peer = RpcPeer(ours, refuse, lambda method, params: noticed.append(method), pause)
    running = asyncio.create_task(peer.run())
    async with asyncio.timeout(30):
        await theirs.send(b'{"jsonrpc": "2.0", "method": "one"}\n')
        await paused.acquire()
        await theirs.send(b'{"jsonrpc": "2.0", "method": "two"}\n')
        assert noticed == ["one"]
        may_read.release()
        await paused.acquire()
        assert noticed == ["one", "two"]
        may_read.release()
        await theirs.close()
        await running
    await ours.close()
