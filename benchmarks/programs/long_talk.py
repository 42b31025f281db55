"""A conversation larger than its context window. Arguments: window, number of turns. Prints the largest request.

The model counts four characters as a token and reports the size of each request, as the API does.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from handrail.agent.arguments import read_arguments
from handrail.agent.base import NoHost, Prompt
from handrail.agent.models.base import ModelRequest
from handrail.agent.models.script import Script
from handrail.agent.models.scripted import ScriptedModel
from handrail.agent.start import make_engine

PROMPT = "Tell me more about it, in as many words as possible. " * 20
SCRIPT = {"replies": [], "afterwards": {"blocks": [{"type": "text", "text": "There is more to tell. " * 50}]}}


class CountingModel(ScriptedModel):
    """A scripted model that reports the size of requests."""

    def __init__(self) -> None:
        super().__init__(Script.from_dict(SCRIPT))
        self.largest = 0
        self.summaries = 0

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any]:
        tokens = self._count(request)
        async with super().stream(request) as answer:
            yield _Counted(answer, tokens)

    async def whole(self, request: ModelRequest) -> dict[str, Any]:
        self._count(request)
        self.summaries += 1
        return await super().whole(request)

    def _count(self, request: ModelRequest) -> int:
        tokens = len(msgspec.json.encode([request.system, request.tools, request.messages])) // 4
        self.largest = max(self.largest, tokens)
        return tokens


class _Counted:
    def __init__(self, answer: Any, tokens: int) -> None:
        self._answer, self._tokens, self.request_id = answer, tokens, answer.request_id

    async def __aiter__(self) -> AsyncGenerator[dict[str, Any]]:
        async for event in self._answer:
            usage = event.get("message", event).get("usage")
            if usage is not None:
                usage["input_tokens"] = self._tokens
            yield event


class Silence:
    """An output that only counts results."""

    results = 0

    async def emit(self, line: dict[str, Any]) -> None:
        self.results += line["type"] == "result"

    async def finish(self) -> None:
        return


async def main(window: int, turns: int) -> None:
    """Play all turns."""
    arguments = read_arguments(["-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"])
    environment = {"HOME": os.environ["HOME"], "PATH": os.defpath, "HANDRAIL_CONTEXT_WINDOW": str(window)}
    model, output = CountingModel(), Silence()
    engine = make_engine(arguments, environment, os.getcwd(), output=output, host=NoHost(), model=model)
    for _ in range(turns):
        engine.put(Prompt(PROMPT, origin={"kind": "benchmark"}))  # prompts with an origin are not merged
    engine.queue.end()
    await engine.run()
    await engine.close()
    print(json.dumps({"largest": model.largest, "summaries": model.summaries, "turns": output.results}))


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
