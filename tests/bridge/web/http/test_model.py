"""Connecting a model over HTTP: who may, what is checked, and that the key never comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, http_error, text
from handrail.conform.messages_api import ScriptedMessagesApi
from handrail.model_access.choice import CliChoice
from handrail.model_access.stored import access_file
from tests.bridge.serving import Running, running

KEY = "sk-test-0123456789"


def environment(folder: Path, **more: str) -> dict[str, str]:
    (folder / "bin").mkdir(exist_ok=True)
    return {"HOME": str(folder), "PATH": str(folder / "bin"), **more}


def everything_on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def ask(server: Running, method: str, body: Any = None, scopes: tuple[str, ...] = ("prompt", "admin")) -> Any:
    async with server.client(await server.same_token(scopes)) as client:
        return await client.request(method, "/api/model", json=body)


async def test_accepted_key_is_used_by_new_sessions_and_shown_to_no_one(tmp_path: Path):
    async with (
        ScriptedMessagesApi(Script.of(text("x"))) as api,
        running(tmp_path, cli=CliChoice("", environment(tmp_path))) as server,
    ):
        assert (await ask(server, "GET")).json()["cli"]["demo"]
        body = {"use": "api", "key": KEY, "endpoint": api.url, "model": "house-model"}
        answer = await ask(server, "POST", body)
        assert answer.status_code == 200, answer.text
        connected = {"use": "api", "endpoint": api.url, "model": "house-model", "kept": True}
        assert answer.json()["connected"] == connected
        assert answer.json()["cli"]["model"] == "model house-model through the Messages API"
        assert (await ask(server, "GET")).json()["connected"] == connected
        assert KEY not in answer.text + (await ask(server, "GET")).text
        assert KEY.encode() not in everything_on_disk(tmp_path / "data")
        assert access_file(environment(tmp_path)).stat().st_mode & 0o777 == 0o600
        answer = await ask(server, "DELETE", {})
        assert (answer.json()["connected"], answer.json()["cli"]["demo"]) == (None, True)
        assert not access_file(environment(tmp_path)).exists()


async def test_key_for_this_run_is_not_stored(tmp_path: Path):
    given = environment(tmp_path)
    async with ScriptedMessagesApi(Script.of(text("x"))) as api:
        given["ANTHROPIC_BASE_URL"] = api.url
        async with running(tmp_path, cli=CliChoice("agent", given)) as server:
            answer = await ask(server, "POST", {"use": "api", "key": KEY, "keep": False})
            assert answer.json()["connected"] == {"use": "api", "endpoint": "", "model": "", "kept": False}
    assert not access_file(given).exists()


async def test_rejected_key_is_reported_at_once_and_not_stored(tmp_path: Path):
    refusal = http_error(401, message="invalid x-api-key")
    script = Script(replies=(), afterwards=refusal, helper=refusal)
    async with (
        ScriptedMessagesApi(script) as api,
        running(tmp_path, cli=CliChoice("", environment(tmp_path))) as server,
    ):
        answer = await ask(server, "POST", {"use": "api", "key": KEY, "endpoint": api.url, "model": "m"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "rejected")
        assert "rejected the key (401): invalid x-api-key" in answer.json()["error"]["message"]
        assert KEY not in answer.text
        assert (await ask(server, "GET")).json()["connected"] is None
    assert not access_file(environment(tmp_path)).exists()


async def test_claude_is_detected_when_it_appears(tmp_path: Path):
    async with running(tmp_path, cli=CliChoice("", environment(tmp_path))) as server:
        assert (await ask(server, "GET")).json()["claude"] == {"installed": False, "signed_in": False}
        assert (await ask(server, "POST", {"use": "claude"})).status_code == 404
        program = tmp_path / "bin" / "claude"
        program.write_text("#!/bin/sh\necho '2.9.9 (Claude Code)'\n")
        program.chmod(0o755)
        assert (await ask(server, "GET")).json()["claude"] == {"installed": True, "signed_in": False}
        answer = (await ask(server, "POST", {"use": "claude"})).json()
        assert (answer["cli"]["kind"], answer["cli"]["version"]) == ("claude", "2.9.9")


@pytest.mark.parametrize(
    ("method", "scopes", "status"),
    [("GET", ("view",), 403), ("POST", ("prompt", "approve"), 403), ("DELETE", ("prompt", "approve"), 403)],
)
async def test_scopes(tmp_path: Path, method: str, scopes: tuple[str, ...], status: int):
    async with running(tmp_path, cli=CliChoice("", environment(tmp_path))) as server:
        body = None if method == "GET" else {"use": "claude"}
        assert (await ask(server, method, body, scopes)).status_code == status


async def test_server_with_another_cli_refuses(tmp_path: Path):
    async with running(tmp_path, cli=CliChoice("agent", environment(tmp_path))) as server:
        answer = await ask(server, "POST", {"use": "claude"})
        assert (answer.status_code, "--cli agent" in answer.json()["error"]["message"]) == (403, True)
        assert (await ask(server, "GET")).json()["ways"] == ["api"]


async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def test_one_key_is_checked_at_a_time(tmp_path: Path):
    async with running(tmp_path, cli=CliChoice("", environment(tmp_path))) as server:
        silent = await asyncio.start_server(never_answer, "127.0.0.1", 0)
        async with silent:
            url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
            body = {"use": "api", "key": KEY, "endpoint": url, "model": "m"}
            both = [asyncio.create_task(ask(server, "POST", body)) for _ in range(2)]
            done, waiting = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            assert [task.result().status_code for task in done] == [429]
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
