"""Requests of a CLI to the Messages API: recording them with a scripted model, and preparing them for a comparison."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from handrail.agent.models.script import Script, load_script
from handrail.cli.inspect_compare import Line
from handrail.conform.lab import FAKE_KEY
from handrail.conform.messages_api import ReceivedRequest, ScriptedMessagesApi
from handrail.conform.request_file import write_requests

__all__ = ["record_requests", "request_lines"]

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def record_requests(command: Sequence[str], out: Path, script: Path | None) -> tuple[int, int]:
    """Run a CLI with a scripted model on loopback, and write its requests. Returns its exit code and their number.

    Its standard streams are those of this process. It gets a placeholder key, so that no key of the user is sent.
    Raises OSError, and ScriptError for an invalid script.
    """
    return asyncio.run(_record(command, out, load_script(script) if script else Script.of()))


async def _record(command: Sequence[str], out: Path, script: Script) -> tuple[int, int]:
    async with ScriptedMessagesApi(script) as api:
        environment = {name: value for name, value in os.environ.items() if name.upper() not in _PROXIES}
        environment |= {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": FAKE_KEY}
        environment.pop("ANTHROPIC_AUTH_TOKEN", None)
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _pass_on, process, number)
        code = await process.wait()
        write_requests(out, api.requests, argv=command)
        return code, len(api.requests)


def _pass_on(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(number)


def request_lines(requests: Sequence[ReceivedRequest]) -> list[Line]:
    """The requests as lines to compare. Headers are left out but for the betas, which choose what the API does."""
    return [
        Line(
            number,
            "out",
            "request" if request.main else "side request",
            {"betas": _betas(request), **request.body},
        )
        for number, request in enumerate(requests, 1)
    ]


def _betas(request: ReceivedRequest) -> list[str]:
    return [name.strip() for name in request.headers.get("anthropic-beta", "").split(",") if name.strip()]
