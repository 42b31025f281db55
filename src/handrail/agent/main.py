"""The executable. In: argv, standard input, the environment. Out: what the host expects, and an exit code.

What it needs is loaded inside functions: a host waits for the first answer, and no collector runs until all is there.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from handrail.agent.errors import Refused

if TYPE_CHECKING:
    from handrail.agent.arguments import Arguments

__all__ = ["main", "run"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the agent. Out: the exit code."""
    gc.disable()
    import asyncio

    from handrail.agent.arguments import read_arguments

    try:
        arguments = read_arguments(sys.argv[1:] if argv is None else argv)
        return asyncio.run(_run(arguments))
    except Refused as error:
        print(error.message, file=sys.stderr, flush=True)
        return error.code
    except KeyboardInterrupt:
        return 130
    finally:
        gc.enable()


def _loaded() -> None:
    """What is there now stays: it need never be looked through again."""
    gc.freeze()
    gc.enable()


async def _run(arguments: Arguments) -> int:
    if arguments.rewind_files:
        return await _rewind(arguments)
    return await (_serve(arguments) if arguments.streams_input else _one_shot(arguments))


async def _serve(arguments: Arguments) -> int:
    import asyncio

    from handrail.agent.serve import serve
    from handrail.transport.stdio import StdioTransport

    asyncio.get_running_loop().call_soon(_loaded)  # as soon as the session waits for something
    return await serve(StdioTransport(), arguments, os.environ, os.getcwd(), signals=True)


async def _one_shot(arguments: Arguments) -> int:
    import asyncio

    from handrail.agent.host import Host
    from handrail.agent.lifetime import catch_signals, live
    from handrail.agent.output import JsonOutput, Output, PrintedLines, TextOutput
    from handrail.agent.queue import Prompt
    from handrail.agent.start import make_engine

    asyncio.get_running_loop().call_soon(_loaded)
    prompt = _prompt(arguments)
    output: Output = {
        "text": TextOutput,
        "json": lambda: JsonOutput(every=arguments.verbose),
        "stream-json": PrintedLines,
    }[arguments.output_format]()
    engine = make_engine(arguments, os.environ, os.getcwd(), output=output, host=Host())
    engine.put(Prompt(prompt))
    engine.queue.end()
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    catch_signals(lambda code: None if stopped.done() else stopped.set_result(code))
    try:
        return await live(engine, stopped)
    finally:
        await output.finish()


async def _rewind(arguments: Arguments) -> int:
    """Put files back to what they were before a prompt of an earlier process, and no more."""
    from handrail.agent.host import Host
    from handrail.agent.output import PrintedLines
    from handrail.agent.start import make_engine

    if not arguments.resume:
        raise Refused("Error: --rewind-files requires --resume")
    engine = make_engine(arguments, os.environ, os.getcwd(), output=PrintedLines(), host=Host())
    try:
        engine.checkpoints.rewind(arguments.rewind_files, dry_run=False)
    except (ValueError, OSError) as error:
        raise Refused(f"Error: {error}") from None
    finally:
        await engine.close()
    print(f"Files rewound to state at message {arguments.rewind_files}", flush=True)
    return 0


def _prompt(arguments: Arguments) -> str:
    """The prompt: of the command line, of standard input, or both."""
    piped = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    prompt = "\n".join(part for part in (arguments.prompt or "", piped) if part)
    if not prompt:
        raise Refused("Error: Input must be provided either through stdin or as a prompt argument when using --print")
    return prompt


def _end_children() -> None:
    """Nothing that a command has left behind outlives the process."""
    if (tree := sys.modules.get("handrail.agent.tools.process_tree")) is not None and tree.has_started_any():
        tree.end_all()


def run() -> None:
    """The command."""
    code = main()
    _end_children()
    sys.stdout.flush()
    os._exit(code)  # nothing is left to tidy up, and what a library left behind must not keep the host waiting


if __name__ == "__main__":
    run()
