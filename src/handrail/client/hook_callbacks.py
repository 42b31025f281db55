"""Registering the hooks of Options.hooks, and calling them.

A hook is a plain or async function that receives the typed input of the event and returns a HookOutput, a dict in wire
form, or None to continue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import msgspec

from handrail.client.callbacks import call
from handrail.client.errors import OptionsError
from handrail.connection.router import Refusal
from handrail.protocol import Request
from handrail.schema.view import read_json

__all__ = ["HookCallbacks", "HookMatcher", "WireHook"]

Hook = Callable[..., Any]
RENAMED = {"continue_": "continue", "async_": "async"}
"""Wire names that are Python keywords."""


class HookMatcher(msgspec.Struct, frozen=True, kw_only=True):
    """Hooks for the tools (or other subjects) that match the regular expression `matcher`; None matches all."""

    hooks: Sequence[Hook]
    matcher: str | None = None
    timeout: float | None = None
    on_failure: Literal["continue", "block"] | None = None


class WireHook(msgspec.Struct, frozen=True):
    """A hook whose function takes the input as a dict, as it is on the wire, and the `tool_use_id` beside it."""

    function: Hook

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


class HookCallbacks:
    """All hooks of one session, by id."""

    def __init__(self, hooks: Mapping[str, Sequence[Any]]) -> None:
        self._functions: dict[str, Hook] = {}
        self.registration = {event: [self._register(event, item) for item in items] for event, items in hooks.items()}

    async def handle(self, request: Request) -> Mapping[str, Any]:
        """Answer a hook_callback request with the output of the hook, in wire form."""
        body = cast("dict[str, Any]", read_json(request.body))
        function = self._functions.get(str(body.get("callback_id")))
        if function is None:
            raise Refusal(f"no hook is registered as {body.get('callback_id')!r}")
        given: Any = body.get("input")
        if not isinstance(given, dict):
            raise Refusal("hook_callback without an `input` object", "invalid_request")
        from handrail.schema.hooks import HookOutput, read_hook_input  # slow to import, and rarely needed

        if isinstance(function, WireHook):
            output = await call(function.function, given, body.get("tool_use_id"))
        else:
            output = await call(function, read_hook_input(msgspec.json.encode(given)))
        if output is None:
            return {}
        if isinstance(output, HookOutput):
            return output.to_wire(str(cast("dict[str, Any]", given).get("hook_event_name", "")))
        if isinstance(output, Mapping):
            return {RENAMED.get(name, name): value for name, value in cast("Mapping[str, Any]", output).items()}
        raise Refusal(f"the hook returned {type(output).__name__}; it must return HookOutput, a dict or None")

    def _register(self, event: str, item: Any) -> dict[str, Any]:
        matcher = HookMatcher(hooks=[item]) if callable(item) else item
        if not isinstance(matcher, HookMatcher):
            raise OptionsError("hooks", f"{event}: {item!r} is neither a HookMatcher nor a function")
        ids: list[str] = []
        for function in matcher.hooks:
            if not callable(function):
                raise OptionsError("hooks", f"{event}: {function!r} cannot be called")
            ids.append(f"hook_{len(self._functions)}")
            self._functions[ids[-1]] = function
        row: dict[str, Any] = {"matcher": matcher.matcher, "hookCallbackIds": ids}
        if matcher.timeout is not None:
            row["timeout"] = matcher.timeout
        if matcher.on_failure is not None:
            row["onFailure"] = matcher.on_failure
        return row
