"""The ACP agents of this machine that a session can be started with, and what they can do.

An agent tells what it can do when it is started. So it is asked once, when a client wants to know, and its answer is
used until its command changes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from handrail.bridge.errors import CommandRefused
from handrail.client.environment import child_environment
from handrail.client.options import Options
from handrail.model_access.acp_agents import AcpAgent, InvalidAgent, known_agents, required_agent
from handrail.model_access.choice import CliChoice

__all__ = ["AcpAgents", "AgentRow", "cli_of"]

JsonObject = dict[str, Any]
ASK_SECONDS: Final = 30.0
"""Seconds that an agent has to tell what it can do."""
MOST_TEXT: Final = 200


class AgentRow(Struct, frozen=True, kw_only=True):
    """An agent as clients see it.

    machines  where it can be used; empty for a server alone
    asked     whether the other fields are known
    problem   why it could not be asked
    """

    name: str
    machines: list[str] = []
    asked: bool = False
    title: str = ""
    version: str = ""
    images: bool = False
    resume: bool = False
    fork: bool = False
    problem: str = ""


def cli_of(cli: CliChoice, agent: str) -> CliChoice:
    """The CLI of a session: `handrail-acp` for one with an ACP agent. Raises CommandRefused if the agent is missing."""
    if not agent:
        return cli
    try:
        required_agent(agent, cli.environment)
    except InvalidAgent as error:
        raise CommandRefused("unknown_agent", str(error)) from None
    return CliChoice(agent, cli.environment)


class AcpAgents:
    """The agents of one machine. `runs` is false on a gateway that runs no sessions itself."""

    def __init__(self, cli: CliChoice, *, runs: bool = True) -> None:
        self._cli, self._runs = cli, runs
        self._asking: dict[bytes, asyncio.Task[AgentRow]] = {}

    def check(self, name: str) -> None:
        """Raise CommandRefused if this machine lacks the agent; "" is the CLI of the server."""
        cli_of(self._cli, name)

    async def rows(self, ask: str = "") -> list[AgentRow]:
        """The agents by name; the one that `ask` names is asked what it can do. Raises CommandRefused."""
        try:
            agents = await asyncio.to_thread(known_agents, self._cli.environment) if self._runs else {}
        except InvalidAgent as error:
            raise CommandRefused("unknown_agent", str(error)) from None
        if ask in agents:
            await asyncio.wait([self._asked(ask, agents[ask])])
        return [self._row(name, agent) for name, agent in sorted(agents.items())]

    async def close(self) -> None:
        """End the agents that are being asked."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _row(self, name: str, agent: AcpAgent) -> AgentRow:
        task = self._asking.get(_key(name, agent))
        return task.result() if task is not None and task.done() and not task.cancelled() else AgentRow(name=name)

    def _asked(self, name: str, agent: AcpAgent) -> asyncio.Task[AgentRow]:
        """The answer of an agent. One that could not be asked is asked again."""
        key = _key(name, agent)
        task = self._asking.get(key)
        if task is None or (task.done() and (task.cancelled() or task.result().problem)):
            task = self._asking[key] = asyncio.create_task(self._ask(name, agent), name=f"handrail asks {name}")
        return task

    async def _ask(self, name: str, agent: AcpAgent) -> AgentRow:
        from handrail.acp.agents.agent_process import AgentError, AgentProcess  # few servers need it

        environment = child_environment(Options(env=CliChoice(name, self._cli.environment).child_environment()))
        process = AgentProcess(
            agent.command,
            cwd=str(Path.home()),
            environment=environment,
            answer=_refuse,
            noticed=lambda _method, _params: None,
            pause=_go_on,
            damaged=lambda _reason, _line: None,
            has_user=False,
            ended=lambda: None,
            log=lambda _text: None,
        )
        try:
            async with asyncio.timeout(ASK_SECONDS):
                await process.start()
        except TimeoutError:
            return AgentRow(name=name, problem=f"{name} has not answered within {ASK_SECONDS:g} s")
        except AgentError as error:
            return AgentRow(name=name, problem=str(error)[:MOST_TEXT])
        finally:
            await process.close()
        can, prompts = process.capabilities, process.capabilities.prompt_capabilities
        sessions = can.session_capabilities
        return AgentRow(
            name=name,
            asked=True,
            title=process.name[:MOST_TEXT],
            version=process.version[:MOST_TEXT],
            images=prompts is not None and bool(prompts.image),
            resume=bool(can.load_session) or (sessions is not None and sessions.resume is not None),
            fork=sessions is not None and sessions.fork is not None,
        )


def _key(name: str, agent: AcpAgent) -> bytes:
    return msgspec.json.encode([name, agent])


async def _refuse(method: str, _params: Any) -> Any:
    from handrail.acp.rpc import METHOD_NOT_FOUND, RpcError

    raise RpcError(METHOD_NOT_FOUND, f"{method}: no session is open")


async def _go_on() -> None:
    return None
