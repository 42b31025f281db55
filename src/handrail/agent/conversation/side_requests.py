"""Model requests that do not become part of the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from msgspec.structs import replace

from handrail.agent.blocks import text_block
from handrail.agent.conversation.history import with_question
from handrail.agent.models.base import Model, ModelError, ModelRequest
from handrail.agent.record.usage import Ledger
from handrail.agent.session import Session
from handrail.agent.tools.base import ToolFailed

__all__ = ["SideRequests"]

JsonObject = dict[str, Any]
_MOST_TOKENS: Final = 8_000
_COUNT_SECONDS: Final = 5.0
_SEARCH: Final = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
"""The search tool that runs at the API."""


class SideRequests:
    """The side requests of one session. `next_request` returns the next request of the conversation."""

    def __init__(
        self, session: Session, model: Model, ledger: Ledger, next_request: Callable[[], ModelRequest]
    ) -> None:
        self._session, self._model, self._ledger, self._next_request = session, model, ledger, next_request

    async def ask(self, prompt: str) -> str:
        """Ask the model without the conversation."""
        return _text(await self._whole(self._request(prompt)))

    async def ask_about_it(self, prompt: str) -> str:
        """Ask the model about the conversation."""
        return await self.ask_within(self._next_request(), prompt)

    async def ask_within(self, request: ModelRequest, prompt: str) -> str:
        """Ask the model about the conversation of this request."""
        return _text(await self._whole(replace(request, messages=with_question(request.messages, prompt))))

    async def count(self) -> int:
        """The tokens of the conversation; 0 if the API does not count them, or not within a few seconds."""
        request = self._next_request()
        if not request.messages:
            return 0
        try:
            async with asyncio.timeout(_COUNT_SECONDS):
                return await self._model.count_tokens(request) or 0
        except TimeoutError:
            return 0

    async def search(self, query: str, allowed: list[str], blocked: list[str]) -> list[JsonObject]:
        """Search the web with the API. Returns the blocks of its answer; raises ToolFailed without one."""
        only = {"allowed_domains": allowed, "blocked_domains": blocked}
        tool = {**_SEARCH, **{name: domains for name, domains in only.items() if domains}}
        request = replace(self._request(f"Search the web for: {query}"), model=self._session.model, tools=[tool])
        try:
            return (await self._whole(request)).get("content") or []
        except ModelError as error:
            raise ToolFailed(f"The web search failed: {error.message}") from None

    def _request(self, prompt: str) -> ModelRequest:
        return ModelRequest(self._session.small_model, [_prompt(prompt)], max_tokens=_MOST_TOKENS)

    async def _whole(self, request: ModelRequest) -> JsonObject:
        start = monotonic()
        message = await self._model.whole(request)
        self._ledger.add(request.model, message.get("usage") or {}, (monotonic() - start) * 1000, aside=True)
        return message


def _prompt(text: str) -> JsonObject:
    return {"role": "user", "content": [text_block(text)]}


def _text(message: JsonObject) -> str:
    return "".join(block.get("text", "") for block in message.get("content", ()))
