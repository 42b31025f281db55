"""`query`: one prompt in a new session."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Generator, Sequence
from typing import Any

from handrail.client.options import Options
from handrail.client.prompts import Image, Prompt
from handrail.client.session import Session
from handrail.client.turn import TurnResult
from handrail.schema.message_view import MessageView
from handrail.transport.base import Transport

__all__ = ["Query", "query"]


def query(
    prompt: Prompt | AsyncIterable[Prompt],
    options: Options | None = None,
    *,
    images: Sequence[Image] = (),
    transport: Transport | None = None,
) -> Query:
    """Send one prompt, or several in order from an async iterable. Iterate the query, or await it."""
    return Query(prompt, Session(options, transport=transport), images)


class Query:
    """`async for message in query(…)` yields all messages; `await query(…)` returns the last result. Use it once."""

    def __init__(self, prompt: Prompt | AsyncIterable[Prompt], session: Session, images: Sequence[Image] = ()) -> None:
        self.result: TurnResult | None = None
        self._prompt = prompt
        self._images = images
        self._session = session

    def __aiter__(self) -> AsyncIterator[MessageView]:
        return self._run()

    async def aclose(self) -> None:
        """End the session early. Leaving the loop ends it too, but a moment later."""
        await self._session.close()

    def __await__(self) -> Generator[Any, None, TurnResult]:
        return self._last().__await__()

    async def _run(self) -> AsyncIterator[MessageView]:
        async with self._session as session:
            async for prompt in _each(self._prompt):
                turn = await session.send(prompt, images=self._images)
                async for message in turn:
                    yield message
                self.result = turn.result

    async def _last(self) -> TurnResult:
        async for _ in self._run():
            pass
        if self.result is None:
            raise ValueError("a result needs at least one prompt")
        return self.result


async def _each(prompt: Prompt | AsyncIterable[Prompt]) -> AsyncIterator[Prompt]:
    if isinstance(prompt, AsyncIterable):
        async for item in prompt:
            yield item
    else:
        yield prompt
