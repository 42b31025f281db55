"""Reads a turn with the official SDK; arguments and output as in read_with_handrail.py."""

import asyncio
import json
import sys
import time

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, StreamEvent


async def main(cli: str, count: str) -> None:
    """Read the text of one turn."""
    options = ClaudeAgentOptions(cli_path=cli, include_partial_messages=True)
    async with ClaudeSDKClient(options) as client:
        wall, cpu, messages, length = time.perf_counter(), time.process_time(), 0, 0
        await client.query(count)
        async for message in client.receive_response():
            messages += 1
            if isinstance(message, StreamEvent):
                length += len(message.event["delta"]["text"])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"messages": messages, "length": length, "wall": wall, "cpu": cpu}))


asyncio.run(main(*sys.argv[1:]))
