"""The format of scripts: the model's side of a conversation as data, in JSON or Python.

    {"replies": [
        {"blocks": [{"type": "thinking", "thinking": "The user wants a list."},
                    {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]},
        {"error": {"status": 529, "headers": {"retry-after": "1"}}, "times": 2},
        {"blocks": [{"type": "text", "text": "Two files."}], "chunk": 3, "delay": 0.05},
        {"when": {"prompt": "weather"}, "blocks": [{"type": "text", "text": "Rain."}]}],
     "afterwards": {"blocks": [{"type": "text", "text": "That was all."}]},
     "helper": {"blocks": [{"type": "text", "text": "A title"}]}}

Replies are given in order, each `times` times (default: once). A reply with `when` is not part of the order: it answers
every request that matches (or the first `times` of them), and takes precedence. `afterwards` answers when the order is
used up. `helper` answers requests without tools, which a CLI sends for titles and summaries; with `"helper": null` they
are answered like all others.

A reply has `blocks` or an `error` (`status`, `type`, `message`, `headers`), and may have
  stop_reason  default: "tool_use" with a tool_use block, else "end_turn"
  usage        token counts, merged into the default ones
  chunk        characters per delta; default: one word of text, 24 characters of JSON
  delay        seconds between deltas
  when         prompt, tool_result, system: a substring of the newest user text, the newest tool results, the system
               prompt; model: the exact model; tools: true or false, whether the request has tools
               matches: a regular expression searched in the newest user text; said: a substring of the model's last
               message; after: a tool that this message called; failed: true or false, whether one of the newest
               tool results is an error; offers: a tool in the request, by name or pattern

Blocks, by `type`:
  text               text
  thinking           thinking, signature
  redacted_thinking  data
  tool_use           name, and input (an object) or raw (text that need not be JSON); id. A name may be a pattern with
                     `*` and alternatives separated by `|`, and means the first offered tool that matches; required
                     fields that `input` lacks are filled with samples
  ping               a ping event
  wait               seconds
  hang               sends no more until it is released
  error              error_type, message: an error event that ends the stream
  cut                ends the stream early; with "broken": true the connection is reset
A block of the first four types with "unfinished": true is never closed. The message starts with the first other block,
so a leading `wait`, `hang`, `cut` or `error` delays even message_start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta, Struct, field

from handrail.agent.models.error_types import ERROR_TYPES
from handrail.errors import CallerError

Seconds = Annotated[float, Meta(ge=0)]
OneLine = Annotated[str, Meta(pattern=r"^[^\r\n]*\Z")]
JsonObject = dict[str, Any]


class ScriptError(CallerError, ValueError):
    """An invalid script. The text says where the problem is and what is allowed there."""


class _Part(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all parts of a script: immutable, and unknown keys are errors."""


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
    """The requests that a reply answers. Unset criteria match everything."""

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
            raise ValueError(f"matches is not a valid regular expression: {error}") from None


class HttpError(_Part, frozen=True):
    """An HTTP error in place of a message."""

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
    """All replies of the model in a conversation."""

    replies: tuple[Reply, ...] = ()
    afterwards: Reply = field(default_factory=lambda: Reply((Text("The script has run out of replies."),)))
    helper: Reply | None = field(default_factory=lambda: Reply((Text("ok"),)))

    def __post_init__(self) -> None:
        for name, extra in (("afterwards", self.afterwards), ("helper", self.helper)):
            if extra and (extra.when or extra.times):
                raise ValueError(f"{name} is used whenever needed, so it cannot have when or times")

    @classmethod
    def of(
        cls, *replies: Reply | Block | Iterable[Block], afterwards: Reply | None = None, helper: Reply | None = None
    ) -> Script:
        """Make a script from replies; a block or a list of blocks becomes a reply."""
        ordered = tuple(_as_reply(each) for each in replies)
        extra = {"afterwards": afterwards, "helper": helper}
        return cls(ordered, **{name: each for name, each in extra.items() if each})

    @classmethod
    def from_dict(cls, value: Any, *, source: str = "script") -> Script:
        """Validate plain data, such as `json.loads` returns. Raises ScriptError."""
        try:
            return msgspec.convert(value, cls)
        except msgspec.ValidationError as error:
            raise ScriptError(f"{source}: {_explain(str(error))}") from None

    @classmethod
    def from_json(cls, text: str | bytes, *, source: str = "script") -> Script:
        """Parse JSON. Raises ScriptError; `source` is the name shown in errors, such as a file name."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.ValidationError as error:
            raise ScriptError(f"{source}: {_explain(str(error))}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ScriptError(f"{source}: not JSON: {_with_line(str(error), data)}") from None

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)


def load_script(path: Path) -> Script:
    """Read a script from a JSON file. Raises ScriptError with the name of the file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ScriptError(f"{path}: cannot be read: {error.strerror or error}") from None
    return Script.from_json(data, source=path.name)


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
    """A call of `tool`. Use `ToolUse(...)` to set an id or to leave the block open."""
    return ToolUse(tool, tool_input)


def raw_tool_use(tool: str, raw: str) -> ToolUse:
    """A call with this text as input, valid JSON or not."""
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
    """Reorder a msgspec error: the path first, then the problem, then what is allowed."""
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
