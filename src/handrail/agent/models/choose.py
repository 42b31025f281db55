"""Which model answers. In: the environment. Out: a Messages API, a script, or the script that is built in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from handrail.agent.models.base import Answer, JsonObject, Model, ModelError, ModelRequest

__all__ = ["choose_model", "is_built_in"]


def is_built_in(environment: Mapping[str, str]) -> bool:
    """Does the built-in script answer, because there is nothing else?"""
    return not any(environment.get(name) for name in _OTHERS)


def choose_model(environment: Mapping[str, str]) -> Model:
    """The first that is there: `HANDRAIL_SCRIPT`, a key, an address without a key, else the built-in script."""
    if script := environment.get("HANDRAIL_SCRIPT"):
        from handrail.agent.models.scripted import scripted_model

        return scripted_model(script)
    if environment.get("ANTHROPIC_API_KEY") or environment.get("ANTHROPIC_AUTH_TOKEN"):
        from handrail.agent.models.anthropic import AnthropicModel

        return AnthropicModel(environment)
    if environment.get("ANTHROPIC_BASE_URL"):
        return KeylessModel()
    from handrail.agent.models.builtin_script import builtin_model

    return builtin_model()


_OTHERS: Final = ("HANDRAIL_SCRIPT", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
"""Each of these variables names another model."""


class KeylessModel:
    """An API was named, but no key for it: it is not even asked."""

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
