"""The process of an ACP agent: started, introduced, asked, ended with everything it has started."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final, cast

import msgspec

from handrail.acp.rpc import CONNECTION_ENDED, RpcError, RpcPeer
from handrail.errors import PeerError
from handrail.schema.acp import messages as acp
from handrail.transport.process import ProcessTransport

__all__ = ["AgentError", "AgentProcess"]

JsonObject = dict[str, Any]
PROTOCOL_VERSION: Final = 1
START_SECONDS: Final = 60.0
"""Seconds that an agent has to introduce itself; some install packages when they start."""
END_GRACE: Final = 2.0
"""Seconds after the end of its input, and again after SIGTERM, before the agent is killed."""
LONGEST_LINE: Final = 8 * 1024 * 1024
"""Bytes of one message. Hosts get a change to a file up to three times in one line, and accept 32 MiB."""
AUTH_REQUIRED: Final = -32000
_FILES: Final = acp.FileSystemCapabilities(read_text_file=True, write_text_file=True)
_FORMS: Final = acp.ElicitationCapabilities(
    form=acp.ElicitationFormCapabilities(), url=acp.ElicitationUrlCapabilities()
)


class AgentError(PeerError):
    """The agent refused or failed; the text names it. `ended`: it does not run any more."""

    def __init__(self, text: str, *, ended: bool = False) -> None:
        super().__init__(text)
        self.ended = ended


class AgentProcess:
    """One agent. `answer` serves its requests, `noticed` takes its notifications, `log` gets its stderr.

    `pause` is awaited between reads of its output, `damaged` gets each line that is not a message, after the reason,
    and `ended` is called at their end. `has_user`: someone can answer its questions.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        environment: Mapping[str, str],
        answer: Callable[[str, Any], Awaitable[Any]],
        noticed: Callable[[str, Any], None],
        pause: Callable[[], Awaitable[None]],
        damaged: Callable[[str, bytes], None],
        ended: Callable[[], None],
        log: Callable[[str], None],
        has_user: bool,
    ) -> None:
        self.name = os.path.basename(command[0])
        self.version = ""
        self.capabilities = acp.AgentCapabilities()
        self._auth_methods: list[str] = []
        self._transport = ProcessTransport(
            command,
            cwd=cwd,
            env=environment,
            eof_grace=END_GRACE,
            term_grace=END_GRACE,
            on_stderr=lambda data: log(data.decode("utf-8", "replace").rstrip("\n")),
        )
        self._peer = RpcPeer(self._transport, answer, noticed, pause, damaged, LONGEST_LINE)
        self._running: asyncio.Task[None] | None = None
        self._ended = ended
        self._can = acp.ClientCapabilities(fs=_FILES, elicitation=_FORMS if has_user else None)

    async def start(self) -> None:
        """Start it and exchange capabilities. Raises AgentError."""
        try:
            await self._transport.start()
        except OSError as error:
            raise AgentError(f"the ACP agent cannot be started: {error}", ended=True) from None
        self._running = asyncio.create_task(self._peer.run(), name="handrail acp agent")
        self._running.add_done_callback(lambda _: self._ended())
        client = acp.Implementation(name="handrail", title="Handrail", version=version("handrail"))
        request = acp.InitializeRequest(
            protocol_version=PROTOCOL_VERSION, client_capabilities=self._can, client_info=client
        )
        try:
            async with asyncio.timeout(START_SECONDS):
                found = await self.request("initialize", request)
            answer = msgspec.convert(found, acp.InitializeResponse)
        except TimeoutError:
            raise AgentError(
                f"{self.name} has not answered `initialize` within {START_SECONDS:g} s; does this command speak ACP?"
            ) from None
        except msgspec.ValidationError as error:
            raise AgentError(f"{self.name} has answered `initialize` with an invalid message: {error}") from None
        if answer.protocol_version != PROTOCOL_VERSION:
            raise AgentError(
                f"{self.name} speaks version {answer.protocol_version} of ACP; handrail-acp speaks {PROTOCOL_VERSION}"
            )
        self.capabilities = answer.agent_capabilities or self.capabilities
        if (info := answer.agent_info) is not None:
            self.name, self.version = info.title or info.name or self.name, info.version
        methods = [cast("JsonObject", method) for method in answer.auth_methods or () if isinstance(method, dict)]
        self._auth_methods = [str(method.get("name") or method.get("id")) for method in methods]

    async def request(self, method: str, params: Any) -> Any:
        """Ask the agent. Raises AgentError."""
        try:
            return await self._peer.request(method, params)
        except RpcError as error:
            if error.code == CONNECTION_ENDED:
                raise AgentError(await self._obituary(), ended=True) from None
            if error.code == AUTH_REQUIRED:
                ways = f" ({', '.join(self._auth_methods)})" if self._auth_methods else ""
                raise AgentError(f"{self.name} is not signed in; sign in with its own command first{ways}") from None
            raise AgentError(f"{self.name}: {_reason(error)}") from None

    async def notify(self, method: str, params: Any) -> None:
        """Notify the agent. Nothing happens if it has ended."""
        await self._peer.notify(method, params)

    async def close(self) -> None:
        """End the agent and its processes."""
        await self._transport.close()
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _obituary(self) -> str:
        """Why the agent does not answer any more."""
        ending = await self._transport.close()
        last = ending.stderr.strip().splitlines()[-3:]
        return f"{self.name} has ended ({ending.describe()})" + (f": {' | '.join(last)}" if last else "")


def _reason(error: RpcError) -> str:
    """The text of an error, with the details that many agents put into `data`."""
    data: Any = error.data
    details: Any = cast("JsonObject", data).get("details") if isinstance(data, dict) else data
    return f"{error} ({details})" if isinstance(details, str) and details and details != str(error) else str(error)
