"""End of input, signals, exit codes; command line flags."""

from __future__ import annotations

import signal

from handrail.agent.models.script import hang, http_error, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, expect_equal
from handrail.conform.lines import kinds, of_type, tool_results


@check("ending", "At end of input the agent finishes the current turn before it exits.")
async def finishes_the_turn(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo x"), text("Done."))
    agent = await bench.start()
    await agent.prompt("go")
    expect_equal("exit code", await agent.end(), 0)
    expect_equal("results", [line.get("result") for line in of_type(agent.lines, "result")], ["Done."])


@check("ending", "A question that is pending at end of input is denied, and the turn ends.")
async def pending_question(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="touch made.txt"), text("I see."))
    agent = await bench.start()
    await agent.prompt("go")
    await agent.next_request()
    await agent.end()
    expect_equal("is_error", [block.get("is_error") for block in tool_results(agent.lines)], [True])
    expect_equal("results", len(of_type(agent.lines, "result")), 1)
    expect(not (bench.lab.project / "made.txt").exists(), "the command ran")


@check("ending", "The exit code is 1 if the last result is an error.")
async def error_is_exit_1(bench: Bench) -> None:
    bench.says(afterwards=http_error(400))
    agent = await bench.start()
    expect_equal("is_error", (await agent.turn("hello"))[-1].get("is_error"), True)
    expect_equal("exit code", await agent.end(), 1)


@check("ending", "The exit code is 0 if an error is followed by a success.")
async def recovered_is_exit_0(bench: Bench) -> None:
    bench.says([text("One"), hang()], text("Two."))
    agent = await bench.start()
    await agent.prompt("first")
    await bench.model.hanging()
    await agent.request("interrupt")
    expect_equal("is_error of the first result", (await agent.result()).get("is_error"), True)
    expect_equal("is_error of the second result", (await agent.turn("second"))[-1].get("is_error"), False)
    expect_equal("exit code", await agent.end(), 0)


@check("ending", "SIGINT ends the turn with a result, and the process exits with code 0.")
async def sigint(bench: Bench) -> None:
    bench.says([text("One", unfinished=True), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    agent.signal(signal.SIGINT)
    code = await agent.wait()
    expect_equal(
        "results", [line.get("subtype") for line in of_type(agent.lines, "result")], ["error_during_execution"]
    )
    expect_equal("exit code", code, 0)


@check("ending", "SIGTERM ends the process with exit code 143 and without a result.")
async def sigterm(bench: Bench) -> None:
    bench.says([text("One", unfinished=True), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    agent.signal(signal.SIGTERM)
    expect_equal("exit code", await agent.wait(), 143)
    expect_equal("results", len(of_type(agent.lines, "result")), 0)


@check("ending", "SIGHUP ends the process with exit code 129.")
async def sighup(bench: Bench) -> None:
    bench.says([text("One", unfinished=True), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    agent.signal(signal.SIGHUP)
    expect_equal("exit code", await agent.wait(), 129)


@check(
    "flag",
    "stream-json output without --verbose is refused with exit code 1, an error on stderr and no output on stdout.",
)
async def verbose_required(bench: Bench) -> None:
    run = await bench.run("-p", "hello", "--output-format", "stream-json")
    expect_equal("exit code", run.code, 1)
    expect_equal("stdout", run.out, "")
    expect("--verbose" in run.err, f"stderr: {run.err[:200]!r}")


@check("flag", "stream-json input with another output format is refused with exit code 1.")
async def stream_json_input_requires_output(bench: Bench) -> None:
    run = await bench.run("-p", "--input-format", "stream-json", "--output-format", "json")
    expect_equal("exit code", run.code, 1)


@check("flag", "An unknown flag is refused with exit code 1, and stderr names it.")
async def unknown_flag(bench: Bench) -> None:
    run = await bench.run("-p", "hello", "--no-such-flag")
    expect_equal("exit code", run.code, 1)
    expect("--no-such-flag" in run.err, f"stderr: {run.err[:200]!r}")


@check("flag", "An unknown permission mode is refused with exit code 1.")
async def unknown_mode(bench: Bench) -> None:
    run = await bench.run("-p", "hello", "--permission-mode", "delegate")
    expect_equal("exit code", run.code, 1)
    expect_equal("requests to the model", len(bench.model.main_requests), 0)


@check("flag", "--version prints a version of three numbers and exits with code 0.")
async def version(bench: Bench) -> None:
    run = await bench.run("--version")
    expect_equal("exit code", run.code, 0)
    expect(len(run.out.split()[0].split(".")) == 3 if run.out.split() else False, f"stdout: {run.out!r}")


@check("flag", "--flag=value is the same as --flag value.")
async def equals_sign(bench: Bench) -> None:
    bench.says(text("Fine."))
    lines = await (await bench.start("--model=claude-opus-4-5", "--permission-mode=plan")).turn("hello")
    init = of_type(lines, "system", "init")[0]
    expect_equal("model and mode", (init["model"], init["permissionMode"]), ("claude-opus-4-5", "plan"))


@check("flag", "--tools limits the tools offered to the model.")
async def tools(bench: Bench) -> None:
    bench.says(text("Fine."))
    lines = await (await bench.start("--tools", "Read,Bash")).turn("hello")
    expect_equal("tools", sorted(of_type(lines, "system", "init")[0]["tools"]), ["Bash", "Read"])


@check("flag", "--append-system-prompt is added to the system prompt.")
async def append_system_prompt(bench: Bench) -> None:
    bench.says(text("Fine."))
    await (await bench.start("--append-system-prompt", "Never mention herons.")).turn("hello")
    expect(
        "Never mention herons." in str(bench.model.main_requests[0].body.get("system")),
        "the text is missing from the system prompt",
    )


@check("flag", "A prompt on the command line is ignored with --input-format stream-json.")
async def positional_prompt(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start("an ignored prompt")
    expect_equal("exit code", await agent.end(), 0)
    expect_equal("lines on stdout", kinds(agent.lines), "nothing")
