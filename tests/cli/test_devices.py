"""`handrail devices` beside a running server: programs come in with what was printed, and are out when it is said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.bridge.web.running import remembered
from handrail.cli.main import main
from tests.bridge.certificate import own_certificate
from tests.bridge.serving import Running, running

Told = tuple[int, str, str]
Commands = Callable[..., Told]


@pytest.fixture
def devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    """Run the command. Returns its exit code, stdout and stderr."""

    def run(*arguments: str) -> Told:
        code = main(["devices", *arguments, "--data", str(tmp_path / "data")])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


async def status(server: Running, token: str, path: str = "/api/sessions") -> int:
    async with server.client(token) as client:
        return (await client.get(path)).status_code


async def test_a_program_comes_in_with_the_token_that_was_printed_until_it_is_revoked(
    tmp_path: Path, devices: Commands
):
    async with running(tmp_path) as server:
        with remembered(tmp_path / "data", server.address):
            code, token, _ = await asyncio.to_thread(devices, "add", "report", "--scope", "view")
            assert code == 0
            assert await status(server, token.strip()) == 200
            assert await status(server, token.strip(), "/api/devices") == 403
            code, out, _ = await asyncio.to_thread(devices, "list", "--json")
            [device] = json.loads(out)
            assert (code, device["name"], device["scopes"]) == (0, "report", ["view"])
            code, out, _ = await asyncio.to_thread(devices, "list")
            assert out.split("\t")[:3] == [device["id"], "program", "view"]
            assert (await asyncio.to_thread(devices, "revoke", device["id"]))[0] == 0
            assert await status(server, token.strip()) == 401
            code, out, errors = await asyncio.to_thread(devices, "list")
            assert (code, out) == (0, "")
            assert "no devices yet" in errors


async def test_a_server_with_a_certificate_of_its_own_is_known_by_that(tmp_path: Path, devices: Commands):
    certificate, key = own_certificate(tmp_path)
    async with running(tmp_path, certificate=certificate, key=key) as server:
        with remembered(tmp_path / "data", server.address, certificate=certificate):
            assert server.address.startswith("https://127.0.0.1:")
            assert (await asyncio.to_thread(devices, "list"))[0] == 0
        (tmp_path / "other").mkdir()
        with remembered(tmp_path / "data", server.address, certificate=own_certificate(tmp_path / "other")[0]):
            code, _, errors = await asyncio.to_thread(devices, "list")
            assert (code, "certificate" in errors.lower()) == (1, True)


async def test_errors_are_one_sentence(tmp_path: Path, devices: Commands):
    code, _, errors = await asyncio.to_thread(devices, "list")
    assert (code, errors.count("\n")) == (1, 1)
    assert "start one with `handrail serve`" in errors
    assert (await asyncio.to_thread(devices, "add", "x", "--scope", "everything"))[0] == 2
    async with running(tmp_path) as server:
        with remembered(tmp_path / "data", server.address):
            code, _, errors = await asyncio.to_thread(devices, "revoke", "0" * 16)
            assert (code, errors) == (1, "handrail devices: device 0000000000000000 not found\n")


async def test_a_server_that_does_not_answer_is_one_sentence(tmp_path: Path, devices: Commands):
    async with running(tmp_path):
        with remembered(tmp_path / "data", "http://127.0.0.1:9"):
            code, _, errors = await asyncio.to_thread(devices, "list")
            assert (code, errors.count("\n")) == (1, 1)
            assert "http://127.0.0.1:9" in errors
