"""Hook events, and the answers of hooks: read, checked and merged. Nothing here does I/O.

Several hooks may answer the same event. Merged, the strictest decision applies: deny, then ask, allow and defer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, cast

import msgspec

from handrail.errors import PeerError

__all__ = ["EVENTS", "HookResult", "InvalidHookOutput", "WrongEvent", "merge", "read_output", "read_printed"]

JsonObject = dict[str, Any]
Decision = Literal["allow", "deny", "ask", "defer"]


class Event(msgspec.Struct, frozen=True):
    """One hook event.

    matched    the input field that matchers are compared with
    printed    plain text that a command prints is passed to the model
    means      plain text that a command prints is this field of `hookSpecificOutput`
    tool       the event is about a tool call, so `if` conditions apply
    exports    commands may export variables for later Bash calls with CLAUDE_ENV_FILE
    answers    fields of `hookSpecificOutput` that only this event has
    never      why this agent never fires the event; "" if it does
    """

    matched: str = ""
    printed: bool = False
    means: str = ""
    tool: bool = False
    exports: bool = False
    answers: tuple[str, ...] = ()
    never: str = ""


_TOOL: Final = Event("tool_name", tool=True)
EVENTS: Final[Mapping[str, Event]] = {
    "PreToolUse": _TOOL,
    "PostToolUse": _TOOL,
    "PostToolUseFailure": _TOOL,
    "PostToolBatch": Event(),
    "PermissionRequest": _TOOL,
    "PermissionDenied": Event("tool_name", tool=True, never="no classifier decides about tools"),
    "Notification": Event("notification_type"),
    "UserPromptSubmit": Event(printed=True, answers=("sessionTitle",)),
    "UserPromptExpansion": Event("command_name", printed=True),
    "SessionStart": Event("source", printed=True, exports=True, answers=("sessionTitle",)),
    "SessionEnd": Event("reason"),
    "Stop": Event(),
    "StopFailure": Event("error"),
    "SubagentStart": Event("agent_type"),
    "SubagentStop": Event("agent_type"),
    "PreCompact": Event("trigger"),
    "PostCompact": Event("trigger"),
    "PreModelSwitch": Event(),
    "PostModelSwitch": Event(),
    "Setup": Event("trigger", never="setup runs are not supported"),
    "TeammateIdle": Event(never="agent teams are not supported"),
    "TaskCreated": Event(),
    "TaskCompleted": Event(),
    "Elicitation": Event("mcp_server_name", answers=("action", "content")),
    "ElicitationResult": Event("mcp_server_name", answers=("action", "content")),
    "ConfigChange": Event("source", never="settings files are not watched"),
    "WorktreeCreate": Event(means="worktreePath"),
    "WorktreeRemove": Event(),
    "InstructionsLoaded": Event("load_reason"),
    "CwdChanged": Event(exports=True),
    "FileChanged": Event("file_path", never="files are not watched"),
    "DirectoryAdded": Event(),
    "MessageDisplay": Event(never="nothing is displayed by this process"),
}
_SEVERITY: Final[Mapping[str, int]] = {"defer": 1, "allow": 2, "ask": 3, "deny": 4}
_OLD_DECISIONS: Final[Mapping[str, Decision]] = {"block": "deny", "deny": "deny", "approve": "allow", "allow": "allow"}
_LONGEST: Final = 100_000
"""Characters of any one text in an answer; longer texts are cut."""


class InvalidHookOutput(PeerError, ValueError):
    """An answer that cannot be used; the text says why."""


class WrongEvent(InvalidHookOutput):
    """An answer to another event."""


class HookResult(msgspec.Struct, frozen=True):
    """The answer of one hook, or of several merged.

    decision            PreToolUse: whether the tool may run; None if no hook decided. `reason` says why
    updated_input       the input to use for the tool
    updated_output      PostToolUse: the output to use for any tool, in the shape of that tool's own output
    updated_mcp_output  PostToolUse: the same for MCP tools only
    block               the reason why a hook rejects a prompt, a result or the end of a turn; None if none does
    additional_context  texts for the model
    system_messages     texts for the user
    continue_           False: the turn ends after this; `stop_reason` says why
    permission          PermissionRequest: the answer in wire form
    title               the new title of the session
    elicitation         Elicitation: the answer to the MCP server
    environment         variables for later Bash calls
    failures            descriptions of hooks that failed; a failed hook decides nothing
    no_verdict          a callback of the host did not answer in time, or answered to another event
    killed              descriptions of commands that were killed at their time limit; they decide nothing either
    specific            fields of the event's own answer that nothing here uses
    """

    decision: Decision | None = None
    reason: str = ""
    updated_input: JsonObject | None = None
    updated_output: Any = None
    updated_mcp_output: Any = None
    block: str | None = None
    additional_context: tuple[str, ...] = ()
    system_messages: tuple[str, ...] = ()
    continue_: bool = True
    stop_reason: str = ""
    permission: JsonObject | None = None
    title: str = ""
    elicitation: JsonObject | None = None
    environment: dict[str, str] = {}
    failures: tuple[str, ...] = ()
    no_verdict: bool = False
    killed: tuple[str, ...] = ()
    suppress_output: bool = False
    is_async: bool = False
    specific: JsonObject = {}


NOTHING: Final = HookResult()


def read_output(output: Any, event: str) -> HookResult:
    """Read one answer: the payload of the host, or the JSON that a command printed. Raises InvalidHookOutput."""
    if output is None:
        return NOTHING
    if not isinstance(output, dict):
        raise InvalidHookOutput("the answer must be an object")
    given = cast("JsonObject", output)
    if given.get("async") is True:
        return HookResult(is_async=True)
    specific = _specific(given, event)
    if specific.get("updatedInput", {}) is None:
        raise InvalidHookOutput("updatedInput must be an object")
    decision, reason = _decision(given, specific)
    blocks = given.get("decision") == "block"
    context = _text(specific, "additionalContext")
    message = _text(given, "systemMessage")
    own = _event(event).answers
    return HookResult(
        decision=decision,
        reason=reason,
        updated_input=_object(specific, "updatedInput"),
        updated_output=specific.get("updatedToolOutput"),
        updated_mcp_output=specific.get("updatedMCPToolOutput"),
        block=(_text(given, "reason") or "a hook blocked it") if blocks else None,
        additional_context=(context,) if context else (),
        system_messages=(message,) if message else (),
        continue_=_flag(given, "continue", otherwise=True),
        stop_reason=_text(given, "stopReason"),
        permission=_permission(specific) if event == "PermissionRequest" else None,
        title=_text(specific, "sessionTitle").strip() if "sessionTitle" in own else "",
        elicitation=_elicitation(specific) if "action" in own else None,
        suppress_output=_flag(given, "suppressOutput", otherwise=False),
        specific={key: value for key, value in specific.items() if key not in _READ and key not in own},
    )


_READ: Final = frozenset(
    "hookEventName permissionDecision permissionDecisionReason updatedInput additionalContext decision"
    " updatedToolOutput updatedMCPToolOutput".split()
)


def _event(name: str) -> Event:
    return EVENTS.get(name) or Event()


def read_printed(code: int, printed: str, errors: str, *, event: str, command: str) -> HookResult:
    """Read the answer of a command from its exit code and output. Exit code 2 blocks, with the reason on stderr."""
    if code == 2:
        why = f"[{command}]: {errors or 'No stderr output'}"
        return HookResult(decision="deny" if event == "PreToolUse" else None, reason=why, block=why)
    if code != 0:
        why = errors.strip() or "No stderr output"
        return HookResult(failures=(f"{event}: the hook [{command}] failed with exit code {code}: {why}",))
    text = printed.strip()
    if (means := _event(event).means) and text and not text.startswith("{"):
        return HookResult(specific={means: text[:_LONGEST]})
    if text.startswith("{"):
        try:
            return read_output(msgspec.json.decode(text), event)
        except (msgspec.DecodeError, RecursionError):
            pass  # plain text that happens to start with a brace
        except InvalidHookOutput as error:
            return HookResult(failures=(f"{event}: the hook [{command}] printed an invalid answer: {error}",))
    return HookResult(additional_context=(text[:_LONGEST],)) if text and _event(event).printed else NOTHING


def merge(results: Iterable[HookResult]) -> HookResult:
    """Merge answers in their order. The strictest decision applies, with the reason of the first that gave it."""
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
        updated_mcp_output=_last(every, lambda result: result.updated_mcp_output),
        block=next((result.block for result in every if result.block is not None), None),
        additional_context=tuple(text for result in every for text in result.additional_context),
        system_messages=tuple(text for result in every for text in result.system_messages),
        continue_=stopping.continue_,
        stop_reason=stopping.stop_reason,
        permission=next(iter([*denied, *permissions]), None),
        title=_last(every, lambda result: result.title or None) or "",
        elicitation=_last(every, lambda result: result.elicitation),
        environment={name: value for result in every for name, value in result.environment.items()},
        failures=tuple(text for result in every for text in result.failures),
        no_verdict=any(result.no_verdict for result in every),
        killed=tuple(text for result in every for text in result.killed),
        suppress_output=any(result.suppress_output for result in every),
        is_async=not every,
        specific={key: value for result in every for key, value in result.specific.items()},
    )


def _last(results: list[HookResult], field: Callable[[HookResult], Any]) -> Any:
    return next((value for value in map(field, reversed(results)) if value is not None), None)


def _specific(given: JsonObject, event: str) -> JsonObject:
    specific = _object(given, "hookSpecificOutput")
    if specific is None:
        return {}
    named = specific.get("hookEventName")
    if not isinstance(named, str):
        raise InvalidHookOutput("hookSpecificOutput needs the text hookEventName")
    if named != event:
        raise WrongEvent(f"hookEventName is {named[:60]!r}, and the event is {event}")
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


def _elicitation(specific: JsonObject) -> JsonObject | None:
    action, content = specific.get("action"), _object(specific, "content")
    if action is None:
        return None
    if action not in ("accept", "decline", "cancel"):
        raise InvalidHookOutput("action must be accept, decline or cancel")
    return {"action": action, **({} if content is None else {"content": content})}


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
