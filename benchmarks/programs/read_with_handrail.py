"""Reads a turn with Handrail. Arguments: path of the CLI, number of messages. Prints counts, wall time and CPU time."""

import asyncio
import json
import sys
import time

import handrail


async def main(cli: str, count: str) -> None:
    """Read the text of one turn."""
    options = handrail.Options(cli_path=cli, include_partial_messages=True)
    async with handrail.Session(options) as session:
        wall, cpu, messages, length = time.perf_counter(), time.process_time(), 0, 0
        async for message in await session.send(count):
            messages += 1
            if message.type == "stream_event":
                length += len(message.event.delta.text)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"messages": messages, "length": length, "wall": wall, "cpu": cpu}))


asyncio.run(main(*sys.argv[1:]))
