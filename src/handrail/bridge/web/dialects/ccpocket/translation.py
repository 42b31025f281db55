"""Translates the events of one session into ccpocket messages. Pure.

| event | message |
|---|---|
| frame system/init | system: init |
| frame assistant | assistant |
| frame user | one tool_result per result block |
| frame result, crashed | result |
| live | stream_delta, thinking_delta; only of the main thread, because the protocol cannot mark subagents |
| asked | permission_request |
| answered, closed | system: permission_resolved, so that every client closes the question |
| lapsed | system: rules_lapsed, with the session rules that expired |
| said | system: user_input, so that every client shows the prompt |
| state | status; preceded by error if the session failed |

Every message carries the sessionId. Logged and live events are translated by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from handrail.bridge.errors import CommandRefused

__all__ = ["STATUS", "ShownQuestion", "Translation", "joined"]

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
_MERGED: Final = frozenset(message for message, _ in _DELTAS.values())


class ShownQuestion(Struct, frozen=True):
    """An open question as the client was shown it.

    `id` is the toolUseId the client knows; `question` and `hash` identify it in the `answer` command; `grantable` holds
    the indexes of the suggestions that an answer may grant for the session.
    """

    id: str
    question: str
    hash: str
    kind: str
    request: JsonObject
    grantable: frozenset[int] = frozenset()

    @property
    def suggestions(self) -> list[JsonObject]:
        """Permission updates suggested by the CLI."""
        return _objects(self.request.get("permission_suggestions"))

    @property
    def session_grants(self) -> list[int]:
        """Indexes of the suggestions that `approve_always` grants.

        These are the allow rules; directories and the mode acceptEdits are the fallback without rules; a more
        permissive mode is never granted.
        """
        offered = [(at, one) for at, one in enumerate(self.suggestions) if at in self.grantable]
        rules = [at for at, one in offered if one.get("type") == "addRules" and one.get("behavior") == "allow"]
        rest = [at for at, one in offered if one.get("type") == "addDirectories" or one.get("mode") == "acceptEdits"]
        return rules or rest

    @property
    def asked_every_time(self) -> bool:
        """Whether only a person may answer this kind of question, so that `approve_always` allows it once."""
        flags = ("requires_user_interaction", "suppress_always_allow_rule", "server_policy_ask_only")
        return self.kind != "permission" or any(self.request.get(flag) for flag in flags)

    def message(self) -> JsonObject:
        """The permission_request."""
        tool = str(self.request.get("tool_name") or self.request.get("mcp_server_name") or self.kind)
        input = _object(self.request.get("input")) if "tool_name" in self.request else self.request
        line: JsonObject = {"type": "permission_request", "toolUseId": self.id, "toolName": tool, "input": input}
        return {**line, "permissionSuggestions": self.suggestions} if self.suggestions else line

    def answer_fields(self, result: str) -> JsonObject:
        """Fields of the `answer` command for the client's `result`. Raises CommandRefused if it does not fit."""
        found = _json_object(result)
        if self.kind == "elicitation":
            return {"content": found} if found is not None else {}
        if self.kind != "questions":
            raise CommandRefused("bad_answer", f"{self.id} is a permission request; send approve or reject")
        if found is not None:
            return {"answers": _object(found.get("answers")) or found}
        asked = [str(one.get("question")) for one in _objects(_object(self.request.get("input")).get("questions"))]
        if len(asked) != 1:
            why = f"{self.id} asks {len(asked)} questions; send a JSON object that maps each question to its answer"
            raise CommandRefused("bad_answer", why)
        return {"answers": {asked[0]: result}}


class Translation:
    """The state needed to translate one session for one client: open questions, and the tool of each pending call."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.open: dict[str, ShownQuestion] = {}
        self.status = ""
        self._tools: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        """Hash of the first question asked about each tool call."""

    def translate(self, kind: str, data: JsonObject) -> list[JsonObject]:
        """The messages for the next event."""
        translate = _EVENTS.get(kind)
        return [{**line, "sessionId": self.session} for line in translate(self, data)] if translate else []

    def snapshot(self, state: str, *, without: str = "") -> list[JsonObject]:
        """The status and the open questions, for a client that joins now. The question `without` is left out."""
        self.status = STATUS.get(state, "idle")
        open = [one.message() for id, one in self.open.items() if id != without]
        return [{**line, "sessionId": self.session} for line in ({"type": "status", "status": self.status}, *open)]

    # Frames of the CLI

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
        # A prompt sent through the server has its own `said` event; the CLI's echo of it is dropped.
        hidden = data.get("isMeta") or data.get("isCompactSummary") or not data.get("imported")
        return [] if hidden else _user_input(content)

    def _tool_result(self, block: JsonObject) -> JsonObject:
        call, content = str(block.get("tool_use_id")), block.get("content")
        tool, images = self._tools.pop(call, ""), _images(call, content)
        return {
            "type": "tool_result",
            "toolUseId": call,
            "content": _text(content),
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
        text = data.get("result")
        line = {"type": "result", "subtype": str(data.get("subtype", "")), **_renamed(data, names)}
        line |= _renamed(_object(data.get("usage")), counts)
        if data.get("is_error"):
            errors = "\n".join(str(one) for one in _list(data.get("errors")))
            return [{**line, "error": errors or str(text or data.get("error") or "the turn failed")}]
        return [{**line, "result": text}] if isinstance(text, str) else [line]

    def _live(self, data: JsonObject) -> list[JsonObject]:
        delta = _object(_object(data.get("event")).get("delta"))
        message, field = _DELTAS.get(str(delta.get("type")), ("", ""))
        text = delta.get(field)
        if not isinstance(text, str) or not text or data.get("parent_tool_use_id"):
            return []
        return [{"type": message, "text": text}]

    # Events of the bridge

    def _said(self, data: JsonObject) -> list[JsonObject]:
        return _user_input(data.get("content"))

    def _lapsed(self, data: JsonObject) -> list[JsonObject]:
        return [{"type": "system", "subtype": "rules_lapsed", "rules": _list(data.get("rules"))}]

    def _question_asked(self, data: JsonObject) -> list[JsonObject]:
        request, question, hash = _object(data.get("request")), str(data.get("question")), str(data.get("hash"))
        call = str(request.get("tool_use_id") or question)
        if self._asked.setdefault(call, hash) != hash:
            # The same call with another input gets another id: an approval of the first must not approve the second.
            call = question
        offered = [one for one in _objects(data.get("suggestions")) if "session" in _list(one.get("destinations"))]
        grantable = frozenset(at for one in offered if isinstance(at := one.get("index"), int))
        shown = ShownQuestion(call, question, hash, str(data.get("kind")), request, grantable)
        self.open[call] = shown
        return [shown.message()]

    def _question_closed(self, data: JsonObject) -> list[JsonObject]:
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
    "asked": Translation._question_asked,  # pyright: ignore[reportPrivateUsage]
    "answered": Translation._question_closed,  # pyright: ignore[reportPrivateUsage]
    "closed": Translation._question_closed,  # pyright: ignore[reportPrivateUsage]
    "state": Translation._state,  # pyright: ignore[reportPrivateUsage]
}


def joined(messages: Iterable[JsonObject]) -> list[JsonObject]:
    """The messages with adjacent deltas of one type merged."""
    out: list[JsonObject] = []
    for line in messages:
        last = out[-1] if out else {}
        if line["type"] in _MERGED and (last.get("type"), last.get("sessionId")) == (line["type"], line["sessionId"]):
            out[-1] = {**last, "text": last["text"] + line["text"]}
        else:
            out.append(line)
    return out


def _user_input(content: Any) -> list[JsonObject]:
    text = _text(content)
    return [{"type": "system", "subtype": "user_input", "text": text}] if text else []


def _text(content: Any) -> str:
    """The text of a message or tool result: a string, or its text blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(text for block in _objects(content) if isinstance(text := block.get("text"), str))


def _images(call: str, content: Any) -> list[JsonObject]:
    """The images of a tool result, as data URLs."""
    found: list[JsonObject] = []
    for block in _objects(content):
        source = _object(block.get("source"))
        kind, data = source.get("media_type"), source.get("data")
        if block.get("type") == "image" and isinstance(kind, str) and isinstance(data, str):
            found.append({"id": f"{call}-{len(found)}", "url": f"data:{kind};base64,{data}", "mimeType": kind})
    return found


def _renamed(data: JsonObject, names: dict[str, str]) -> JsonObject:
    """Fields under their ccpocket names; missing, null and empty ones are left out."""
    return {name: value for name, key in names.items() if (value := data.get(key)) is not None and value != ""}


def _json_object(text: str) -> JsonObject | None:
    """The JSON object in `text`; None for plain text and other JSON."""
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
