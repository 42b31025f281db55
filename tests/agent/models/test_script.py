"""The script format: JSON, constructors and files."""

import json
from pathlib import Path

import pytest

from handrail.agent.models.script import (
    Hang,
    HttpError,
    RedactedThinking,
    Reply,
    Script,
    ScriptError,
    Text,
    Thinking,
    ToolUse,
    Wait,
    When,
    cut,
    hang,
    http_error,
    load_script,
    raw_tool_use,
    redacted_thinking,
    reply,
    stream_error,
    text,
    thinking,
    tool_use,
    wait,
)

ALLOWED = "text, thinking, redacted_thinking, tool_use, ping, wait, hang, error, cut"
FULL = {
    "replies": [
        {
            "blocks": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "redacted_thinking", "data": "AAAA"},
                {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
                {"type": "tool_use", "name": "Bash", "raw": '{"command'},
            ]
        },
        {"error": {"status": 529, "headers": {"retry-after": "1"}}, "times": 2},
        {"blocks": [{"type": "text", "text": "Two."}], "stop_reason": "max_tokens", "chunk": 3, "delay": 0.5},
        {"when": {"prompt": "weather", "tools": True}, "blocks": [{"type": "text", "text": "Rain."}], "times": 1},
        {"blocks": [{"type": "wait", "seconds": 1}, {"type": "hang"}, {"type": "ping"}, {"type": "cut"}]},
        {"blocks": [{"type": "text", "text": "x", "unfinished": True}, {"type": "error", "message": "no"}]},
    ],
    "afterwards": {"blocks": [{"type": "text", "text": "All."}]},
    "helper": None,
}


def test_json_and_constructors_make_the_same_script():
    read = Script.from_dict(
        {
            "replies": [
                {
                    "blocks": [
                        {"type": "thinking", "thinking": "Hm."},
                        {"type": "redacted_thinking", "data": "AAAA"},
                        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
                        {"type": "wait", "seconds": 0.2},
                        {"type": "hang"},
                    ]
                },
                {"error": {"status": 529, "type": "overloaded_error"}, "times": 3},
                {"blocks": [{"type": "text", "text": "Hi."}]},
                {"blocks": [{"type": "tool_use", "name": "Read", "raw": "{"}, {"type": "cut", "broken": True}]},
                {"blocks": [{"type": "error"}], "when": {"model": "m"}, "stop_reason": "refusal"},
            ],
            "helper": {"blocks": [{"type": "text", "text": "Title"}]},
        }
    )
    assert read == Script.of(
        [thinking("Hm."), redacted_thinking(), tool_use("Bash", command="ls"), wait(0.2), hang()],
        http_error(529, "overloaded_error", times=3),
        text("Hi."),
        [raw_tool_use("Read", "{"), cut(broken=True)],
        reply(stream_error(), when=When(model="m"), stop_reason="refusal"),
        helper=reply(text("Title")),
    )


def test_every_part_of_the_format_round_trips():
    script = Script.from_json(json.dumps(FULL))
    assert script.replies[0].blocks == (
        Thinking("Hm."),
        RedactedThinking("AAAA"),
        ToolUse("Bash", {"command": "ls"}),
        ToolUse("Bash", raw='{"command'),
    )
    assert script.replies[1] == Reply(error=HttpError(529, headers={"retry-after": "1"}), times=2)
    assert script.replies[4].blocks[:2] == (Wait(1), Hang())
    assert script.helper is None
    assert Script.from_json(script.to_json()) == script


def test_empty_script_has_default_replies():
    script = Script.from_json("{}")
    assert script.replies == ()
    assert script.afterwards.blocks == (Text("The script has run out of replies."),)
    assert script.helper == Reply((Text("ok"),))


def test_tool_input_may_contain_name_or_tool():
    assert tool_use("Skill", name="x", tool="y").input == {"name": "x", "tool": "y"}


def test_error_type_defaults_by_status():
    assert [HttpError(status).error_type for status in (400, 429, 529, 599)] == [
        "invalid_request_error",
        "rate_limit_error",
        "overloaded_error",
        "api_error",
    ]
    assert HttpError(400, "other").error_type == "other"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"replies": [{"blocks": [{"type": "txt", "text": "x"}]}]},
            f'replies[0].blocks[0]: unknown block type "txt"; allowed: {ALLOWED}',
        ),
        ({"replies": [{"blocks": [{"text": "x"}]}]}, "replies[0].blocks[0]: Object missing required field `type`"),
        ({"replies": [{"blocks": [{"type": "text"}]}]}, "replies[0].blocks[0]: Object missing required field `text`"),
        ({"replys": []}, "Object contains unknown field `replys`"),
        ({"replies": [{}]}, "replies[0]: a reply has either blocks (at least one) or an error"),
        (
            {"replies": [{"blocks": [{"type": "hang"}], "error": {"status": 500}}]},
            "replies[0]: a reply has either blocks (at least one) or an error",
        ),
        ({"replies": [{"error": {"status": 200}}]}, "replies[0].error.status: Expected `int` >= 400"),
        (
            {"replies": [{"blocks": [{"type": "wait", "seconds": -1}]}]},
            "replies[0].blocks[0].seconds: Expected `float` >= 0.0",
        ),
        (
            {"replies": [{"blocks": [{"type": "tool_use", "name": "B", "input": {"a": 1}, "raw": "{"}]}]},
            "replies[0].blocks[0]: a tool_use has either input or raw, not both",
        ),
        (
            {"helper": {"blocks": [{"type": "hang"}], "times": 2}},
            "helper is used whenever needed, so it cannot have when or times",
        ),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_errors_contain_the_path_and_the_problem(data: object, message: str):
    for read in (Script.from_dict, lambda value, source: Script.from_json(json.dumps(value), source=source)):
        with pytest.raises(ScriptError) as caught:
            read(data, source="script.json")
        assert str(caught.value) == f"script.json: {message}"


def test_header_injection_is_rejected():
    with pytest.raises(ScriptError, match="matching regex"):
        Script.from_dict({"replies": [{"error": {"status": 500, "headers": {"a": "b\r\nc: d"}}}]})


@pytest.mark.parametrize(
    "broken",
    [
        '{\n"replies": [,]}',
        b"\xff\xfe",
        "",
        '{"replies": [{"stop_reason": "\ud83d"}]}',
        r'{"replies": [{"stop_reason": "\ud83d"}]}',
        '{"replies": [{"usage": {"x": ' + "[" * 100_000,
    ],
    ids=["syntax", "encoding", "empty", "surrogate", "escaped surrogate", "depth"],
)
def test_invalid_json_is_a_script_error(broken: str | bytes):
    with pytest.raises(ScriptError, match=r"^script: not JSON: "):
        Script.from_json(broken)


def test_syntax_error_contains_the_line():
    with pytest.raises(ScriptError, match=r"line 2$"):
        Script.from_json('{\n"replies": [,]}')


def test_script_is_loaded_from_a_file(tmp_path: Path):
    path = tmp_path / "script.json"
    path.write_text('{"replies": [{"blocks": [{"type": "text", "text": "Grüße"}]}]}', encoding="utf-8")
    assert load_script(path) == Script.of(text("Grüße"))


def test_error_contains_the_file_name(tmp_path: Path):
    path = tmp_path / "script.json"
    path.write_text('{"replies": [{"blocks": [{"type": "txt"}]}]}')
    with pytest.raises(ScriptError, match=r'^script\.json: replies\[0\]\.blocks\[0\]: unknown block type "txt"'):
        load_script(path)


def test_unreadable_files_are_script_errors(tmp_path: Path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ScriptError, match="cannot be read"):
            load_script(path)
