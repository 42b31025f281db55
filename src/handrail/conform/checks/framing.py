"""Lines: what travels is one JSON object each, and what is malformed ends the process in a known way."""

from __future__ import annotations

from handrail.agent.models.script import text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, same
from handrail.conform.lines import content_of, kinds, of, sent_text, told

HELLO: Json = {"type": "user", "message": {"role": "user", "content": "hello"}, "parent_tool_use_id": None}


@check("framing", "Standard output carries only JSON objects, one per line, each with a type.")
async def only_objects(bench: Bench) -> None:
    bench.says([text("First."), tool_use("Bash", command="echo out; echo err >&2")], text("Done."))
    agent = await bench.start()
    await agent.request("initialize")
    await agent.turn("go")
    await agent.end()
    expect(not agent.strange, f"a line that is no JSON object: {agent.strange[:1]}")
    untyped = [line for line in agent.lines if not isinstance(line.get("type"), str)]
    expect(not untyped, f"{len(untyped)} lines have no type")


@check("framing", "Lines that end in CR LF, and blank lines between them, are taken as if they were not there.")
async def crlf_and_blank_lines(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.write(b"\r\n\n   \n")
    await agent.write(b'{"type":"user","message":{"role":"user","content":"hello"},"parent_tool_use_id":null}\r\n\r\n')
    same("the result", (await agent.result()).get("result"), "Fine.")
    same("the exit code", await agent.end(), 0)


@check("framing", "Objects of unknown type, arrays, strings and numbers are ignored, and the next prompt is answered.")
async def unknown_lines(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    for line in ({"type": "from_tomorrow", "x": 1}, ["a"], "text", 7):
        await agent.send(line)
    lines = await agent.turn("hello")
    same("the result", lines[-1].get("result"), "Fine.")
    same("requests to the model", len(bench.model.main_requests), 1)


@check("framing", "Keep-alives, cancellations and environment updates are taken without a word.")
async def silent_types(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    before = len(agent.lines)
    await agent.send({"type": "keep_alive"})
    await agent.send({"type": "control_cancel_request", "request_id": "nobody"})
    await agent.send({"type": "update_environment_variables", "variables": {"A": "b"}})
    await agent.request("mcp_status")
    same("lines besides the next answer", kinds(agent.lines[before:-1]), "nothing")


@check("framing", "An answer to a request that was never asked is ignored.")
async def answer_to_nobody(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.answer({"request_id": "never-asked"}, {"behavior": "allow"})
    same("the result", (await agent.turn("hello"))[-1].get("result"), "Fine.")


async def _ends(bench: Bench, line: bytes) -> None:
    """A line that ends the process: exit 1, one complaint on stderr, nothing on stdout."""
    agent = await bench.start()
    await agent.write(line + b"\n")
    code = await agent.exited()
    same("the exit code", code, 1)
    same("lines on stdout", kinds(agent.lines), "nothing")
    expect(agent.errors.strip(), "nothing was said on stderr")


@check("framing", "A line that is not JSON ends the process: exit 1, words on stderr, nothing on stdout.")
async def not_json(bench: Bench) -> None:
    await _ends(bench, b'{"type": "user", oops')


@check("framing", "The line null ends the process: exit 1, words on stderr, nothing on stdout.")
async def null(bench: Bench) -> None:
    await _ends(bench, b"null")


@check("framing", "A control request without a request ends the process: exit 1, nothing on stdout.")
async def request_without_body(bench: Bench) -> None:
    await _ends(bench, b'{"type":"control_request","request_id":"r"}')


@check("framing", "A user line whose message has not the role user ends the process: exit 1, nothing on stdout.")
async def user_line_of_another_role(bench: Bench) -> None:
    await _ends(bench, b'{"type":"user","message":{"role":"assistant","content":"hello"}}')


@check("framing", "Bytes that are not UTF-8 reach the model as U+FFFD.")
async def not_utf8(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start()
    await agent.write(b'{"type":"user","message":{"role":"user","content":"caf\xff!"},"parent_tool_use_id":null}\n')
    await agent.result()
    expect("caf\ufffd!" in sent_text(bench.model.main_requests[0].body), "the model was sent something else")


@check("framing", "A prompt of a megabyte on one line reaches the model whole.")
async def long_line_in(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start(env={"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "2000000"})
    words = "word " * 100_000 + "the-last-word"
    await agent.turn([{"type": "text", "text": words}])
    expect(bench.model.main_requests, "the model was not asked")
    expect("the-last-word" in sent_text(bench.model.main_requests[0].body), "the end of the prompt was lost")


@check("framing", "An answer of 300 kB comes as one line, unbroken.")
async def long_line_out(bench: Bench) -> None:
    words = "longer " * 45_000 + "end"
    bench.says(text(words))
    agent = await bench.start()
    lines = await agent.turn("hello")
    same("the length of the text", len(told(lines)), len(words))
    same("the length of the result", len(str(lines[-1].get("result"))), len(words))


@check("framing", "A prompt given as content blocks reaches the model as it is, a picture included.")
async def content_blocks(bench: Bench) -> None:
    bench.says(text("A dot."))
    agent = await bench.start()
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    picture: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": dot}}
    await agent.turn([{"type": "text", "text": "look at this"}, picture])
    sent = bench.model.main_requests[0].messages
    found = [block for message in sent for block in content_of(message) if block.get("type") == "image"]
    same("pictures in the request", len(found), 1)
    same("lines of type result", len(of(agent.lines, "result")), 1)
