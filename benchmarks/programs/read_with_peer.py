"""Reads a turn with a module that has the interface of the official SDK.

Arguments: name of the module, path of the CLI, number of messages. Output as in read_with_handrail.py.
"""

import asyncio
import importlib
import json
import sys
import time


async def main(module: str, cli: str, count: str) -> None:
    """Read the text of one turn."""
    sdk = importlib.import_module(module)
    options = sdk.ClaudeAgentOptions(cli_path=cli, include_partial_messages=True)
    async with sdk.ClaudeSDKClient(options) as client:
        wall, cpu, messages, length = time.perf_counter(), time.process_time(), 0, 0
        await client.query(count)
        async for message in client.receive_response():
            messages += 1
            if isinstance(message, sdk.StreamEvent):
                length += len(message.event["delta"]["text"])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"messages": messages, "length": length, "wall": wall, "cpu": cpu}))


asyncio.run(main(*sys.argv[1:]))
