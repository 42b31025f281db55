"""What the loop needs of a model. In: a request of the Messages API. Out: its stream of events, or ModelError."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct

__all__ = ["Answer", "JsonObject", "Model", "ModelError", "ModelRequest", "StreamCut"]

JsonObject = dict[str, Any]


class ModelRequest(Struct, frozen=True):
    """One question to the model. `messages` is the live history: it is read, and neither changed nor copied."""

    model: str
    messages: Sequence[JsonObject]
    system: Sequence[JsonObject] = ()
    tools: Sequence[JsonObject] = ()
    max_tokens: int = 32_000
    thinking: JsonObject | None = None
    effort: str = ""
    extra: JsonObject = {}


class ModelError(Exception):
    """No answer. `status` is that of HTTP, None where nobody was reached; `kind` the API's own word for it."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: str = "",
        retry_after: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.kind = message, status, kind
        self.retry_after, self.request_id = retry_after, request_id


class StreamCut(ModelError):
    """The stream ended before its message did."""


class Answer(Protocol):
    """An answer as it comes: the events of the Messages API as dicts, `ping` left out.

    An `error` event is raised as ModelError, an end before `message_stop` as StreamCut.
    """

    request_id: str

    def __aiter__(self) -> AsyncIterator[JsonObject]: ...


class Model(Protocol):
    """Where answers come from."""

    searches_web: bool
    """Has it the API's own tool for that?"""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[Answer]:
        """Ask; leaving the context ends the transfer. ModelError where the API refuses."""
        ...

    async def whole(self, request: ModelRequest) -> JsonObject:
        """Ask without streaming. Out: the message."""
        ...

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """How many tokens the request has; None where nobody can say."""
        ...

    async def warm(self) -> None:
        """Load what the first question needs, before anybody asks."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
