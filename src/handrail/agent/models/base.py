"""The interface of a model: a request of the Messages API in, its stream of events out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct

from handrail.errors import PeerError

__all__ = ["Answer", "JsonObject", "Model", "ModelError", "ModelRequest", "StreamCut"]

JsonObject = dict[str, Any]


class ModelRequest(Struct, frozen=True):
    """One request. `messages` is the live history: it is neither changed nor copied.

    A model name that ends in `[1m]` asks for the long context window. `extra` are more fields of the body.
    """

    model: str
    messages: Sequence[JsonObject]
    system: Sequence[JsonObject] = ()
    tools: Sequence[JsonObject] = ()
    max_tokens: int = 32_000
    thinking: JsonObject | None = None
    effort: str = ""
    extra: JsonObject = {}
    betas: tuple[str, ...] = ()


class ModelError(PeerError):
    """A failed request. `status` is the HTTP status, None if no server answered; `kind` is the API's error type.

    `should_retry` is what the server says about a retry, None if it says nothing.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: str = "",
        retry_after: float | None = None,
        should_retry: bool | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.kind = message, status, kind
        self.retry_after, self.should_retry, self.request_id = retry_after, should_retry, request_id


class StreamCut(ModelError):
    """The stream ended before its message did."""


class Answer(Protocol):
    """A streamed answer: the events of the Messages API as dicts, without `ping`.

    An `error` event is raised as ModelError, an end before `message_stop` as StreamCut.
    """

    request_id: str

    def __aiter__(self) -> AsyncIterator[JsonObject]: ...


class Model(Protocol):
    """A source of answers."""

    searches_web: bool
    """Whether the API's web search tool is available."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[Answer]:
        """Send a request; leaving the context ends the transfer. Raises ModelError if the API refuses."""
        ...

    async def whole(self, request: ModelRequest) -> JsonObject:
        """Send a request without streaming, and return the message."""
        ...

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """The number of tokens of the request; None if the model cannot count them."""
        ...

    async def warm(self) -> None:
        """Load what the first request needs."""
        ...

    def interrupted(self) -> None:
        """The user ended the turn; no request follows before the next prompt."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...
