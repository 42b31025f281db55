"""What hooks are told about and what they can decide. In: the answers of hooks. Out: one HookResult. No I/O.

Several hooks may answer the same event; together the strictest counts: deny over ask over allow over defer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, cast

import msgspec

__all__ = ["EVENTS", "HookResult", "InvalidHookOutput", "merge", "read_output", "read_printed"]

JsonObject = dict[str, Any]
Decision = Literal["allow", "deny", "ask", "defer"]


class Event(msgspec.Struct, frozen=True):
    """What an event is. `matched`: the field of its input that matchers look at. `printed`: what a command prints in
    plain words goes to the model."""

    matched: str = ""
    printed: bool = False


_TOOL: Final = Event("tool_name")
EVENTS: Final[Mapping[str, Event]] = {
    "PreToolUse": _TOOL,
    "PostToolUse": _TOOL,
    "PostToolUseFailure": _TOOL,
    "PostToolBatch": Event(),
    "PermissionRequest": _TOOL,
    "PermissionDenied": _TOOL,
    "Notification": Event("notification_type"),
    "UserPromptSubmit": Event(printed=True),
    "UserPromptExpansion": Event("command_name", printed=True),
    "SessionStart": Event("source", printed=True),
    "SessionEnd": Event("reason"),
    "Stop": Event(),
    "StopFailure": Event("error"),
    "SubagentStart": Event("agent_type"),
    "SubagentStop": Event("agent_type"),
    "PreCompact": Event("trigger"),
    "PostCompact": Event("trigger"),
    "PreModelSwitch": Event(),
    "PostModelSwitch": Event(),
    "Setup": Event("trigger", printed=True),
    "TeammateIdle": Event(),
    "TaskCreated": Event(),
    "TaskCompleted": Event(),
    "Elicitation": Event("mcp_server_name"),
    "ElicitationResult": Event("mcp_server_name"),
    "ConfigChange": Event("source"),
    "WorktreeCreate": Event(),
    "WorktreeRemove": Event(),
    "InstructionsLoaded": Event("load_reason"),
    "CwdChanged": Event(),
    "FileChanged": Event("file_path"),
    "DirectoryAdded": Event(),
    "MessageDisplay": Event(),
}
_SEVERITY: Final[Mapping[str, int]] = {"defer": 1, "allow": 2, "ask": 3, "deny": 4}
_OLD_DECISIONS: Final[Mapping[str, Decision]] = {"block": "deny", "deny": "deny", "approve": "allow", "allow": "allow"}
_LONGEST: Final = 100_000
"""Characters of any one text of a hook; what is longer is cut."""


class InvalidHookOutput(ValueError):
    """An answer that is none; the text says what is wrong with it."""


class HookResult(msgspec.Struct, frozen=True):
    """What hooks decided, one or many together.

    decision            of PreToolUse: may the tool run? None where no hook cared; `reason` says why
    updated_input       what the tool is to be given instead
    updated_output      of PostToolUse: what the model is to see instead
    block               the reason of a hook that says no to a prompt, to stopping, or to a result; None for none
    additional_context  what the model is to be told as well
    system_messages     what the human is to be told
    continue_           false: after this the turn ends; `stop_reason` says why
    permission          of PermissionRequest: the answer as the protocol has it
    failures            what went wrong with a hook; its answer counts as empty
    timed_out           a callback of the host did not answer in time
    specific            everything else that an event's own answer held
    """

    decision: Decision | None = None
    reason: str = ""
    updated_input: JsonObject | None = None
    updated_output: Any = None
    block: str | None = None
    additional_context: tuple[str, ...] = ()
    system_messages: tuple[str, ...] = ()
    continue_: bool = True
    stop_reason: str = ""
    permission: JsonObject | None = None
    failures: tuple[str, ...] = ()
    timed_out: bool = False
    suppress_output: bool = False
    is_async: bool = False
    specific: JsonObject = {}


NOTHING: Final = HookResult()


def read_output(output: Any, event: str) -> HookResult:
    """One answer. In: what the host gave or a command printed as JSON. Out: the result; InvalidHookOutput otherwise."""
    if output is None:
        return NOTHING
    if not isinstance(output, dict):
        raise InvalidHookOutput("the answer must be an object")
    given = cast("JsonObject", output)
    if given.get("async") is True:
        return HookResult(is_async=True)
    specific = _specific(given, event)
    decision, reason = _decision(given, specific)
    blocks = given.get("decision") == "block"
    context = _text(specific, "additionalContext")
    message = _text(given, "systemMessage")
    return HookResult(
        decision=decision,
        reason=reason,
        updated_input=_object(specific, "updatedInput"),
        updated_output=specific.get("updatedToolOutput", specific.get("updatedMCPToolOutput")),
        block=(_text(given, "reason") or "a hook blocked it") if blocks else None,
        additional_context=(context,) if context else (),
        system_messages=(message,) if message else (),
        continue_=_flag(given, "continue", otherwise=True),
        stop_reason=_text(given, "stopReason"),
        permission=_permission(specific) if event == "PermissionRequest" else None,
        suppress_output=_flag(given, "suppressOutput", otherwise=False),
        specific={key: value for key, value in specific.items() if key not in _READ},
    )


_READ: Final = frozenset(
    "hookEventName permissionDecision permissionDecisionReason updatedInput additionalContext decision"
    " updatedToolOutput updatedMCPToolOutput".split()
)


def read_printed(code: int, printed: str, errors: str, *, event: str, command: str) -> HookResult:
    """What a command hook said by its exit code and its outputs. Exit code 2 says no, and why on stderr."""
    if code == 2:
        why = f"[{command}]: {errors or 'No stderr output'}"
        return HookResult(decision="deny" if event == "PreToolUse" else None, reason=why, block=why)
    if code != 0:
        why = errors.strip() or "No stderr output"
        return HookResult(failures=(f"{event}: the hook [{command}] failed with exit code {code}: {why}",))
    text = printed.strip()
    if text.startswith("{"):
        try:
            return read_output(msgspec.json.decode(text), event)
        except (msgspec.DecodeError, RecursionError):
            pass  # words that happen to begin with a bracket
        except InvalidHookOutput as error:
            return HookResult(failures=(f"{event}: the hook [{command}] printed an answer that is none: {error}",))
    known = EVENTS.get(event)
    return HookResult(additional_context=(text[:_LONGEST],)) if text and known and known.printed else NOTHING


def merge(results: Iterable[HookResult]) -> HookResult:
    """All together, in their order. The strictest decision counts, with the reason of the first that gave it."""
    every = [result for result in results if not result.is_async]
    deciding = max(every, key=lambda result: _SEVERITY.get(result.decision or "", 0), default=NOTHING)
    stopping = next((result for result in every if not result.continue_), NOTHING)
    permissions = [result.permission for result in every if result.permission is not None]
    denied = [permission for permission in permissions if permission["behavior"] == "deny"]
    return HookResult(
        decision=deciding.decision,
        reason=deciding.reason if deciding.decision else "",
        updated_input=_last(every, lambda result: result.updated_input),
        updated_output=_last(every, lambda result: result.updated_output),
        block=next((result.block for result in every if result.block is not None), None),
        additional_context=tuple(text for result in every for text in result.additional_context),
        system_messages=tuple(text for result in every for text in result.system_messages),
        continue_=stopping.continue_,
        stop_reason=stopping.stop_reason,
        permission=next(iter([*denied, *permissions]), None),
        failures=tuple(text for result in every for text in result.failures),
        timed_out=any(result.timed_out for result in every),
        suppress_output=any(result.suppress_output for result in every),
        is_async=not every,
        specific={key: value for result in every for key, value in result.specific.items()},
    )


def _last(results: list[HookResult], field: Callable[[HookResult], Any]) -> Any:
    return next((value for value in map(field, reversed(results)) if value is not None), None)


def _specific(given: JsonObject, event: str) -> JsonObject:
    specific = _object(given, "hookSpecificOutput") or {}
    named = specific.get("hookEventName", event)
    if named != event:
        raise InvalidHookOutput(f"hookEventName is {str(named)[:60]!r}, and the event is {event}")
    return specific


def _decision(given: JsonObject, specific: JsonObject) -> tuple[Decision | None, str]:
    newer = specific.get("permissionDecision")
    if newer is not None:
        if not isinstance(newer, str) or newer not in _SEVERITY:
            raise InvalidHookOutput(f"permissionDecision is {str(newer)[:60]!r}, not allow, deny, ask or defer")
        return cast("Decision", newer), _text(specific, "permissionDecisionReason")
    older = given.get("decision")
    if older is None:
        return None, ""
    if not isinstance(older, str) or older not in _OLD_DECISIONS:
        raise InvalidHookOutput(f"decision is {str(older)[:60]!r}, not block or approve")
    return _OLD_DECISIONS[older], _text(given, "reason")


def _permission(specific: JsonObject) -> JsonObject | None:
    answer = _object(specific, "decision")
    if answer is None:
        return None
    if answer.get("behavior") not in ("allow", "deny"):
        raise InvalidHookOutput("the decision of a PermissionRequest needs `behavior`: allow or deny")
    return answer if answer["behavior"] == "allow" else {"message": "a hook denied it", **answer}


def _text(given: JsonObject, key: str) -> str:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidHookOutput(f"{key} must be text")
    return (value or "")[:_LONGEST]


def _flag(given: JsonObject, key: str, *, otherwise: bool) -> bool:
    value = given.get(key, otherwise)
    if not isinstance(value, bool):
        raise InvalidHookOutput(f"{key} must be true or false")
    return value


def _object(given: JsonObject, key: str) -> JsonObject | None:
    value = given.get(key)
    if value is not None and not isinstance(value, dict):
        raise InvalidHookOutput(f"{key} must be an object")
    return cast("JsonObject | None", value)
