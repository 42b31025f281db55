"""The Agent Client Protocol on a socket of the server. Its scenarios are those of tests/acp, which run on it too."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
import websockets

from handrail.testing import Script, ScriptedMessagesApi, reply, text
from tests.acp.editor import a_server, editor_of, editor_on_socket
from tests.bridge.serving import Running, running

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


async def test_an_editor_on_the_socket_shares_a_session_with_another(tmp_path: Path):
    folder = tmp_path / "w"
    os.makedirs(folder)
    async with (
        ScriptedMessagesApi(Script([reply(text("One.")), reply(text("Two."))])) as api,
        asyncio.timeout(60),
        a_server(folder, api.url) as server,
        editor_on_socket(server, folder) as editor,
        editor_of(server, folder) as other,
    ):
        session = await editor.open()
        await other.resume(session)
        assert await editor.prompt(session, "first") == "end_turn"
        assert await other.prompt(session, "second") == "end_turn"
        await editor.until(lambda: editor.text() == "One.Two.")
        assert (editor.text("user_message_chunk"), other.text("user_message_chunk")) == ("second", "first")


@pytest.fixture
async def server(tmp_path: Path):
    async with running(tmp_path) as server:
        yield server


async def refusal(server: Running, **options: Any) -> tuple[int, str]:
    with pytest.raises(websockets.InvalidStatus) as caught:
        async with server.socket(path="/acp", subprotocols=None, **options):
            pass
    return caught.value.response.status_code, json.loads(caught.value.response.body or b"{}")["error"]["code"]


async def test_the_socket_is_guarded_like_the_others(server: Running):
    token = await server.token()
    assert await refusal(server) == (403, "no_origin")
    assert await refusal(server, token="a.b") == (401, "no_login")
    assert await refusal(server, token=token, origin="https://evil.example") == (403, "wrong_origin")
    assert await refusal(server, token=await server.token(["view"])) == (403, "forbidden")


async def test_a_message_is_a_frame_and_bad_ones_are_answered(server: Running):
    async with asyncio.timeout(30), server.socket(await server.token(), path="/acp", subprotocols=None) as socket:
        await socket.send(json.dumps(INITIALIZE, indent=2))
        assert json.loads(await socket.recv())["result"]["agentInfo"]["name"] == "handrail"
        for bad, code in [("{", -32700), ("[]", -32600), ("[1,2]", -32600), ('{"id":1}', -32600), ("7", -32600)]:
            await socket.send(bad)
            assert json.loads(await socket.recv())["error"]["code"] == code
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/list", "params": {}}))
        assert json.loads(await socket.recv())["result"]["sessions"] == []


async def test_a_message_that_is_too_large_closes_the_socket_and_no_other(server: Running):
    token = await server.token()
    async with asyncio.timeout(30), server.socket(token, path="/acp", subprotocols=None) as other:
        async with server.socket(token, path="/acp", subprotocols=None) as socket:
            await socket.send("x" * 1_100_000)
            with pytest.raises(websockets.ConnectionClosed):
                await socket.recv()
        await other.send(json.dumps(INITIALIZE))
        assert json.loads(await other.recv())["id"] == 0


async def test_a_revoked_device_loses_its_socket(server: Running):
    token = await server.token()
    async with asyncio.timeout(30), server.socket(token, path="/acp", subprotocols=None) as socket:
        await server.bridge.access.revoke(token.partition(".")[0])
        with pytest.raises(websockets.ConnectionClosed) as caught:
            await socket.recv()
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 4401
