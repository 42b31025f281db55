"""The executable `handrail-acp`: an ACP agent behind the stream-json and control protocol of the CLI."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from handrail.acp.agents.brain import AcpBrain
from handrail.acp.agents.command_line import no_command, read_command_line
from handrail.agent.arguments import Arguments
from handrail.agent.base import Host, NoHost, Output, Prompt
from handrail.agent.debug_log import open_debug_log
from handrail.agent.errors import Refused
from handrail.agent.host.lifetime import catch_signals, live
from handrail.agent.host.output import JsonOutput, PrintedLines, TextOutput
from handrail.agent.host.wire import Wire
from handrail.agent.main import prompt_of
from handrail.agent.session import Session
from handrail.agent.speaker import new_id
from handrail.model_access.acp_agents import VARIABLE, InvalidAgent, find_agent
from handrail.schema.result_message import ResultMessage
from handrail.schema.view import build_line
from handrail.transport.stdio import StdioTransport

__all__ = ["main", "run"]

HOST_GONE: Final = 141
"""The exit code after the host died: that of a process that writes to a closed pipe."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run it. Returns the exit code."""
    try:
        command, arguments = read_command_line(sys.argv[1:] if argv is None else argv)
        return asyncio.run(_run(command or _configured(os.environ), arguments))
    except Refused as error:
        print(error.message, file=sys.stderr, flush=True)
        return error.code
    except KeyboardInterrupt:
        return 130


def _configured(environment: Mapping[str, str]) -> list[str]:
    """The command of the agent that HANDRAIL_ACP_AGENT names. Raises Refused."""
    if not (name := environment.get(VARIABLE)):
        raise no_command()
    try:
        agent = find_agent(name, environment)
    except InvalidAgent as error:
        raise Refused(f"error: {error}") from None
    if agent is None:
        raise Refused(f"error: agent {name[:80]!r} ({VARIABLE}) not found; run `handrail agents list`")
    return agent.command


async def _run(command: list[str], arguments: Arguments) -> int:
    return await (_serve(command, arguments) if arguments.streams_input else _one_shot(command, arguments))


async def _serve(command: list[str], arguments: Arguments) -> int:
    transport = StdioTransport()
    wire = Wire(transport)
    # The end of the input only means that no prompts follow. A host that died does not read the output either, and
    # the agent may never end its turn.
    transport.on_output_closed(lambda: wire.stop(HOST_GONE))
    try:
        brain = make_brain(command, arguments, os.environ, os.getcwd(), output=wire.output, host=wire)
    except Refused as error:
        if error.result:
            failed = {
                "subtype": "error_during_execution",
                "is_error": True,
                "session_id": arguments.resume or arguments.session_id or new_id(),
                "errors": [error.message],
                "uuid": new_id(),
            }
            await wire.output.emit(build_line(ResultMessage, failed))
        raise
    return await wire.run(brain, signals=True)


async def _one_shot(command: list[str], arguments: Arguments) -> int:
    prompt = prompt_of(arguments)
    output: Output = {
        "text": TextOutput,
        "json": lambda: JsonOutput(every=arguments.verbose),
        "stream-json": PrintedLines,
    }[arguments.output_format]()
    brain = make_brain(command, arguments, os.environ, os.getcwd(), output=output, host=NoHost())
    brain.put(Prompt(prompt))
    brain.end_input()
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    catch_signals(lambda code: None if stopped.done() else stopped.set_result(code))
    code = await live(brain, stopped)
    await output.finish()
    return code


def make_brain(
    command: list[str],
    arguments: Arguments,
    environment: Mapping[str, str],
    cwd: str,
    *,
    output: Output,
    host: Host,
) -> AcpBrain:
    """Put a session together. Raises Refused."""
    session = Session(arguments, environment, cwd)
    for notice in (session.trust_notice(), *arguments.notices, *session.notices):
        if notice:
            print(notice.replace("handrail-agent", "handrail-acp"), file=sys.stderr, flush=True)
    log = open_debug_log(arguments, session.config_home, session.id)
    brain = AcpBrain(
        session, command, output=output, host=host, log=lambda text: log("acp", text) if log is not None else None
    )
    _find(brain)
    return brain


def _find(brain: AcpBrain) -> None:
    """Find the session to continue. Raises Refused."""
    arguments, session = brain.arguments, brain.session
    wanted = arguments.resume or (brain.stored.latest(brain.command, session.cwd) if arguments.continue_ else "")
    if not wanted:
        if brain.stored.get(session.id) is not None:
            raise Refused(f"Error: Session ID {session.id} is already in use.")
        brain.continues_latest = arguments.continue_
        return
    known = brain.stored.get(wanted)
    if known is not None and known.command != brain.command:
        raise Refused(f"Error: session {wanted} belongs to another agent: {' '.join(known.command)[:200]}", result=True)
    # An id that is not ours may be one of the agent's own, from its own list.
    brain.earlier, brain.resumed = (wanted if known is None else known.agent_session), wanted
    if not arguments.fork_session:
        session.id = wanted
        brain.usage.total_cost = known.cost if known is not None else 0.0


def run() -> None:
    """The entry point of `handrail-acp`."""
    code = main()
    sys.stdout.flush()
    os._exit(code)  # threads of a library must not keep the host waiting


if __name__ == "__main__":
    run()
