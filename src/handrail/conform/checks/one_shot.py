"""One prompt with -p: output formats, standard input, exit codes."""

from __future__ import annotations

import json

from handrail.agent.models.script import http_error, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, expect_equal


@check("one-shot", "-p prints only the final text.")
async def as_text(bench: Bench) -> None:
    bench.says([text("I look."), tool_use("Bash", command="echo x")], text("All is well."))
    run = await bench.run("-p", "hello")
    expect_equal("exit code and output", (run.code, run.out.strip()), (0, "All is well."))


@check("one-shot", "-p --output-format json prints one result object.")
async def as_json(bench: Bench) -> None:
    bench.says(text("All is well."))
    run = await bench.run("-p", "hello", "--output-format", "json")
    found = json.loads(run.out)
    seen = (found.get("type"), found.get("subtype"), found.get("result"), found.get("is_error"), run.code)
    expect_equal("object", seen, ("result", "success", "All is well.", False, 0))


@check("one-shot", "-p --output-format json --verbose prints one array of all messages.")
async def as_json_verbose(bench: Bench) -> None:
    bench.says(text("All is well."))
    run = await bench.run("-p", "hello", "--output-format", "json", "--verbose")
    found = [line.get("type") for line in json.loads(run.out)]
    expect_equal("first and last", (found[0], found[-1]), ("system", "result"))
    expect("assistant" in found, "the array lacks an assistant line")


@check("one-shot", "-p --output-format stream-json prints the lines of one turn.")
async def as_lines(bench: Bench) -> None:
    bench.says(text("All is well."))
    run = await bench.run("-p", "hello", "--output-format", "stream-json", "--verbose")
    found = [json.loads(line).get("type") for line in run.out.splitlines()]
    kept = [each for each in found if each in ("assistant", "result")]
    expect_equal("lines", kept, ["assistant", "result"])


@check("one-shot", "-p reads the prompt from standard input if the command line has none.")
async def from_stdin(bench: Bench) -> None:
    bench.says(text("All is well."))
    run = await bench.run("-p", stdin=b"the prompt of stdin")
    expect_equal("exit code and output", (run.code, run.out.strip()), (0, "All is well."))
    expect(
        "the prompt of stdin" in str(bench.model.main_requests[0].body["messages"]),
        "the request to the model lacks the prompt",
    )


@check("one-shot", "-p without any prompt is refused with exit code 1 and an error on stderr.")
async def no_prompt(bench: Bench) -> None:
    run = await bench.run("-p")
    expect_equal("exit code", run.code, 1)
    expect(run.err.strip(), "stderr is empty")


@check("one-shot", "An API error is printed, and the exit code is 1.")
async def api_error(bench: Bench) -> None:
    bench.says(afterwards=http_error(400, message="the sky is falling"))
    run = await bench.run("-p", "hello")
    expect_equal("exit code", run.code, 1)
    expect("the sky is falling" in run.out, f"stdout: {run.out[:200]!r}")


@check("one-shot", "A run that reaches --max-turns gives error_max_turns and exit code 1.")
async def max_turns(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo a"), tool_use("Bash", command="echo b"), text("Done."))
    run = await bench.run("-p", "hello", "--max-turns", "1", "--output-format", "json")
    found = json.loads(run.out)
    expect_equal("subtype and exit code", (found.get("subtype"), run.code), ("error_max_turns", 1))
