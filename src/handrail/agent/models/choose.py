"""Chooses the model: a Messages API, a script, or the built-in script."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from handrail.agent.models.base import Answer, JsonObject, Model, ModelError, ModelRequest

if TYPE_CHECKING:
    from handrail.agent.models.api_access import ApiOptions

__all__ = ["choose_model"]


def choose_model(
    environment: Mapping[str, str], options: Callable[[], ApiOptions], *, has_helper: bool = False
) -> Callable[[], Model]:
    """The first that is configured: HANDRAIL_SCRIPT, a key, an address without a key, else the built-in script.

    Returns a function that makes the model, because an API is not needed before the first prompt. A script is read at
    once, and raises Refused if it is invalid. `has_helper`: the options have a command that prints the key.
    """
    if script := environment.get("HANDRAIL_SCRIPT"):
        from handrail.agent.models.scripted import scripted_model

        model = scripted_model(script)
        return lambda: model
    if has_helper or environment.get("ANTHROPIC_API_KEY") or environment.get("ANTHROPIC_AUTH_TOKEN"):
        return lambda: _api(environment, options())
    if environment.get("ANTHROPIC_BASE_URL"):
        return KeylessModel
    return _builtin


def _api(environment: Mapping[str, str], options: ApiOptions) -> Model:
    from handrail.agent.models.anthropic import AnthropicModel

    return AnthropicModel(environment, options)


def _builtin() -> Model:
    from handrail.agent.models.builtin_script import builtin_model

    return builtin_model()


class KeylessModel:
    """Stands for an API whose address is configured without a key. It sends no request."""

    searches_web = False

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Answer]:
        raise self._error()
        yield

    async def whole(self, request: ModelRequest) -> JsonObject:
        raise self._error()

    async def count_tokens(self, request: ModelRequest) -> int | None:
        return None

    async def warm(self) -> None:
        return

    def interrupted(self) -> None:
        return

    async def close(self) -> None:
        return

    def _error(self) -> ModelError:
        return ModelError("no key: set ANTHROPIC_API_KEY", status=403, kind="authentication_error")
