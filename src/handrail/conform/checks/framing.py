"""Framing: JSON lines in both directions, unknown lines, malformed lines."""

from __future__ import annotations

from handrail.agent.models.script import text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, expect_equal
from handrail.conform.lines import content_of, kinds, of_type, sent_text, text_of

HELLO: Json = {"type": "user", "message": {"role": "user", "content": "hello"}, "parent_tool_use_id": None}


@check("framing", "Standard output contains only JSON objects, one per line, each with a type.")
async def json_lines(bench: Bench) -> None:
    bench.says([text("First."), tool_use("Bash", command="echo out; echo err >&2")], text("Done."))
    agent = await bench.start()
    await agent.request("initialize")
    await agent.turn("go")
    await agent.end()
    expect(not agent.invalid_lines, f"a line is not a JSON object: {agent.invalid_lines[:1]}")
    untyped = [line for line in agent.lines if not isinstance(line.get("type"), str)]
    expect(not untyped, f"{len(untyped)} lines without a type")


@check("framing", "Lines may end in CR LF, and blank lines are ignored.")
async def crlf_and_blank_lines(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.write(b"\r\n\n   \n")
    await agent.write(b'{"type":"user","message":{"role":"user","content":"hello"},"parent_tool_use_id":null}\r\n\r\n')
    expect_equal("result", (await agent.result()).get("result"), "Fine.")
    expect_equal("exit code", await agent.end(), 0)


@check("framing", "Objects of unknown type, arrays, strings and numbers are ignored, and the next prompt is answered.")
async def unknown_lines(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    for line in ({"type": "from_tomorrow", "x": 1}, ["a"], "text", 7):
        await agent.send(line)
    lines = await agent.turn("hello")
    expect_equal("result", lines[-1].get("result"), "Fine.")
    expect_equal("requests to the model", len(bench.model.main_requests), 1)


@check("framing", "Keep-alives, cancellations and environment updates are accepted without any output.")
async def silent_types(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    before = len(agent.lines)
    await agent.send({"type": "keep_alive"})
    await agent.send({"type": "control_cancel_request", "request_id": "nobody"})
    await agent.send({"type": "update_environment_variables", "variables": {"A": "b"}})
    await agent.request("mcp_status")
    expect_equal("lines before the next answer", kinds(agent.lines[before:-1]), "nothing")


@check("framing", "An answer to a request that was never sent is ignored.")
async def unsolicited_answer(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.answer({"request_id": "never-asked"}, {"behavior": "allow"})
    expect_equal("result", (await agent.turn("hello"))[-1].get("result"), "Fine.")


async def _expect_fatal(bench: Bench, line: bytes) -> None:
    """Send a line that must end the process with exit code 1, an error on stderr and no output on stdout."""
    agent = await bench.start()
    await agent.write(line + b"\n")
    code = await agent.wait()
    expect_equal("exit code", code, 1)
    expect_equal("lines on stdout", kinds(agent.lines), "nothing")
    expect(agent.stderr.strip(), "stderr is empty")


@check(
    "framing", "A line that is not JSON ends the process with exit code 1, an error on stderr and no output on stdout."
)
async def not_json(bench: Bench) -> None:
    await _expect_fatal(bench, b'{"type": "user", oops')


@check("framing", "The line null ends the process with exit code 1, an error on stderr and no output on stdout.")
async def null(bench: Bench) -> None:
    await _expect_fatal(bench, b"null")


@check("framing", "A control_request without a request ends the process with exit code 1 and no output on stdout.")
async def request_without_body(bench: Bench) -> None:
    await _expect_fatal(bench, b'{"type":"control_request","request_id":"r"}')


@check(
    "framing", "A user line whose message has another role ends the process with exit code 1 and no output on stdout."
)
async def wrong_role(bench: Bench) -> None:
    await _expect_fatal(bench, b'{"type":"user","message":{"role":"assistant","content":"hello"}}')


@check("framing", "Bytes that are not valid UTF-8 reach the model as U+FFFD.")
async def invalid_utf8(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.write(b'{"type":"user","message":{"role":"user","content":"caf\xff!"},"parent_tool_use_id":null}\n')
    await agent.result()
    expect("caf\ufffd!" in sent_text(bench.model.main_requests[0].body), "the model got different text")


@check("framing", "A prompt of 500 kB on one line reaches the model complete.")
async def long_prompt(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start(env={"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "2000000"})
    words = "word " * 100_000 + "the-last-word"
    await agent.turn([{"type": "text", "text": words}])
    expect(bench.model.main_requests, "no request was sent to the model")
    expect("the-last-word" in sent_text(bench.model.main_requests[0].body), "the prompt was truncated")


@check("framing", "An answer of 300 kB is written as one line.")
async def long_answer(bench: Bench) -> None:
    words = "longer " * 45_000 + "end"
    bench.says(text(words))
    agent = await bench.start()
    lines = await agent.turn("hello")
    expect_equal("length of the text", len(text_of(lines)), len(words))
    expect_equal("length of the result", len(str(lines[-1].get("result"))), len(words))


@check("framing", "A prompt made of content blocks, including an image, reaches the model unchanged.")
async def content_blocks(bench: Bench) -> None:
    bench.says(text("A dot."))
    agent = await bench.start()
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    picture: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": dot}}
    await agent.turn([{"type": "text", "text": "look at this"}, picture])
    sent = bench.model.main_requests[0].messages
    found = [block for message in sent for block in content_of(message) if block.get("type") == "image"]
    expect_equal("images in the request", len(found), 1)
    expect_equal("results", len(of_type(agent.lines, "result")), 1)
