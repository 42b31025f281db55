"""An agent on standard input and output that is the ACP socket of a server: a line is a text frame.

HANDRAIL_TOKEN=TOKEN python tests/acp/relay.py URL
"""

from __future__ import annotations

import asyncio
import os
import sys

import websockets

from handrail.protocol.lines import LineSplitter
from handrail.transport.stdio import StdioTransport


async def main(url: str, token: str) -> None:
    editor = StdioTransport()
    async with websockets.connect(
        url, additional_headers={"Authorization": f"Bearer {token}"}, max_size=None, proxy=None
    ) as socket:
        both = [asyncio.create_task(one(socket, editor)) for one in (to_editor, to_server)]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        await editor.close()


async def to_server(socket: websockets.ClientConnection, editor: StdioTransport) -> None:
    splitter = LineSplitter()
    while data := await editor.receive():
        for line in splitter.feed(data):
            assert isinstance(line, bytes)
            await socket.send(line.decode())


async def to_editor(socket: websockets.ClientConnection, editor: StdioTransport) -> None:
    async for text in socket:
        assert isinstance(text, str)
        await editor.send(text.encode() + b"\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], os.environ["HANDRAIL_TOKEN"]))
