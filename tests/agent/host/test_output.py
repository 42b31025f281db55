from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.agent.base import Output
from handrail.agent.host.output import JsonOutput, LinesOutput, PrintedLines, TextOutput
from handrail.connection import Connection
from handrail.transport.memory import memory_pair

LINES: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init"},
    {"type": "result", "result": "first", "is_error": False},
    {"type": "result", "result": "Grüße", "is_error": False},
]


async def printed(output: Output, capsysbinary: pytest.CaptureFixture[bytes], lines: Any = LINES) -> bytes:
    for line in lines:
        await output.emit(line)
    await output.finish()
    return capsysbinary.readouterr().out


async def test_text_is_that_of_each_result(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert await printed(TextOutput(), capsysbinary) == "first\n\nGrüße\n".encode()


async def test_failure_text_gives_the_reason(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = [{"type": "result", "errors": ["Reached maximum number of turns (1)"]}]
    assert await printed(TextOutput(), capsysbinary, lines) == b"Reached maximum number of turns (1)\n"


async def test_json_is_the_last_result(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert json.loads(await printed(JsonOutput(), capsysbinary)) == LINES[-1]


async def test_json_of_everything_is_one_list(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert json.loads(await printed(JsonOutput(every=True), capsysbinary)) == LINES


async def test_printed_lines_are_one_json_each(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    found = await printed(PrintedLines(), capsysbinary)
    assert [json.loads(line) for line in found.splitlines()] == LINES


async def test_a_session_without_a_result_prints_nothing(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert await printed(TextOutput(), capsysbinary, []) == b""
    assert await printed(JsonOutput(), capsysbinary, []) == b""


async def test_disconnected_host_is_not_an_error() -> None:
    ours, theirs = memory_pair()
    connection = Connection(ours, on_messages=lambda messages: None)
    await connection.start()
    await theirs.close()
    await connection.close()
    await LinesOutput(connection).emit(LINES[0])
