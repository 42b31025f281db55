"""A process that waits for its session gets the start message first. If it has exited, a new one replaces it."""

from __future__ import annotations

from handrail.transport.prewarmed import PrewarmedTransport
from handrail.transport.process import ProcessTransport
from handrail.transport.start_message import Start

START = Start("/work", ["--model=x"])
ECHO = ["cat"]


def refused() -> ProcessTransport:
    raise AssertionError("no new process is needed")


async def received(transport: PrewarmedTransport, size: int) -> bytes:
    found = b""
    while len(found) < size and (chunk := await transport.receive()):
        found += chunk
    return found


async def test_waiting_process_gets_the_start_message_before_anything_else():
    waiting = ProcessTransport(ECHO)
    await waiting.start()
    assert waiting.running
    transport = PrewarmedTransport(waiting, START, refused)
    await transport.start()
    await transport.send(b"line\n")
    assert transport.pid == waiting.pid
    assert await received(transport, len(START.encode()) + 5) == START.encode() + b"line\n"
    assert (await transport.close()).code == 0
    assert not waiting.running


async def test_new_process_replaces_one_that_has_exited():
    waiting = ProcessTransport(["sh", "-c", "echo lost >&2; exit 3"])
    assert not waiting.running
    await waiting.start()
    assert await waiting.receive() == b""
    await waiting.close()
    transport = PrewarmedTransport(waiting, START, lambda: ProcessTransport(["sh", "-c", "echo new >&2; cat"]))
    await transport.start()
    await transport.send(b"line\n")
    assert await received(transport, 5) == b"line\n"
    ending = await transport.close()
    assert (ending.code, transport.stderr) == (0, "new")


async def test_end_of_input_reaches_the_process():
    waiting = ProcessTransport(ECHO)
    await waiting.start()
    transport = PrewarmedTransport(waiting, START, refused)
    await transport.start()
    await transport.end_input()
    assert await received(transport, 1000) == START.encode()
    assert (await transport.close()).code == 0
