"""Callbacks of the program in the form that a session of Handrail calls them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from handrail.claude_agent_sdk.hooks import HookCallback, HookMatcher
from handrail.claude_agent_sdk.loops import CallerLoop
from handrail.claude_agent_sdk.permissions import (
    CanUseTool,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)
from handrail.client import hook_callbacks as ours
from handrail.client.callbacks import Allow, Deny, PermissionRequest
from handrail.client.errors import OptionsError
from handrail.connection.router import Refusal
from handrail.schema import agent_requests
from handrail.schema.view import read_json

__all__ = ["hook_matchers", "permission_callback", "stderr_callback"]

log = logging.getLogger("handrail.claude_agent_sdk")


class _DenyAsGiven(Deny, frozen=True, kw_only=True):
    """An empty message stays empty, for which Deny has a default text."""

    def to_wire(self, asked: agent_requests.PermissionRequest) -> dict[str, Any]:
        return {**super().to_wire(asked), "message": self.reason}


def permission_callback(function: CanUseTool, caller: CallerLoop) -> Callable[[PermissionRequest], Any]:
    """`can_use_tool` for a session of Handrail."""
    if not callable(function):
        raise OptionsError("can_use_tool", f"{function!r} cannot be called")

    async def can_use_tool(asked: PermissionRequest) -> Allow | Deny:
        answer = await _answer("can_use_tool", caller, function, asked.tool_name, asked.input, _context(asked))
        if isinstance(answer, PermissionResultAllow):
            updates = [update.to_dict() for update in answer.updated_permissions or ()]
            return Allow(input=asked.input if answer.updated_input is None else answer.updated_input, updates=updates)
        if isinstance(answer, PermissionResultDeny):
            return _DenyAsGiven(answer.message, interrupt=answer.interrupt)
        kind = type(answer).__name__
        raise Refusal(f"can_use_tool returned {kind}; it must return PermissionResultAllow or PermissionResultDeny")

    return can_use_tool


def _context(asked: PermissionRequest) -> ToolPermissionContext:
    given = read_json(bytes(asked.suggestions_raw)) if bytes(asked.suggestions_raw) else None
    suggestions = cast("list[dict[str, Any]]", given) if isinstance(given, list) else []
    return ToolPermissionContext(
        suggestions=[PermissionUpdate.from_dict(suggestion) for suggestion in suggestions if "type" in suggestion],
        tool_use_id=asked.tool_use_id or None,
        agent_id=asked.agent_id,
        blocked_path=asked.blocked_path,
        decision_reason=asked.decision_reason,
        title=asked.title or None,
        display_name=asked.display_name or None,
        description=asked.description or None,
    )


def hook_matchers(
    hooks: Mapping[Any, Sequence[HookMatcher]] | None, caller: CallerLoop
) -> dict[str, list[ours.HookMatcher]]:
    """The `hooks` of the options for a session of Handrail."""
    return {event: [_matcher(event, given, caller) for given in matchers] for event, matchers in (hooks or {}).items()}


def _matcher(event: str, given: HookMatcher, caller: CallerLoop) -> ours.HookMatcher:
    if not isinstance(given, HookMatcher):
        raise OptionsError("hooks", f"{event}: {given!r} is not a HookMatcher")
    for function in given.hooks:
        if not callable(function):
            raise OptionsError("hooks", f"{event}: {function!r} cannot be called")
    return ours.HookMatcher(
        matcher=given.matcher,
        hooks=[_hook(event, function, caller) for function in given.hooks],
        timeout=given.timeout,
        on_failure=given.on_failure,
    )


def _hook(event: str, function: HookCallback, caller: CallerLoop) -> ours.WireHook:
    async def hook(given: dict[str, Any], tool_use_id: str | None) -> Any:
        return await _answer(event, caller, function, given, tool_use_id, {"signal": None})

    return ours.WireHook(hook)


async def _answer(name: str, caller: CallerLoop, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a callback. The CLI, and with it the model, gets the text of an exception without its type."""
    try:
        return await caller.call(function, *arguments)
    except Exception as error:
        log.exception("the callback for %s failed", name)
        raise Refusal(str(error) or type(error).__name__) from None


def stderr_callback(function: Callable[[str], Any] | None, file: Any, caller: CallerLoop) -> Callable[[str], None]:
    """The receiver of the CLI's stderr, line by line: `function`, else the text file `file`."""

    def write(line: str) -> None:
        file.write(f"{line}\n")
        file.flush()

    return functools.partial(caller.call_soon, write if function is None else function)
