"""The conformance suite of transports. A failed check raises TransportFault.

    @asynccontextmanager
    async def connect():
        near, far = memory_pair()
        yield near, far

    @pytest.mark.parametrize("check", TRANSPORT_CHECKS, ids=lambda check: check.__name__)
    async def test_transport_conforms(check):
        await run_transport_check(check, connect)

`near` is the transport under test, already started; `far` is a transport at its other side. Both are used once and then
closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress

from handrail.errors import CallerError
from handrail.transport.base import Transport, TransportClosed

__all__ = ["TRANSPORT_CHECKS", "Connect", "TransportCheck", "TransportFault", "run_transport_check"]

Connect = Callable[[], AbstractAsyncContextManager[tuple[Transport, Transport]]]
"""Makes a new connection: the transport under test and its far end."""
TransportCheck = Callable[[Transport, Transport], Awaitable[None]]
"""A check of the transport under test and its far end."""

MEGABYTE = 1024 * 1024


class TransportFault(CallerError, AssertionError):
    """The transport violates its contract; the text says how."""


async def run_transport_check(check: TransportCheck, connect: Connect, *, patience: float = 30.0) -> None:
    """Run one check on a new connection. Raises TransportFault if it fails or exceeds `patience` seconds."""
    name = str(getattr(check, "__name__", check)).replace("_", " ")
    async with connect() as (near, far):
        try:
            await _with_timeout(check(near, far), patience)
        except TransportFault as fault:
            raise TransportFault(f"{name}: {fault}") from fault.__cause__
        except Exception as error:
            raise TransportFault(f"{name}: {type(error).__name__}: {error}") from error
        finally:
            for end in (near, far):
                with suppress(TransportFault):  # a separate check covers a close that hangs
                    await _with_timeout(end.close(), patience)


async def _with_timeout(doing: Awaitable[object], patience: float) -> None:
    try:
        async with asyncio.timeout(patience):
            await doing
    except TimeoutError:
        raise TransportFault(f"nothing happened for {patience:g} s") from None


def _expect(fact: bool, otherwise: str) -> None:  # noqa: FBT001 - a plain condition
    if not fact:
        raise TransportFault(otherwise)


async def _read(transport: Transport, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = await transport.receive()
        _expect(bool(piece), f"the stream ended after {len(data)} of {size} bytes")
        data += piece
    return data


async def _read_to_the_end(transport: Transport) -> bytes:
    data = bytearray()
    while piece := await transport.receive():
        data += piece
    return bytes(data)


async def _expect_closed(near: Transport, when: str) -> None:
    try:
        await near.send(b"too late\n")
    except TransportClosed:
        return
    except Exception as error:
        raise TransportFault(f"sending {when} raised {type(error).__name__}, not TransportClosed") from error
    raise TransportFault(f"sending {when} raised nothing")


async def sent_lines_arrive_in_order(near: Transport, far: Transport) -> None:
    lines = [b'{"n":%d}\n' % n for n in range(100)]
    for line in lines:
        await near.send(line)
    expected = b"".join(lines)
    _expect(await _read(far, len(expected)) == expected, "the far end received something else")


async def received_lines_arrive_in_order(near: Transport, far: Transport) -> None:
    lines = [b'{"n":%d}\n' % n for n in range(100)]
    for line in lines:
        await far.send(line)
    expected = b"".join(lines)
    _expect(await _read(near, len(expected)) == expected, "something else was received")


async def both_directions_flow_at_once(near: Transport, far: Transport) -> None:
    up, down = b"u" * 4 * MEGABYTE + b"\n", b"d" * 4 * MEGABYTE + b"\n"
    async with asyncio.TaskGroup() as group:
        group.create_task(near.send(up))
        group.create_task(far.send(down))
        at_far = group.create_task(_read(far, len(up)))
        at_near = group.create_task(_read(near, len(down)))
    _expect(at_far.result() == up and at_near.result() == down, "received data differs from sent data")


async def lines_of_several_senders_are_never_mixed(near: Transport, far: Transport) -> None:
    letters = b"abcd"
    lines = [bytes([letter]) * MEGABYTE + b"\n" for letter in letters for _ in range(2)]
    async with asyncio.TaskGroup() as group:
        for line in lines:
            group.create_task(near.send(line))
        arrived = group.create_task(_read(far, sum(map(len, lines))))
    found = [bytes(line) for line in arrived.result().split(b"\n")]
    _expect(sorted(found) == sorted([b"", *(line[:-1] for line in lines)]), "lines were mixed")


async def the_last_bytes_arrive_before_the_end(near: Transport, far: Transport) -> None:
    tail = b"t" * 300_000  # more than one read, and without a final newline
    sending = asyncio.create_task(_send_and_end(far, tail))
    received = await _read_to_the_end(near)
    await sending
    _expect(received == tail, f"{len(received)} of the last {len(tail)} bytes were received")


async def _send_and_end(transport: Transport, data: bytes) -> None:
    await transport.send(data)
    await transport.end_input()


async def receive_keeps_returning_the_end(near: Transport, far: Transport) -> None:
    await far.end_input()
    ends = [await near.receive() for _ in range(3)]
    _expect(ends == [b"", b"", b""], f"after the end came {ends!r}")


async def end_of_input_reaches_the_far_end(near: Transport, far: Transport) -> None:
    await near.send(b"last\n")
    await near.end_input()
    _expect(await _read_to_the_end(far) == b"last\n", "what was sent before the end of input did not arrive")


async def ending_the_input_leaves_the_other_direction_open(near: Transport, far: Transport) -> None:
    await near.end_input()
    await _read_to_the_end(far)
    await far.send(b"answer\n")
    _expect(await _read(near, 7) == b"answer\n", "the answer did not arrive")


async def ending_the_input_twice_is_harmless(near: Transport, far: Transport) -> None:
    await near.end_input()
    await near.end_input()
    _expect(await _read_to_the_end(far) == b"", "something was sent")


async def sending_after_end_of_input_raises_closed(near: Transport, _far: Transport) -> None:
    await near.end_input()
    await _expect_closed(near, "after the end of input")


async def sending_after_closing_raises_closed(near: Transport, _far: Transport) -> None:
    await near.close()
    await _expect_closed(near, "after closing")


async def sending_to_a_closed_far_end_raises_closed(near: Transport, far: Transport) -> None:
    """Data in flight when the far end closes may be lost silently, but later sends must fail."""
    await far.close()
    await _read_to_the_end(near)
    try:
        for _ in range(1000):
            await near.send(b"x" * 65_536 + b"\n")
    except TransportClosed:
        return
    except Exception as error:
        text = f"sending to a closed far end raised {type(error).__name__}, not TransportClosed"
        raise TransportFault(text) from error
    raise TransportFault("a thousand lines were sent to a closed far end without an error")


async def receiving_after_closing_returns_the_end(near: Transport, _far: Transport) -> None:
    await near.close()
    _expect(await near.receive() == b"", "bytes were received after closing")


async def closing_twice_returns_the_same_ending(near: Transport, _far: Transport) -> None:
    first, second, third = *(await asyncio.gather(near.close(), near.close())), await near.close()
    _expect(first == second == third, f"{first}, {second}, {third}")


async def closing_wakes_a_receiver(near: Transport, _far: Transport) -> None:
    receiving = asyncio.create_task(near.receive())
    await asyncio.sleep(0)
    await near.close()
    _expect(await receiving == b"", "bytes were received that were never sent")


async def closing_wakes_a_blocked_sender(near: Transport, _far: Transport) -> None:
    sending = asyncio.create_task(near.send(b"x" * 16 * MEGABYTE + b"\n"))
    await asyncio.sleep(0)
    await near.close()
    with suppress(TransportClosed):
        await sending


async def cancelled_receive_loses_nothing(near: Transport, far: Transport) -> None:
    for _ in range(3):
        receiving = asyncio.create_task(near.receive())
        await asyncio.sleep(0)
        receiving.cancel()
        await asyncio.wait([receiving])
    await far.send(b"all of it\n")
    _expect(await _read(near, 10) == b"all of it\n", "something was lost")


async def cancelled_send_leaves_no_partial_line(near: Transport, far: Transport) -> None:
    sending = asyncio.create_task(near.send(b"x" * 8 * MEGABYTE + b"\n"))
    await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait([sending])
    async with asyncio.TaskGroup() as group:
        group.create_task(_send_and_end(near, b"next\n"))
        arrived = group.create_task(_read_to_the_end(far))
    *lines, rest = arrived.result().split(b"\n")
    sizes = [len(line) for line in lines if line != b"next"]
    _expect(not rest and b"next" in lines and sizes in ([], [8 * MEGABYTE]), f"the line has {sizes} bytes")


TRANSPORT_CHECKS: tuple[TransportCheck, ...] = (
    sent_lines_arrive_in_order,
    received_lines_arrive_in_order,
    both_directions_flow_at_once,
    lines_of_several_senders_are_never_mixed,
    the_last_bytes_arrive_before_the_end,
    receive_keeps_returning_the_end,
    end_of_input_reaches_the_far_end,
    ending_the_input_leaves_the_other_direction_open,
    ending_the_input_twice_is_harmless,
    sending_after_end_of_input_raises_closed,
    sending_after_closing_raises_closed,
    sending_to_a_closed_far_end_raises_closed,
    receiving_after_closing_returns_the_end,
    closing_twice_returns_the_same_ending,
    closing_wakes_a_receiver,
    closing_wakes_a_blocked_sender,
    cancelled_receive_loses_nothing,
    cancelled_send_leaves_no_partial_line,
)
"""All checks."""
