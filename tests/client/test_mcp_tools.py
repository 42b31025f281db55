"""Tools made from functions: their descriptions and calls."""

import asyncio
import dataclasses
import threading
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pytest

from handrail.client.mcp_tools import LogLevel, Tool, ToolContext, tool


class Point(msgspec.Struct):
    x: int
    y: int = 0


@dataclasses.dataclass
class Size:
    width: int


class Filter(TypedDict):
    word: str
    limit: NotRequired[int]


class Heard:
    """Collects the messages of a running tool."""

    def __init__(self) -> None:
        self.said: list[tuple[str, dict[str, Any]]] = []

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        self.said.append((method, params))


def context(
    heard: Heard | None = None, *, meta: Mapping[str, Any] | None = None, log_from: LogLevel = "debug"
) -> ToolContext:
    notify = (heard or Heard()).notify
    return ToolContext(server="calc", request_id=2, meta=meta or {}, notify=notify, log_from=log_from)


async def call(made: Tool[..., Any], **arguments: Any) -> dict[str, Any]:
    async with asyncio.timeout(5):
        return await made.call(arguments, context())


def failed(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def test_signature_and_docstring_describe_the_tool():
    @tool
    def search(
        query: Annotated[str, "words to look for"],
        kind: Literal["file", "text"],
        limit: int = 10,
        folder: str | None = None,
        tags: list[str] = [],  # noqa: B006
    ) -> str:
        """Search the project."""
        return ""

    assert search.describe() == {
        "name": "search",
        "description": "Search the project.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "words to look for"},
                "kind": {"enum": ["file", "text"]},
                "limit": {"type": "integer", "default": 10},
                "folder": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            },
            "required": ["query", "kind"],
            "additionalProperties": False,
        },
    }


def test_named_types_are_kept_as_definitions():
    @tool
    def draw(at: Point, size: Size, only: Filter, numbers: dict[str, float]) -> None: ...

    schema = draw.input_schema
    assert {name: part.get("$ref") for name, part in schema["properties"].items()} == {
        "at": "#/$defs/Point",
        "size": "#/$defs/Size",
        "only": "#/$defs/Filter",
        "numbers": None,
    }
    assert schema["$defs"]["Filter"]["required"] == ["word"]
    assert set(schema["$defs"]) == {"Point", "Size", "Filter"}


def test_a_tool_without_parameters_has_an_empty_closed_schema():
    @tool
    def now() -> str:
        return ""

    assert now.input_schema == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def test_decorator_options_become_annotations_and_meta():
    @tool(
        name="look-up",
        description="Finds it.",
        title="Look up",
        read_only=True,
        destructive=False,
        open_world=False,
        meta={"anthropic/maxResultSizeChars": 500000},
    )
    def anything() -> None: ...

    entry = anything.describe()
    del entry["inputSchema"]
    assert entry == {
        "name": "look-up",
        "title": "Look up",
        "description": "Finds it.",
        "annotations": {"title": "Look up", "readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
        "_meta": {"anthropic/maxResultSizeChars": 500000},
    }


async def test_arguments_arrive_as_the_types_of_the_signature():
    received: list[Any] = []

    @tool
    async def draw(at: Point, size: Size, only: Filter, factor: float, note: str = "none") -> None:
        received.extend([at, size, only, factor, note])

    result = await call(draw, at={"x": 1}, size={"width": 3}, only={"word": "a"}, factor=2)
    assert result == {"content": []}
    assert received == [Point(1, 0), Size(3), {"word": "a"}, 2.0, "none"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"a": "x", "b": 1}, "argument `a`: Expected `int`, got `str`"),
        ({"a": 1}, "missing required argument `b`"),
        ({"a": 1, "b": 2, "c": 3}, "unknown argument `c`; the arguments are: a, b, points"),
        ({"a": 1, "b": 2, "points": [{"x": None}]}, "argument `points[0].x`: Expected `int`, got `null`"),
    ],
)
async def test_invalid_argument_is_named_in_the_error_result(arguments: dict[str, Any], complaint: str):
    @tool
    def add(a: int, b: int, points: list[Point] = []) -> str:  # noqa: B006
        raise AssertionError("not reached")

    assert await call(add, **arguments) == failed(f"Invalid arguments for tool `add`: {complaint}")


async def test_explicit_schema_passes_the_dict_unchanged():
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}

    @tool(input_schema=schema)
    async def raw(arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        return {"got": arguments, "from": context.server}

    assert raw.input_schema == schema
    result = await call(raw, a=1, other=[2])
    assert result["structuredContent"] == {"got": {"a": 1, "other": [2]}, "from": "calc"}


async def test_an_exception_becomes_an_error_result_without_a_traceback():
    @tool
    async def divide(a: int) -> float:
        if a == 1:
            raise KeyError("rate")
        if a == 2:
            raise SystemExit(3)
        return a / 0

    assert await call(divide, a=0) == failed("division by zero")
    assert await call(divide, a=1) == failed("KeyError: 'rate'")
    assert await call(divide, a=2) == failed("SystemExit: 3")


async def test_a_sync_function_runs_in_another_thread_and_leaves_the_loop_free():
    go_on = threading.Event()
    threads: list[int] = []

    @tool
    def block() -> str:
        threads.append(threading.get_ident())
        return "freed" if go_on.wait(5) else "never freed"

    running = asyncio.create_task(call(block))
    # The loop runs while the function blocks; otherwise the event would never be set.
    asyncio.get_running_loop().call_soon(go_on.set)
    assert await running == {"content": [{"type": "text", "text": "freed"}]}
    assert threads[0] != threading.get_ident()


async def test_tool_is_stopped_after_its_timeout():
    stopped = asyncio.Event()

    @tool(timeout=0.01)
    async def slow(context: ToolContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    assert await call(slow) == failed("Tool `slow` was stopped: it took longer than 0.01 s")
    assert stopped.is_set()


async def test_timeout_sets_cancelled_in_the_context_of_a_sync_function():
    seen = threading.Event()
    contexts: list[ToolContext] = []

    @tool(timeout=0.01)
    def slow(context: ToolContext) -> None:
        contexts.append(context)
        seen.wait(5)

    result = await call(slow)
    seen.set()
    assert result["isError"]
    assert contexts[0].cancelled.is_set()


async def test_timeout_error_of_the_tool_keeps_its_message():
    @tool(timeout=60)
    async def fetch() -> None:
        raise TimeoutError("the host did not answer")

    assert await call(fetch) == failed("the host did not answer")


async def test_cancellation_is_not_turned_into_a_result():
    @tool
    async def wait() -> None:
        await asyncio.Event().wait()

    running = asyncio.create_task(wait.call({}, context()))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_context_reports_progress_and_log_lines():
    heard = Heard()
    meta = {"claudecode/toolUseId": "toolu_1", "progressToken": 2}
    known: list[Any] = []

    @tool
    async def work(context: ToolContext) -> None:
        known.extend([context.tool_use_id, context.server, context.request_id])
        await context.progress(1)
        await context.progress(2, 4, "half")
        await context.log("debug", "left out")
        await context.log("warning", "careful")

    assert await work.call({}, context(heard, meta=meta, log_from="info")) == {"content": []}
    assert known == ["toolu_1", "calc", 2]
    assert heard.said == [
        ("notifications/progress", {"progressToken": 2, "progress": 1}),
        ("notifications/progress", {"progressToken": 2, "progress": 2, "total": 4, "message": "half"}),
        ("notifications/message", {"level": "warning", "logger": "calc", "data": "careful"}),
    ]


async def test_progress_is_ignored_if_not_requested_or_the_caller_left():
    heard = Heard()
    unasked, over = context(heard), context(heard, meta={"progressToken": 1})
    over.cancelled.set()
    await unasked.progress(1)
    await over.progress(1)
    await over.log("error", "late")
    assert heard.said == []


async def test_an_unknown_log_level_is_refused():
    with pytest.raises(ValueError, match="unknown log level 'loud'"):
        await context().log("loud", "x")  # pyright: ignore[reportArgumentType]


def test_tool_can_be_called_as_a_function():
    @tool
    def add(a: int, b: int) -> int:
        return a + b

    assert add(1, 2) == 3


class Counter:
    def __init__(self) -> None:
        self.value = 0

    def increase(self, by: int) -> int:
        """Add to the counter."""
        self.value += by
        return self.value


async def test_a_bound_method_can_be_a_tool():
    made = tool(Counter().increase)
    assert await call(made, by=2) == {"content": [{"type": "text", "text": "2"}]}


def untyped(a):  # type: ignore[no-untyped-def]
    return a  # pyright: ignore[reportUnknownVariableType]


def many(*numbers: int) -> None: ...


def strange(socket: threading.Event) -> None: ...


def two(a: dict[str, Any], b: dict[str, Any]) -> None: ...


def unresolved(a: "Nowhere") -> None: ...  # noqa: F821  # pyright: ignore


@pytest.mark.parametrize(
    ("function", "options", "complaint"),
    [
        (untyped, {}, "annotate a"),
        (many, {}, "spell out each argument"),
        (strange, {}, "JSON cannot express"),
        (two, {"input_schema": {"type": "object"}}, "takes one parameter"),
        (unresolved, {}, "define their types at the top of the module"),
        (lambda: None, {}, "pass name="),
        (Counter().increase, {"name": "a b"}, "1 to 64 letters"),
        (Counter().increase, {"name": "x" * 65}, "1 to 64 letters"),
        (Counter().increase, {"timeout": 0}, "more than 0 seconds"),
        (Counter().increase, {"input_schema": {"type": "string"}}, "must describe an object"),
    ],
)
def test_unsuitable_function_is_rejected_with_advice(function: Any, options: Any, complaint: str):
    with pytest.raises(ValueError, match=complaint):
        tool(**options)(function) if options else tool(function)
