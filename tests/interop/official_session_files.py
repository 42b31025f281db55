"""Calls the session functions of the official Python SDK and prints what they return as JSON.

It runs in the Python that has the SDK and nothing of Handrail: `official_session_files.py FUNCTION [ARGUMENT...]`.
"""

import asyncio
import dataclasses
import json
import sys
from typing import Any

import claude_agent_sdk
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query


def plain(value: Any) -> Any:
    """A result as JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return [plain(item) for item in value] if isinstance(value, list) else value


async def resume(agent: str, session: str, prompt: str) -> str | None:
    """The answer of an agent that resumes a session."""
    result = None
    async for message in query(prompt=prompt, options=ClaudeAgentOptions(cli_path=agent, resume=session)):
        if isinstance(message, ResultMessage):
            result = message.result
    return result


def main(function: str, *arguments: str) -> None:
    if function == "resume":
        value: Any = asyncio.run(resume(*arguments))
    else:
        value = getattr(claude_agent_sdk, function)(*arguments)
    print(json.dumps(plain(value)))


main(*sys.argv[1:])
