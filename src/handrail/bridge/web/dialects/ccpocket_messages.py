"""Events in the words of the early bridge protocol. In: those of one session, in order. Out: messages. Pure.

| event | message |
|---|---|
| frame system/init | system: init |
| frame assistant | assistant |
| frame user | a tool_result for each result in it |
| frame result, crashed | result |
| live | stream_delta, thinking_delta: of the main thread, as those of subagents cannot be told apart there |
| asked | permission_request |
| answered, closed | system: permission_resolved, so that every client closes the question |
| lapsed | system: rules_lapsed: what was granted for the session is asked for again |
| said | system: user_input, so that every client knows what was asked |
| state | status; of a session that failed first error |

Every message names its session. What is on record and what comes is translated alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from handrail.bridge.errors import CommandRefused

__all__ = ["STATUS", "Shown", "Translation", "joined"]

JsonObject = dict[str, Any]
STATUS: Final = {
    "starting": "running",
    "running": "running",
    "compacting": "running",
    "waiting_approval": "waiting_approval",
    "idle": "idle",
    "hibernated": "idle",
    "failed": "idle",
}
_DELTAS: Final = {"text_delta": ("stream_delta", "text"), "thinking_delta": ("thinking_delta", "thinking")}
_GROWING: Final = frozenset(message for message, _ in _DELTAS.values())


class Shown(Struct, frozen=True):
    """A question as it was shown. `id` is what the client knows it by."""

    id: str
    question: str
    hash: str
    kind: str
    request: JsonObject

    @property
    def suggestions(self) -> list[JsonObject]:
        """What the CLI offers to remember."""
        return _objects(self.request.get("permission_suggestions"))

    @property
    def lasting(self) -> list[int]:
        """Which of them an approval for the session grants: the rules; only where there are none, the rest of it but no
        mode that asks even less than for edits."""
        offered = list(enumerate(self.suggestions))
        rules = [at for at, one in offered if one.get("type") == "addRules" and one.get("behavior") == "allow"]
        rest = [at for at, one in offered if one.get("type") == "addDirectories" or one.get("mode") == "acceptEdits"]
        return rules or rest

    def message(self) -> JsonObject:
        """As a client is asked."""
        tool = str(self.request.get("tool_name") or self.request.get("mcp_server_name") or self.kind)
        input = _object(self.request.get("input")) if "tool_name" in self.request else self.request
        line: JsonObject = {"type": "permission_request", "toolUseId": self.id, "toolName": tool, "input": input}
        return {**line, "permissionSuggestions": self.suggestions} if self.suggestions else line

    def reply(self, text: str) -> JsonObject:
        """What an answer says. In: words, or JSON of answers by the text of their questions. CommandRefused."""
        found = _json_object(text)
        if self.kind == "elicitation":
            return {"content": found} if found is not None else {}
        if self.kind != "questions":
            raise CommandRefused("bad_answer", "this is no question: approve or reject it")
        if found is not None:
            return {"answers": _object(found.get("answers")) or found}
        asked = [str(one.get("question")) for one in _objects(_object(self.request.get("input")).get("questions"))]
        if len(asked) != 1:
            raise CommandRefused("bad_answer", f"{len(asked)} questions: answer with JSON, by their text")
        return {"answers": {asked[0]: text}}


class Translation:
    """What one client is told of one session. It knows which questions are open and which tool a result is of."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.open: dict[str, Shown] = {}
        self.status = ""
        self._tools: dict[str, str] = {}
        self._asked: dict[str, str] = {}

    def take(self, kind: str, data: JsonObject) -> list[JsonObject]:
        """One more event. Out: what the client is told of it."""
        translate = _EVENTS.get(kind)
        return [{**line, "sessionId": self.session} for line in translate(self, data)] if translate else []

    def now(self, state: str) -> list[JsonObject]:
        """How it stands, for a client that comes in the middle: the status, and what waits for an answer."""
        self.status = STATUS.get(state, "idle")
        lines = [{"type": "status", "status": self.status}, *(one.message() for one in self.open.values())]
        return [{**line, "sessionId": self.session} for line in lines]

    # Lines of the CLI

    def _frame(self, data: JsonObject) -> list[JsonObject]:
        translate = _FRAMES.get(str(data.get("type")))
        return translate(self, data) if translate else []

    def _system(self, data: JsonObject) -> list[JsonObject]:
        if data.get("subtype") != "init":
            return []
        names = {
            "claudeSessionId": "session_id",
            "model": "model",
            "projectPath": "cwd",
            "permissionMode": "permissionMode",
            "slashCommands": "slash_commands",
            "skills": "skills",
        }
        return [{"type": "system", "subtype": "init", **_renamed(data, names)}]

    def _assistant(self, data: JsonObject) -> list[JsonObject]:
        message = _object(data.get("message"))
        for block in _objects(message.get("content")):
            if block.get("type") == "tool_use":
                self._tools[str(block.get("id"))] = str(block.get("name"))
        names = {"messageUuid": "uuid", "parentToolUseId": "parent_tool_use_id"}
        return [{"type": "assistant", "message": message, **_renamed(data, names)}]

    def _user(self, data: JsonObject) -> list[JsonObject]:
        content = _object(data.get("message")).get("content")
        results = [block for block in _objects(content) if block.get("type") == "tool_result"]
        if results:
            names = {"userMessageUuid": "uuid", "parentToolUseId": "parent_tool_use_id"}
            return [{**self._tool_result(block), **_renamed(data, names)} for block in results]
        aside = data.get("isMeta") or data.get("isCompactSummary") or not data.get("imported")
        return [] if aside else _user_input(content)  # what was said here is told by an event of its own

    def _tool_result(self, block: JsonObject) -> JsonObject:
        call, content = str(block.get("tool_use_id")), block.get("content")
        tool, images = self._tools.pop(call, ""), _images(call, content)
        return {
            "type": "tool_result",
            "toolUseId": call,
            "content": _words(content),
            **({"toolName": tool} if tool else {}),
            **({"images": images} if images else {}),
            **({"isError": True} if block.get("is_error") else {}),
        }

    def _result(self, data: JsonObject) -> list[JsonObject]:
        names = {"cost": "total_cost_usd", "duration": "duration_ms", "stopReason": "stop_reason"}
        counts = {
            "inputTokens": "input_tokens",
            "cachedInputTokens": "cache_read_input_tokens",
            "outputTokens": "output_tokens",
        }
        said = data.get("result")
        line = {"type": "result", "subtype": str(data.get("subtype", "")), **_renamed(data, names)}
        line |= _renamed(_object(data.get("usage")), counts)
        if data.get("is_error"):
            errors = "\n".join(str(one) for one in _list(data.get("errors")))
            return [{**line, "error": errors or str(said or data.get("error") or "the turn failed")}]
        return [{**line, "result": said}] if isinstance(said, str) else [line]

    def _live(self, data: JsonObject) -> list[JsonObject]:
        delta = _object(_object(data.get("event")).get("delta"))
        message, field = _DELTAS.get(str(delta.get("type")), ("", ""))
        text = delta.get(field)
        if not isinstance(text, str) or not text or data.get("parent_tool_use_id"):
            return []
        return [{"type": message, "text": text}]

    # Words of the bridge

    def _said(self, data: JsonObject) -> list[JsonObject]:
        return _user_input(data.get("content"))

    def _lapsed(self, data: JsonObject) -> list[JsonObject]:
        return [{"type": "system", "subtype": "rules_lapsed", "rules": _list(data.get("rules"))}]

    def _asking(self, data: JsonObject) -> list[JsonObject]:
        request, question, hash = _object(data.get("request")), str(data.get("question")), str(data.get("hash"))
        call = str(request.get("tool_use_id") or question)
        if self._asked.setdefault(call, hash) != hash:
            call = question  # asked again with another input: who approves the first one must not approve this
        shown = self.open[call] = Shown(call, question, hash, str(data.get("kind")), request)
        return [shown.message()]

    def _closed(self, data: JsonObject) -> list[JsonObject]:
        question = data.get("question")
        closed = [id for id, shown in self.open.items() if shown.question == question]
        for id in closed:
            del self.open[id]
        why = _renamed(data, {"by": "by", "message": "why"})
        return [{"type": "system", "subtype": "permission_resolved", "toolUseId": id, **why} for id in closed]

    def _state(self, data: JsonObject) -> list[JsonObject]:
        state = str(data.get("state"))
        before, self.status = self.status, STATUS.get(state, "idle")
        lines: list[JsonObject] = [] if self.status == before else [{"type": "status", "status": self.status}]
        if state == "failed":
            why = str(data.get("error") or "the session failed")
            return [{"type": "error", "message": why, "errorCode": "session_failed"}, *lines]
        return lines


_Translate = Callable[[Translation, JsonObject], list[JsonObject]]
_FRAMES: Final[dict[str, _Translate]] = {
    "system": Translation._system,  # pyright: ignore[reportPrivateUsage]
    "assistant": Translation._assistant,  # pyright: ignore[reportPrivateUsage]
    "user": Translation._user,  # pyright: ignore[reportPrivateUsage]
    "result": Translation._result,  # pyright: ignore[reportPrivateUsage]
}
_EVENTS: Final[dict[str, _Translate]] = {
    "frame": Translation._frame,  # pyright: ignore[reportPrivateUsage]
    "live": Translation._live,  # pyright: ignore[reportPrivateUsage]
    "crashed": Translation._result,  # pyright: ignore[reportPrivateUsage]
    "said": Translation._said,  # pyright: ignore[reportPrivateUsage]
    "lapsed": Translation._lapsed,  # pyright: ignore[reportPrivateUsage]
    "asked": Translation._asking,  # pyright: ignore[reportPrivateUsage]
    "answered": Translation._closed,  # pyright: ignore[reportPrivateUsage]
    "closed": Translation._closed,  # pyright: ignore[reportPrivateUsage]
    "state": Translation._state,  # pyright: ignore[reportPrivateUsage]
}


def joined(messages: Iterable[JsonObject]) -> list[JsonObject]:
    """The same with deltas that follow one another made one."""
    out: list[JsonObject] = []
    for line in messages:
        last = out[-1] if out else {}
        if line["type"] in _GROWING and (last.get("type"), last.get("sessionId")) == (line["type"], line["sessionId"]):
            out[-1] = {**last, "text": last["text"] + line["text"]}
        else:
            out.append(line)
    return out


def _user_input(content: Any) -> list[JsonObject]:
    text = _words(content)
    return [{"type": "system", "subtype": "user_input", "text": text}] if text else []


def _words(content: Any) -> str:
    """The text of a message or of a result."""
    if isinstance(content, str):
        return content
    return "\n".join(text for block in _objects(content) if isinstance(text := block.get("text"), str))


def _images(call: str, content: Any) -> list[JsonObject]:
    """Pictures in a result, each with an address that holds it."""
    found: list[JsonObject] = []
    for block in _objects(content):
        source = _object(block.get("source"))
        kind, data = source.get("media_type"), source.get("data")
        if block.get("type") == "image" and isinstance(kind, str) and isinstance(data, str):
            found.append({"id": f"{call}-{len(found)}", "url": f"data:{kind};base64,{data}", "mimeType": kind})
    return found


def _renamed(data: JsonObject, names: dict[str, str]) -> JsonObject:
    """Fields under the names of the protocol; those that are not there are left out."""
    return {name: value for name, told in names.items() if (value := data.get(told)) is not None and value != ""}


def _json_object(text: str) -> JsonObject | None:
    """What JSON says that is an object; None for words, and for JSON that is anything else."""
    try:
        return msgspec.json.decode(text, type=JsonObject)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _object(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _objects(value: Any) -> list[JsonObject]:
    return [_object(one) for one in _list(value) if isinstance(one, dict)]
