"""A model that plays a script in this process. A `hang` lasts until the turn is cancelled."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from handrail.agent.models.base import Answer, ModelError, ModelRequest, StreamCut
from handrail.agent.models.error_types import STATUS_OF
from handrail.agent.models.player import PlayedReply, Player, Step
from handrail.agent.models.retry import retry_after_seconds
from handrail.agent.models.script import Cut, Hang, HttpError, JsonObject, Script, Wait, load_script

__all__ = ["ScriptedModel", "new_label", "scripted_model"]


class ScriptedModel:
    """Plays one script, for all threads of a session. A `Player` chooses its replies itself."""

    searches_web = False

    def __init__(self, script: Script | Player, *, label: str = "script") -> None:
        self._player = script if isinstance(script, Player) else Player(script, label=label)

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Answer]:
        played = self._ask(request)
        answer = _ScriptedAnswer(played)
        try:
            yield answer
        finally:
            await answer.close()

    async def whole(self, request: ModelRequest) -> JsonObject:
        played = self._ask(request)
        async for event in _play(played.whole(), _request_id(played)):
            return event
        raise StreamCut("the script ends this answer early", request_id=_request_id(played))

    async def count_tokens(self, request: ModelRequest) -> int | None:
        return None

    async def warm(self) -> None:
        pass

    def interrupted(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def _ask(self, request: ModelRequest) -> PlayedReply:
        asked = {
            "model": request.model,
            "messages": request.messages,
            "system": request.system,
            "tools": request.tools,
        }
        played = self._player.reply_to(asked)
        if played.reply.error:
            raise _http_error(played.reply.error, _request_id(played))
        return played


class _ScriptedAnswer:
    """A reply as a stream of events."""

    def __init__(self, played: PlayedReply) -> None:
        self.request_id = _request_id(played)
        self._events = _play(played.stream(), self.request_id)

    def __aiter__(self) -> AsyncIterator[JsonObject]:
        return self._events

    async def close(self) -> None:
        await self._events.aclose()


def scripted_model(source: str, *, label: str = "") -> ScriptedModel:
    """Make a model from a script: the path of a JSON file, or the JSON itself. Raises ScriptError.

    Without a label the ids are random, so that ids stay unique when a session is resumed.
    """
    is_text = source.lstrip().startswith("{")
    script = Script.from_json(source) if is_text else load_script(Path(source))
    return ScriptedModel(script, label=label or new_label())


def new_label() -> str:
    """A random label."""
    return os.urandom(4).hex()


async def _play(steps: Iterator[Step], request_id: str) -> AsyncGenerator[JsonObject]:
    """The events of a reply, with the waits performed in between."""
    for step in steps:
        match step:
            case Wait():
                await asyncio.sleep(step.seconds)
            case Hang():
                await asyncio.get_running_loop().create_future()
            case Cut():
                raise StreamCut("the script ends this answer early", request_id=request_id)
            case dict() if step["type"] == "error":
                raise _stream_error(step["error"], request_id)
            case dict():
                if step["type"] != "ping":
                    yield step


def _stream_error(error: JsonObject, request_id: str) -> ModelError:
    kind = error["type"]
    return ModelError(error["message"], status=STATUS_OF.get(kind, 500), kind=kind, request_id=request_id)


def _http_error(error: HttpError, request_id: str) -> ModelError:
    headers = {name.lower(): value for name, value in error.headers.items()}
    return ModelError(
        error.message,
        status=error.status,
        kind=error.error_type,
        retry_after=retry_after_seconds(headers.get("retry-after")),
        request_id=request_id,
    )


def _request_id(played: PlayedReply) -> str:
    return f"req_{played.id}"
