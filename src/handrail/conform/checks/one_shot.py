"""One prompt on the command line: text, JSON and lines, and how it ends."""

from __future__ import annotations

import json

from handrail.agent.models.script import http_error, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, same


@check("one-shot", "-p prints the final text and nothing else.")
async def as_text(bench: Bench) -> None:
    bench.says([text("I look."), tool_use("Bash", command="echo x")], text("All is well."))
    run = await bench.once("-p", "hello")
    same("exit code and output", (run.code, run.out.strip()), (0, "All is well."))


@check("one-shot", "With --output-format json it prints one result object.")
async def as_json(bench: Bench) -> None:
    bench.says(text("All is well."))
    run = await bench.once("-p", "hello", "--output-format", "json")
    found = json.loads(run.out)
    seen = (found.get("type"), found.get("subtype"), found.get("result"), found.get("is_error"), run.code)
    same("the object", seen, ("result", "success", "All is well.", False, 0))


@check("one-shot", "With json and --verbose it prints one array of all messages.")
async def as_json_verbose(bench: Bench) -> None:
    bench.says(text("All is well."))
    run = await bench.once("-p", "hello", "--output-format", "json", "--verbose")
    found = [line.get("type") for line in json.loads(run.out)]
    same("first and last", (found[0], found[-1]), ("system", "result"))
    expect("assistant" in found, "there is no assistant line in it")


@check("one-shot", "With stream-json it prints the lines of one turn.")
async def as_lines(bench: Bench) -> None:
    bench.says(text("All is well."))
    run = await bench.once("-p", "hello", "--output-format", "stream-json", "--verbose")
    found = [json.loads(line).get("type") for line in run.out.splitlines()]
    kept = [each for each in found if each in ("assistant", "result")]
    same("the lines", kept, ["assistant", "result"])


@check("one-shot", "A prompt on standard input is taken as on the command line.")
async def from_stdin(bench: Bench) -> None:
    bench.says(text("All is well."))
    run = await bench.once("-p", given=b"the prompt of stdin")
    same("exit code and output", (run.code, run.out.strip()), (0, "All is well."))
    expect("the prompt of stdin" in str(bench.model.main_requests[0].body["messages"]), "the model got another prompt")


@check("one-shot", "Without any prompt it is refused: exit 1, words on stderr.")
async def without_a_prompt(bench: Bench) -> None:
    run = await bench.once("-p")
    same("the exit code", run.code, 1)
    expect(run.err.strip(), "nothing was said on stderr")


@check("one-shot", "An error of the API is printed, and the exit code is 1.")
async def api_error(bench: Bench) -> None:
    bench.says(afterwards=http_error(400, message="the sky is falling"))
    run = await bench.once("-p", "hello")
    same("the exit code", run.code, 1)
    expect("the sky is falling" in run.out, f"stdout says {run.out[:200]!r}")


@check("one-shot", "A run that meets --max-turns ends with 1 and says so in its result.")
async def max_turns(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo a"), tool_use("Bash", command="echo b"), text("Done."))
    run = await bench.once("-p", "hello", "--max-turns", "1", "--output-format", "json")
    found = json.loads(run.out)
    same("subtype and exit code", (found.get("subtype"), run.code), ("error_max_turns", 1))
