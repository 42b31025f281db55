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
    environment: Mapping[str, str], options: Callable[[], ApiOptions] | None = None, *, has_helper: bool = False
) -> Model:
    """The first that is configured: HANDRAIL_SCRIPT, a key, an address without a key, else the built-in script.

    `has_helper`: the options have a command that prints the key. They are made only for an API.
    """
    if script := environment.get("HANDRAIL_SCRIPT"):
        from handrail.agent.models.scripted import scripted_model

        return scripted_model(script)
    if has_helper or environment.get("ANTHROPIC_API_KEY") or environment.get("ANTHROPIC_AUTH_TOKEN"):
        from handrail.agent.models.anthropic import AnthropicModel

        return AnthropicModel(environment, options() if options else None)
    if environment.get("ANTHROPIC_BASE_URL"):
        return KeylessModel()
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

    async def close(self) -> None:
        return

    def _error(self) -> ModelError:
        return ModelError("no key: set ANTHROPIC_API_KEY", status=403, kind="authentication_error")
