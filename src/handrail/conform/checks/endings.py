"""How an agent ends: end of input, signals, exit codes, flags that it refuses."""

from __future__ import annotations

import signal

from handrail.agent.models.script import hang, http_error, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, same
from handrail.conform.lines import kinds, of, tool_results


@check("ending", "At the end of input the running turn is finished first.")
async def finishes_the_turn(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo x"), text("Done."))
    agent = await bench.start()
    await agent.prompt("go")
    same("the exit code", await agent.end(), 0)
    same("the results", [line.get("result") for line in of(agent.lines, "result")], ["Done."])


@check("ending", "A question that is open at the end of input is denied, and the turn ends.")
async def open_question(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="touch made.txt"), text("I see."))
    agent = await bench.start()
    await agent.prompt("go")
    await agent.asked()
    await agent.end()
    same("is_error", [block.get("is_error") for block in tool_results(agent.lines)], [True])
    same("results", len(of(agent.lines, "result")), 1)
    expect(not (bench.lab.project / "made.txt").exists(), "the command ran")


@check("ending", "The exit code is 1 when the last result was an error.")
async def error_is_exit_1(bench: Bench) -> None:
    bench.says(afterwards=http_error(400))
    agent = await bench.start()
    same("is_error", (await agent.turn("hello"))[-1].get("is_error"), True)
    same("the exit code", await agent.end(), 1)


@check("ending", "The exit code is 0 when an error was followed by a result that was none.")
async def recovered_is_exit_0(bench: Bench) -> None:
    bench.says([text("One"), hang()], text("Two."))
    agent = await bench.start()
    await agent.prompt("first")
    await bench.model.hanging()
    await agent.request("interrupt")
    same("is_error of the first", (await agent.result()).get("is_error"), True)
    same("is_error of the second", (await agent.turn("second"))[-1].get("is_error"), False)
    same("the exit code", await agent.end(), 0)


@check("ending", "SIGINT in a turn aborts it with a result, and the process ends with 0.")
async def sigint(bench: Bench) -> None:
    bench.says([text("One", unfinished=True), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    agent.signal(signal.SIGINT)
    code = await agent.exited()
    same("the results", [line.get("subtype") for line in of(agent.lines, "result")], ["error_during_execution"])
    same("the exit code", code, 0)


@check("ending", "SIGTERM ends the process with 143 and without a result.")
async def sigterm(bench: Bench) -> None:
    bench.says([text("One", unfinished=True), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    agent.signal(signal.SIGTERM)
    same("the exit code", await agent.exited(), 143)
    same("results", len(of(agent.lines, "result")), 0)


@check("ending", "SIGHUP ends the process with 129.")
async def sighup(bench: Bench) -> None:
    bench.says([text("One", unfinished=True), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    agent.signal(signal.SIGHUP)
    same("the exit code", await agent.exited(), 129)


@check("flag", "stream-json output without --verbose is refused: exit 1, words on stderr, nothing on stdout.")
async def verbose_is_needed(bench: Bench) -> None:
    run = await bench.once("-p", "hello", "--output-format", "stream-json")
    same("the exit code", run.code, 1)
    same("stdout", run.out, "")
    expect("--verbose" in run.err, f"stderr says {run.err[:200]!r}")


@check("flag", "stream-json input with another output is refused: exit 1.")
async def input_needs_output(bench: Bench) -> None:
    run = await bench.once("-p", "--input-format", "stream-json", "--output-format", "json")
    same("the exit code", run.code, 1)


@check("flag", "A flag that does not exist is refused: exit 1, and stderr names it.")
async def unknown_flag(bench: Bench) -> None:
    run = await bench.once("-p", "hello", "--no-such-flag")
    same("the exit code", run.code, 1)
    expect("--no-such-flag" in run.err, f"stderr says {run.err[:200]!r}")


@check("flag", "A permission mode that does not exist is refused: exit 1.")
async def unknown_mode(bench: Bench) -> None:
    run = await bench.once("-p", "hello", "--permission-mode", "delegate")
    same("the exit code", run.code, 1)
    same("requests to the model", len(bench.model.main_requests), 0)


@check("flag", "--version prints a version of three numbers and ends with 0.")
async def version(bench: Bench) -> None:
    run = await bench.once("--version")
    same("the exit code", run.code, 0)
    expect(len(run.out.split()[0].split(".")) == 3 if run.out.split() else False, f"it prints {run.out!r}")


@check("flag", "--flag=value means what --flag value means.")
async def equals_sign(bench: Bench) -> None:
    bench.says(text("Fine."))
    lines = await (await bench.start("--model=claude-opus-4-5", "--permission-mode=plan")).turn("hello")
    init = of(lines, "system", "init")[0]
    same("model and mode", (init["model"], init["permissionMode"]), ("claude-opus-4-5", "plan"))


@check("flag", "--tools limits what is offered to the model.")
async def tools(bench: Bench) -> None:
    bench.says(text("Fine."))
    lines = await (await bench.start("--tools", "Read,Bash")).turn("hello")
    same("the tools", sorted(of(lines, "system", "init")[0]["tools"]), ["Bash", "Read"])


@check("flag", "--append-system-prompt is added to what the model is told.")
async def append_system_prompt(bench: Bench) -> None:
    bench.says(text("Fine."))
    await (await bench.start("--append-system-prompt", "Never mention herons.")).turn("hello")
    expect("Never mention herons." in str(bench.model.main_requests[0].body.get("system")), "the model was not told")


@check("flag", "A prompt on the command line is ignored where prompts come as lines.")
async def positional_prompt(bench: Bench) -> None:
    bench.says(text("Fine."))
    agent = await bench.start("a prompt nobody reads")
    same("the exit code", await agent.end(), 0)
    same("lines on stdout", kinds(agent.lines), "nothing")
