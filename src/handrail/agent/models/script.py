"""The model's side of a conversation, written down as data. In: JSON or Python. Out: a `Script`. Pure.

    {"replies": [
        {"blocks": [{"type": "thinking", "thinking": "A list is wanted."},
                    {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]},
        {"error": {"status": 529, "headers": {"retry-after": "1"}}, "times": 2},
        {"blocks": [{"type": "text", "text": "Two files."}], "chunk": 3, "delay": 0.05},
        {"when": {"prompt": "weather"}, "blocks": [{"type": "text", "text": "Rain."}]}],
     "afterwards": {"blocks": [{"type": "text", "text": "That was all."}]},
     "helper": {"blocks": [{"type": "text", "text": "A title"}]}}

Replies are taken in order, each `times` times (once unless told). A reply with `when` stands outside the order: it is
given to every request that fits (or to the first `times` of them), and is looked for before the order.
`afterwards` answers when the order has run out. `helper` answers the requests without tools, with which a CLI makes
titles and summaries; `"helper": null` says that there are none, and such requests are answered like all others.

A reply has `blocks` or an `error` (`status`, `type`, `message`, `headers`), and may have
  stop_reason  else "tool_use" after a tool_use block, and "end_turn" otherwise
  usage        token counts that differ from the usual ones
  chunk        characters per delta; else a word of text, 24 characters of JSON
  delay        seconds between two deltas
  when         prompt, tool_result, system: text that the newest user text, the newest tool results, the system prompt
               contain; model: the exact model; tools: true or false, whether the request has tools
               matches: a regular expression found in the newest user text; said: text that the model's last message
               contains; after: the tool that this message called; failed: true or false, whether one of the newest
               tool results is an error; offers: a tool that the request offers, by name or pattern

Blocks, by `type`:
  text               text
  thinking           thinking, signature
  redacted_thinking  data
  tool_use           name, and input (an object) or raw (text that need not be JSON); id. A name with `*` stands for the
                     first tool offered that it fits (several with `|` between, the first that fits counts); what its
                     schema requires and `input` leaves out is filled in with a sample
  ping               a ping event
  wait               seconds
  hang               says nothing more until it is released
  error              error_type, message: an error event in the middle of the stream, and its end
  cut                the stream ends here; with "broken": true the connection breaks off
A block of the first four kinds with "unfinished": true is never closed. The message starts with the first block that
says something, so a `wait`, `hang`, `cut` or `error` in front keeps even the start of the message back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta, Struct, field

from handrail.agent.models.error_types import ERROR_TYPES

Seconds = Annotated[float, Meta(ge=0)]
OneLine = Annotated[str, Meta(pattern=r"^[^\r\n]*\Z")]
JsonObject = dict[str, Any]


class ScriptError(ValueError):
    """A script that cannot be used. The text says where the fault is and what is allowed there."""


class _Part(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all parts of a script share: nothing changes, and a misspelt key is an error."""


class Text(_Part, frozen=True, tag="text"):
    text: str
    unfinished: bool = False


class Thinking(_Part, frozen=True, tag="thinking"):
    thinking: str
    signature: str = "c2lnbmF0dXJl"
    unfinished: bool = False


class RedactedThinking(_Part, frozen=True, tag="redacted_thinking"):
    data: str
    unfinished: bool = False


class ToolUse(_Part, frozen=True, tag="tool_use"):
    name: str
    input: JsonObject = field(default_factory=dict[str, Any])
    raw: str | None = None
    id: str | None = None
    unfinished: bool = False

    def __post_init__(self) -> None:
        if self.input and self.raw is not None:
            raise ValueError("a tool_use has either input or raw, not both")


class Ping(_Part, frozen=True, tag="ping"):
    pass


class Wait(_Part, frozen=True, tag="wait"):
    seconds: Seconds


class Hang(_Part, frozen=True, tag="hang"):
    pass


class StreamError(_Part, frozen=True, tag="error"):
    error_type: str = "overloaded_error"
    message: str = "Overloaded"


class Cut(_Part, frozen=True, tag="cut"):
    broken: bool = False


ContentBlock = Text | Thinking | RedactedThinking | ToolUse
Block = ContentBlock | Ping | Wait | Hang | StreamError | Cut
BLOCK_TYPES = tuple(str(kind.__struct_config__.tag) for kind in get_args(Block))


class When(_Part, frozen=True):
    """Which requests a reply is for; what is not said does not matter."""

    prompt: str | None = None
    tool_result: str | None = None
    system: str | None = None
    model: str | None = None
    tools: bool | None = None
    matches: str | None = None
    said: str | None = None
    after: str | None = None
    failed: bool | None = None
    offers: str | None = None

    def __post_init__(self) -> None:
        try:
            re.compile(self.matches or "")
        except re.error as error:
            raise ValueError(f"matches is no regular expression: {error}") from None


class HttpError(_Part, frozen=True):
    """An answer that is no message at all."""

    status: Annotated[int, Meta(ge=400, le=599)]
    type: str | None = None
    message: str = "scripted error"
    headers: dict[OneLine, OneLine] = field(default_factory=dict[str, str])

    @property
    def error_type(self) -> str:
        return self.type or ERROR_TYPES.get(self.status, "api_error")


class Reply(_Part, frozen=True):
    """One answer of the model."""

    blocks: tuple[Block, ...] = ()
    error: HttpError | None = None
    stop_reason: str | None = None
    usage: JsonObject = field(default_factory=dict[str, Any])
    chunk: Annotated[int, Meta(ge=1)] | None = None
    delay: Seconds = 0
    when: When | None = None
    times: Annotated[int, Meta(ge=1)] | None = None

    def __post_init__(self) -> None:
        if bool(self.blocks) == bool(self.error):
            raise ValueError("a reply has either blocks (at least one) or an error")


class Script(_Part, frozen=True):
    """What the model says, from the first request to the last."""

    replies: tuple[Reply, ...] = ()
    afterwards: Reply = field(default_factory=lambda: Reply((Text("The script has no more replies."),)))
    helper: Reply | None = field(default_factory=lambda: Reply((Text("ok"),)))

    def __post_init__(self) -> None:
        for name, extra in (("afterwards", self.afterwards), ("helper", self.helper)):
            if extra and (extra.when or extra.times):
                raise ValueError(f"{name} is given whenever it is needed: it takes no when and no times")

    @classmethod
    def of(
        cls, *replies: Reply | Block | Iterable[Block], afterwards: Reply | None = None, helper: Reply | None = None
    ) -> Script:
        """A script from replies; a block, or several in a list, also make one."""
        ordered = tuple(_as_reply(each) for each in replies)
        extra = {"afterwards": afterwards, "helper": helper}
        return cls(ordered, **{name: each for name, each in extra.items() if each})

    @classmethod
    def from_dict(cls, value: Any, *, source: str = "script") -> Script:
        """Checks plain data, as `json.loads` returns it."""
        try:
            return msgspec.convert(value, cls)
        except msgspec.ValidationError as error:
            raise ScriptError(f"{source}: {_explain(str(error))}") from None

    @classmethod
    def from_json(cls, text: str | bytes, *, source: str = "script") -> Script:
        """Reads JSON text; `source` is the name that errors show, such as the name of the file."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.ValidationError as error:
            raise ScriptError(f"{source}: {_explain(str(error))}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ScriptError(f"{source}: not JSON: {_with_line(str(error), data)}") from None

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)


def reply(
    *blocks: Block,
    stop_reason: str | None = None,
    usage: JsonObject | None = None,
    chunk: int | None = None,
    delay: float = 0,
    when: When | None = None,
    times: int | None = None,
) -> Reply:
    return Reply(blocks, stop_reason=stop_reason, usage=usage or {}, chunk=chunk, delay=delay, when=when, times=times)


def http_error(
    status: int,
    error_type: str | None = None,
    message: str = "scripted error",
    *,
    headers: dict[str, str] | None = None,
    when: When | None = None,
    times: int | None = None,
) -> Reply:
    return Reply(error=HttpError(status, error_type, message, headers or {}), when=when, times=times)


def text(content: str, *, unfinished: bool = False) -> Text:
    return Text(content, unfinished)


def thinking(content: str, *, unfinished: bool = False) -> Thinking:
    return Thinking(content, unfinished=unfinished)


def redacted_thinking(data: str = "AAAA") -> RedactedThinking:
    return RedactedThinking(data)


def tool_use(tool: str, /, **tool_input: Any) -> ToolUse:
    """A call of `tool`; `ToolUse(...)` itself sets an id or leaves the block open."""
    return ToolUse(tool, tool_input)


def raw_tool_use(tool: str, raw: str) -> ToolUse:
    """A call whose input is this text, JSON or not."""
    return ToolUse(tool, raw=raw)


def wait(seconds: float) -> Wait:
    return Wait(seconds)


def hang() -> Hang:
    return Hang()


def cut(*, broken: bool = False) -> Cut:
    return Cut(broken)


def stream_error(error_type: str = "overloaded_error", message: str = "Overloaded") -> StreamError:
    return StreamError(error_type, message)


def _as_reply(given: Reply | Block | Iterable[Block]) -> Reply:
    if isinstance(given, Reply):
        return given
    return Reply((given,) if isinstance(given, Block) else tuple(given))


def _explain(fault: str) -> str:
    """Turns msgspec's sentence and path round: where first, then what, then what is allowed."""
    what, _, path = fault.partition(" - at `")
    where = path.rstrip("`").removeprefix("$").removeprefix(".")
    if where.endswith("].type") and (unknown := re.fullmatch(r"Invalid value '(.*)'", what, re.DOTALL)):
        where = where.removesuffix(".type")
        what = f'unknown block type "{unknown[1]}"; allowed: {", ".join(BLOCK_TYPES)}'
    return f"{where}: {what}" if where else what


def _with_line(fault: str, data: bytes) -> str:
    at = re.search(r"byte (\d+)", fault)
    if not at:
        return fault
    line = data[: int(at[1])].count(b"\n") + 1
    return f"{fault}, line {line}"
