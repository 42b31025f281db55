"""The executable.

Modules are imported inside functions, and garbage collection waits until they are loaded: hosts measure how soon the
first answer comes.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from handrail.agent.errors import Refused
from handrail.import_bundle import use as use_bundle
from handrail.platform import exit_without

if TYPE_CHECKING:
    from types import ModuleType

    from handrail.agent.arguments import Arguments

__all__ = ["main", "prompt_of", "run"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the agent, or a sub-command such as `mcp list`. Returns the exit code."""
    gc.disable()
    import asyncio

    from handrail.agent.arguments import is_subcommand, read_arguments
    from handrail.transport.start_message import AWAIT_START

    words = sys.argv[1:] if argv is None else argv
    try:
        if [*words] == [AWAIT_START]:
            from handrail.agent.prewarmed import await_start

            if (given := await_start()) is None:
                return 0
            words = given
        if is_subcommand(words):
            from handrail.agent.subcommands import run_subcommand

            return run_subcommand(words, os.environ, os.getcwd())
        return asyncio.run(_run(read_arguments(words)))
    except Refused as error:
        print(error.message, file=sys.stderr, flush=True)
        return error.code
    except KeyboardInterrupt:
        return 130
    finally:
        gc.enable()


def _loaded() -> None:
    """Exclude everything loaded so far from later collections."""
    gc.freeze()
    gc.enable()


async def _run(arguments: Arguments) -> int:
    if arguments.rewind_files:
        return await _rewind(arguments)
    return await (_serve(arguments) if arguments.streams_input else _one_shot(arguments))


async def _serve(arguments: Arguments) -> int:
    import asyncio

    from handrail.agent.start import serve
    from handrail.transport.stdio import StdioTransport

    asyncio.get_running_loop().call_soon(_loaded)  # runs when the session first waits
    return await serve(StdioTransport(), arguments, os.environ, os.getcwd(), signals=True)


async def _one_shot(arguments: Arguments) -> int:
    import asyncio

    from handrail.agent.base import NoHost, Output, Prompt
    from handrail.agent.host.lifetime import catch_signals, live
    from handrail.agent.host.output import JsonOutput, PrintedLines, TextOutput
    from handrail.agent.start import download, make_engine

    asyncio.get_running_loop().call_soon(_loaded)
    prompt = prompt_of(arguments)
    output: Output = {
        "text": TextOutput,
        "json": lambda: JsonOutput(every=arguments.verbose),
        "stream-json": PrintedLines,
    }[arguments.output_format]()
    engine = make_engine(arguments, os.environ, os.getcwd(), output=output, host=NoHost())
    if arguments.file:
        await download(engine.session)
    engine.put(Prompt(prompt))
    engine.queue.end()
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    catch_signals(lambda code: None if stopped.done() else stopped.set_result(code))
    try:
        code = await live(engine, stopped)
    except Refused:
        raise  # stderr has the reason, and stdout stays empty
    except BaseException:
        await output.finish()
        raise
    await output.finish()
    return code


async def _rewind(arguments: Arguments) -> int:
    """Restore files as they were before a prompt of an earlier process."""
    from handrail.agent.base import NoHost
    from handrail.agent.host.output import PrintedLines
    from handrail.agent.start import make_engine

    if not arguments.resume:
        raise Refused("Error: --rewind-files requires --resume")
    engine = make_engine(arguments, os.environ, os.getcwd(), output=PrintedLines(), host=NoHost())
    try:
        engine.checkpoints().rewind(arguments.rewind_files, dry_run=False)
    except (ValueError, OSError) as error:
        raise Refused(f"Error: {error}") from None
    finally:
        await engine.close()
    print(f"Files rewound to state at message {arguments.rewind_files}", flush=True)
    return 0


def prompt_of(arguments: Arguments) -> str:
    """The prompt of the command line, of standard input, or both."""
    piped = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    prompt = "\n".join(part for part in (arguments.prompt or "", piped) if part)
    if prompt.isspace():
        raise Refused("Error: the prompt is only whitespace; pass a text as an argument or through stdin")
    if not prompt:
        raise Refused("Error: Input must be provided either through stdin or as a prompt argument when using --print")
    return prompt


def _end_children() -> None:
    """Kill processes that commands of the model have left behind."""
    if (tree := sys.modules.get("handrail.agent.tools.process_tree")) is not None and tree.has_started_any():
        tree.end_all()


def _block(name: str) -> None:
    """Have imports of this module fail with ImportError."""
    sys.modules[name] = cast("ModuleType", None)


def _import_libraries() -> None:
    """Import asyncio without `ssl` and msgspec without `typing_extensions`, as in a Python that lacks them.

    Loading OpenSSL is a good part of the start. asyncio opens no TLS connection here: the HTTP client does TLS itself,
    on plain streams, and loads `ssl` when a request needs it. All that msgspec takes from the other is in `typing`.
    """
    for name in ("_winapi", "msvcrt", "nt"):  # modules of Windows, for which Python would search all folders
        _block(name)
    _block("ssl")
    _block("typing_extensions")
    import asyncio  # noqa: F401 # pyright: ignore[reportUnusedImport]

    import msgspec  # noqa: F401 # pyright: ignore[reportUnusedImport]

    del sys.modules["ssl"], sys.modules["typing_extensions"]


def run() -> None:
    """The entry point of `handrail-agent`."""
    exit_without("groups", "handrail-agent")
    use_bundle("agent")
    gc.disable()
    _block("trio")  # the HTTP client imports it where it is installed, and nothing here uses it
    _import_libraries()
    code = main()
    _end_children()
    sys.stdout.flush()
    os._exit(code)  # threads of a library must not keep the host waiting


if __name__ == "__main__":
    run()
