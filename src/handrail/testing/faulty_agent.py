"""A proxy that makes an agent violate the protocol in one way, to test checkers of agents.

    python -m handrail.testing.faulty_agent no-init -- handrail-agent --output-format stream-json …

It runs between a host and an agent and changes the agent's output. Input, signals and stderr pass through unchanged.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import msgspec

__all__ = ["FAULTS", "main"]

Json = dict[str, Any]
Alter = Callable[[Json], Iterable[Json]]
"""Replaces a line by any number of lines."""


def _no_init(line: Json) -> Iterable[Json]:
    return () if (line.get("type"), line.get("subtype")) == ("system", "init") else (line,)


def _two_results(line: Json) -> Iterable[Json]:
    return (line, line) if line.get("type") == "result" else (line,)


def _no_uuid(line: Json) -> Iterable[Json]:
    yield {key: value for key, value in line.items() if key != "uuid"} if line.get("type") == "assistant" else line


def _flat_answers(line: Json) -> Iterable[Json]:
    """Puts the payload of an answer into its envelope."""
    body = line.get("response")
    if line.get("type") == "control_response" and isinstance(body, dict):
        inner = cast("Json", body).pop("response", None)
        payload = cast("Json", inner) if isinstance(inner, dict) else {}
        line = {**line, "response": {**cast("Json", body), **payload}}
    yield line


class _LateLines:
    """Sends the line of a block after the block was closed."""

    def __init__(self) -> None:
        self._held: list[Json] = []

    def __call__(self, line: Json) -> Iterable[Json]:
        if line.get("type") == "assistant":
            self._held.append(line)
            return
        yield line
        event = line.get("event")
        closes = isinstance(event, dict) and cast("Json", event).get("type") == "content_block_stop"
        if closes or line.get("type") == "result":
            yield from self._held
            self._held = []


def _no_cancel(line: Json) -> Iterable[Json]:
    return () if line.get("type") == "control_cancel_request" else (line,)


class _BatchedResults:
    """Joins consecutive tool results into one line."""

    def __init__(self) -> None:
        self._held: Json | None = None

    def __call__(self, line: Json) -> Iterable[Json]:
        if line.get("type") == "user" and "tool_use_result" in line:
            if self._held is None:
                self._held = line
            else:
                self._held["message"]["content"] += line["message"]["content"]
            return
        if self._held is not None and line.get("type") in ("assistant", "result"):
            yield self._held
            self._held = None
        yield line


def _no_replay(line: Json) -> Iterable[Json]:
    return () if line.get("isReplay") else (line,)


def _wrong_num_turns(line: Json) -> Iterable[Json]:
    yield {**line, "num_turns": line["num_turns"] + 1} if line.get("type") == "result" else line


def _unchanged(line: Json) -> Iterable[Json]:
    return (line,)


FAULTS: dict[str, Callable[[], Alter]] = {
    "none": lambda: _unchanged,
    "no-init": lambda: _no_init,
    "two-results": lambda: _two_results,
    "no-uuid": lambda: _no_uuid,
    "flat-answers": lambda: _flat_answers,
    "late-lines": _LateLines,
    "no-cancel": lambda: _no_cancel,
    "exit-code-0": lambda: _unchanged,
    "batched-results": _BatchedResults,
    "no-replay": lambda: _no_replay,
    "wrong-num-turns": lambda: _wrong_num_turns,
}
"""Faults by name. `none` changes nothing; `exit-code-0` changes only the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run an agent with a fault and return its exit code."""
    fault, dashes, *command = list(sys.argv[1:] if argv is None else argv) + [""] * 2
    command = [word for word in command if word] if dashes == "--" else []
    if fault not in FAULTS or not command:
        print(f"usage: faulty_agent FAULT -- CMD...; faults: {', '.join(FAULTS)}", file=sys.stderr)
        return 2
    code = asyncio.run(_proxy(command, FAULTS[fault]()))
    return 0 if fault == "exit-code-0" else code


async def _proxy(command: list[str], alter: Alter) -> int:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, limit=1 << 26)
    assert process.stdout
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, process.send_signal, number)
    while data := await process.stdout.readline():
        try:
            line = msgspec.json.decode(data, type=Json)
        except msgspec.MsgspecError:
            _write(data)
            continue
        for changed in alter(line):
            _write(msgspec.json.encode(changed) + b"\n")
    code = await process.wait()
    return 128 - code if code < 0 else code


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    raise SystemExit(main())
