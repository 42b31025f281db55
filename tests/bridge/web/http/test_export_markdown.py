"""Markdown export: complete, and without active content."""

from __future__ import annotations

import re
from typing import Any

import pytest

from handrail.bridge.store.base import SessionLine
from handrail.bridge.web.http.export import file_name, markdown_blocks, markdown_header, safe_text


def rendered(kind: str, **data: Any) -> str:
    return "".join(markdown_blocks({"seq": 1, "time": 0, "kind": kind, "data": data}))


def frame(type: str, content: Any, **fields: Any) -> str:
    return rendered("frame", type=type, message={"content": content}, **fields)


def test_messages_tool_calls_and_results_are_exported():
    tool = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "is_error": True, "content": [{"type": "text", "text": "no"}, {"type": "image"}]}
    assert rendered("said", by="phone", content="Hi") == "\n## You (phone) · 1970-01-01 00:00:00 UTC\n\nHi\n"
    assert "## Assistant · " in frame("assistant", [{"type": "text", "text": "Yes"}])
    assert "## Assistant (subagent)" in frame("assistant", "x", parent_tool_use_id="t")
    assert frame("assistant", [tool]).endswith('**Bash**\n\n```json\n{\n  "command": "ls"\n}\n```\n')
    assert frame("user", [result]).endswith("**Error**\n\n```\nno\n[image]\n```\n")
    assert "> one\n> two" in frame("assistant", [{"type": "thinking", "thinking": "one\ntwo"}])
    assert frame("assistant", [{"type": "redacted_thinking", "data": "x"}]) == ""
    assert "*[tomorrow]*" in frame("assistant", [{"type": "tomorrow"}])


def test_replays_and_internal_events_are_omitted():
    assert frame("user", "Hi", isReplay=True) == ""
    assert "## You" in frame("user", "Hi", imported=True)
    assert "## Sent to the model" in frame("user", "[Request interrupted by user]")
    for kind, data in (("state", {}), ("frame", {"type": "result"}), ("live", {}), ("frame", {"type": "assistant"})):
        assert rendered(kind, **data) == ""
    assert list(markdown_blocks({"seq": 1, "time": 0, "kind": "said", "bytes": 9})) == []


def test_questions_answers_and_errors_are_exported():
    assert "Permission requested: Bash" in rendered("asked", request={"tool_name": "Bash"})
    answer = {"behavior": "deny", "reason": "not here"}
    assert "*phone answered deny: not here*" in rendered("answered", by="phone", answer=answer)
    changed = rendered("answered", by="desk", answer={"behavior": "allow", "input": {"command": "touch b"}})
    assert "*desk answered allow, with changes*" in changed
    assert '"command": "touch b"' in changed
    assert "ended early: it crashed" in rendered("crashed", errors=["it crashed"])
    assert "summarized" in rendered("frame", type="system", subtype="compact_boundary")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<!-- x --><svg/onload=alert(1)>",
        "</p><iframe srcdoc=x>",
        "<<b>script>",
        "&lt;script&gt; &#60;b&#62;",
        "> <b>quoted</b>",
        "`<b>`",
        "    <b>indented</b>",
    ],
)
def test_html_tags_are_escaped(text: str):
    assert not re.search(r"<[A-Za-z/!?]|&(?!amp;|lt;)#?\w+;", safe_text(text))


@pytest.mark.parametrize(
    "text",
    ["[a](javascript:alert(1))", "[a](JavaScript\\:alert(1))", "[a]: vbscript:x", "[a](data:text/html,x)"],
)
def test_script_urls_are_escaped(text: str):
    assert not re.search(r"(?<!unsafe-)(javascript|vbscript|data)\\*:\S", safe_text(text), re.IGNORECASE)


def test_ordinary_text_is_unchanged():
    text = "a < b && c <= d, x << 2; **bold** [a](https://example.com/?a=1&b=2) AT&T, the data: 5\n\n- one\n- two"
    assert safe_text(text) == text


def test_code_fences_are_kept_and_closed():
    assert safe_text("```html\n<b>\n```\n<b>") == "```html\n<b>\n```\n&lt;b>"
    assert safe_text("~~~\n```\n<b>\n~~~~") == "````\n```\n<b>\n````"
    assert safe_text("```\n<b>") == "```\n<b>\n```"
    assert safe_text('```"><img src=x>\nx\n```').startswith("```imgsrcx\n")


def test_tool_result_cannot_close_its_fence():
    text = frame("user", [{"type": "tool_result", "content": "```\n````\n<script>\n`````\n# Title"}])
    assert re.search(r"^`{6}\n```\n````\n<script>\n`{5}\n# Title\n`{6}$", text, re.MULTILINE)


def test_title_and_folder_are_escaped():
    line = SessionLine(id="i", cwd="/w/<b>", created=0, changed=0, title="a\n# b\u202e <img> [x](javascript:y) `z`")
    header = markdown_header(line)
    assert header.splitlines()[0] == ("# a \\# b\ufffd &lt;img\\> \\[x\\](unsafe-javascript:y) \\`z\\`")
    assert "- Folder: /w/&lt;b\\>" in header


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("A bridge", "A-bridge"),
        ("../../etc/passwd", "etc-passwd"),
        ('x"; filename=evil.html', "x-filename-evil-html"),
        ("Größe\r\nSet-Cookie: a", "Groe-Set-Cookie-a"),
        ("x" * 200, "x" * 80),
        ("…", "the-id"),
        ("", "the-id"),
    ],
)
def test_file_name_is_derived_from_the_title(title: str, name: str):
    assert file_name(title, "the-id") == name
