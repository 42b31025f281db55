"""Questions to the model beside the conversation: none becomes part of it. In: what to ask. Out: what was answered."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from handrail.agent.history import text_block
from handrail.agent.models.base import ModelError, ModelRequest
from handrail.agent.tools.base import ToolFailed

if TYPE_CHECKING:
    from handrail.agent.engine import Engine
    from handrail.agent.tools.web_search import WebSearchInput

__all__ = ["Asides"]

JsonObject = dict[str, Any]
_MOST_TOKENS: Final = 8_000
_PATIENCE: Final = 5.0
_SEARCH: Final = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
"""The tool that runs at the API itself."""


class Asides:
    """The questions of one session."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def ask(self, prompt: str) -> str:
        """A question to a model that knows nothing of the conversation."""
        return _text(await self._whole(self._request(prompt)))

    async def ask_about_it(self, prompt: str) -> str:
        """A question about the conversation."""
        request = self._engine.loop_request()
        spoke_last = bool(request.messages) and request.messages[-1]["role"] == "user"
        messages = [_prompt(prompt)] if spoke_last else [*request.messages, _prompt(prompt)]
        return _text(await self._whole(replace(request, messages=messages)))

    async def count(self) -> int:
        """How many tokens the conversation has; 0 where the API does not tell, or not soon."""
        if not self._engine.history.messages:
            return 0
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._engine.model.count_tokens(self._engine.loop_request()) or 0
        except TimeoutError:
            return 0

    async def search(self, given: WebSearchInput) -> list[JsonObject]:
        """A search of the web by the API. Out: the blocks of its answer; ToolFailed where it gave none."""
        only = {"allowed_domains": given.allowed_domains, "blocked_domains": given.blocked_domains}
        tool = {**_SEARCH, **{name: domains for name, domains in only.items() if domains}}
        request = replace(self._request(f"Search the web for: {given.query}"), tools=[tool])
        try:
            return (await self._whole(request)).get("content") or []
        except ModelError as error:
            raise ToolFailed(f"The web search failed: {error.message}") from None

    def _request(self, prompt: str) -> ModelRequest:
        return ModelRequest(self._engine.session.model, [_prompt(prompt)], max_tokens=_MOST_TOKENS)

    async def _whole(self, request: ModelRequest) -> JsonObject:
        engine, begun = self._engine, monotonic()
        message = await engine.model.whole(request)
        engine.ledger.add(request.model, message.get("usage") or {}, (monotonic() - begun) * 1000, aside=True)
        return message


def _prompt(text: str) -> JsonObject:
    return {"role": "user", "content": [text_block(text)]}


def _text(message: JsonObject) -> str:
    return "".join(block.get("text", "") for block in message.get("content", ()))
