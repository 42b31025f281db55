"""The tables of the ccpocket protocol, against a real `handrail serve` process with the embedded agent.

The client and this file import nothing of the package. Every message type is sent or received with all its fields. The
last tests concern the login of clients that can only set a URL.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import websockets

from tests.bridge.web.dialects.ccpocket_client import CLIENT, EXTENSIONS, SERVER, STATUSES, TIMEOUT, connected

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    "multiSelect": False,
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mPQqzUCAAG6AN76d2wkAAAAAElFTkSuQmCC"


def bash(command: str) -> dict[str, Any]:
    return {"type": "tool_use", "name": "Bash", "input": {"command": command, "description": command}}


def tool(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": input}


REPLIES: list[list[dict[str, Any]]] = [
    [{"type": "thinking", "thinking": "Files."}, {"type": "text", "text": "I make them."}, bash("touch one")],
    [bash("touch two")],
    [bash("touch three")],
    [bash("touch three")],
    [bash("rm -r four")],
    [bash("rm -r four")],
    [tool("Read", file_path="a.txt"), tool("Read", file_path="b.txt"), tool("Read", file_path="dot.png")],
    [tool("AskUserQuestion", questions=[QUESTION])],
    [{"type": "text", "text": "All done."}],
]
"""The model's replies in every session."""

# The names of the option, the token file and the device of this protocol.
OPTION, TOKEN_FILE, DEVICE, KIND = "--ccpocket", "ccpocket-token", "ccpocket", "ccpocket"


class Server:
    """A `handrail serve` process. `url` includes the token; it is empty without the option."""

    def __init__(self, process: subprocess.Popen[str], lines: list[str], folder: Path) -> None:
        self.process, self.folder = process, folder
        self.address = lines[0].split()[3]
        self.plain = f"{self.address.replace('http', 'ws', 1)}/"
        wanted = any(line.startswith(f"{DEVICE}: ") for line in lines)
        self.token = (folder.parent / "data" / TOKEN_FILE).read_text() if wanted else ""
        self.url = f"{self.plain}?token={self.token}" if wanted else ""
        self._link = lines[-1].partition("#link=")[2]

    @contextmanager
    def owner(self) -> Iterator[httpx2.Client]:
        """A browser with all scopes, logged in by the link."""
        with httpx2.Client(base_url=self.address, headers={"origin": self.address}, verify=False) as client:
            assert client.post("/api/login", json={"link": self._link}).status_code == 200
            yield client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("ccpocket"), OPTION) as server:
        yield server


@contextmanager
def serving(base: Path, *arguments: str, replies: list[list[dict[str, Any]]] = REPLIES) -> Iterator[Server]:
    folder = base / "work"
    folder.mkdir(exist_ok=True)
    (base / "script.json").write_text(json.dumps({"replies": [{"blocks": blocks} for blocks in replies]}))
    (folder / "a.txt").write_text("first")
    (folder / "b.txt").write_text("second")
    (folder / "dot.png").write_bytes(base64.b64decode(PIXEL))
    given = ["--data", str(base / "data"), "--root", str(folder), "--port", "0", "--cli", "agent", *arguments]
    environment = {"HOME": str(base), "PATH": "/usr/bin:/bin", "HANDRAIL_SCRIPT": str(base / "script.json")}
    with (base / "errors").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "handrail.cli", "serve", *given],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        )
    lines: list[str] = []
    try:
        assert process.stdout is not None
        while not (lines and lines[-1].startswith("Open ")):
            lines.append(process.stdout.readline().rstrip("\n"))
            assert lines[-1], (base / "errors").read_text()
        yield Server(process, lines, folder)
        process.terminate()
        assert process.wait(TIMEOUT) == 0
    finally:
        process.kill()
        process.communicate()


async def test_every_message_of_the_tables_is_exchanged(server: Server):
    async with connected(server.url) as client:
        folder = str(server.folder)
        (server.folder / "four").mkdir()
        session = await client.start(folder, permissionMode="default")
        here = {"sessionId": session}
        await client.send("input", text="Make files.", **here)
        asked = await client.until("permission_request")
        await client.send("approve", id=asked["toolUseId"], **here)
        asked = await client.until("permission_request")
        await client.send("reject", id=asked["toolUseId"], message="One is enough.", **here)
        rejected = await client.until("tool_result", toolUseId=asked["toolUseId"])
        assert "One is enough." in rejected["content"]
        for command in ("touch three", "rm -r four"):  # with a suggested rule, and without; each is called twice
            asked = await client.until("permission_request")
            assert asked["input"]["command"] == command
            await client.send("approve_always", id=asked["toolUseId"], **here)
        asked = await client.until("permission_request")
        assert asked["toolName"] == "AskUserQuestion"
        await client.send("answer", toolUseId=asked["toolUseId"], result="Blue", **here)
        answered = await client.until("tool_result", toolUseId=asked["toolUseId"])
        assert "Blue" in answered["content"]
        assert (await client.until("result"))["result"] == "All done."
        assert client.of("error") == []

        (row,) = (await client.ask("list_sessions", "session_list"))["sessions"]
        assert (row["id"], row["projectPath"], row["status"]) == (session, folder, "idle")
        (row,) = (await client.ask("list_recent_sessions", "recent_sessions", limit=5))["sessions"]
        assert (row["sessionId"], row["projectPath"]) == (session, folder)
        history = (await client.ask("get_history", "history", **here))["messages"]
        assert {"assistant", "tool_result", "result", "permission_request", "status"} <= {
            one["type"] for one in history
        }
        await client.send("stop_session", **here)
        await client.until("result", subtype="stopped")
        await client.send("resume_session", sessionId=session, projectPath=folder, permissionMode="plan")
        created = await client.until("system", subtype="session_created")
        assert (created["sessionId"], created["permissionMode"]) == (session, "plan")
        await client.send("start", projectPath=folder, **here)
        await client.until("system", subtype="session_created", sessionId=session)
        await client.send("start", projectPath=folder, **{"continue": True})
        await client.until("system", subtype="session_created", sessionId=session)
        assert (await client.ask("approve", "error", id="toolu_unknown", **here))["message"]
        await client.quiet()

    assert client.sent == {type: {*required, *optional} for type, (required, optional) in CLIENT.items()}
    assert {one["type"] for one in client.seen} == {*SERVER, *EXTENSIONS} - {"input_ack"}
    assert {one["status"] for one in client.of("status")} == STATUSES
    assert {"init", "session_created"} <= {one["subtype"] for one in client.of("system")}
    for type, (_, optional) in SERVER.items():
        fields = {field for one in [*client.seen, *history] if one["type"] == type for field in one}
        assert set(optional) - {"error"} <= fields, type
    results = client.of("tool_result")
    assert len({one["toolUseId"] for one in results}) == 10  # three of them from one message
    assert ["first" in results[6]["content"], "second" in results[7]["content"]] == [True, True]
    (image,) = results[8]["images"]
    assert image["url"] == f"data:image/png;base64,{PIXEL}"
    assert [(server.folder / name).exists() for name in ("one", "two", "three", "four")] == [True, False, True, False]


async def test_failed_turn_has_an_error(tmp_path: Path):
    crash = [{"type": "text", "text": "Half", "unfinished": True}, {"type": "hang"}]
    with serving(tmp_path, OPTION, replies=[crash]) as server:
        async with connected(server.url) as client:
            session = await client.start(server.folder)
            await client.send("input", text="Go.")
            await client.until("stream_delta")
            async with connected(server.url) as other:
                await other.send("stop_session", sessionId=session)
                await other.until("result", subtype="stopped")
            result = await client.until("result")
            assert result["subtype"] == "error_during_execution"
            assert isinstance(result["error"], str)


async def test_session_goes_on_over_a_new_socket_for_each_message(server: Server):
    async with connected(server.url) as client:
        session = await client.start(server.folder)
    here = {"sessionId": session}
    async with connected(server.url) as client:
        await client.send("input", text="Make files.", **here)
        asked = await client.until("permission_request")
    while asked["toolName"] == "Bash":
        async with connected(server.url) as client:
            await client.send("reject", id=asked["toolUseId"], **here)
            assert (await client.until("tool_result"))["toolUseId"] == asked["toolUseId"]
            asked = await client.until("permission_request")
    async with connected(server.url) as client:
        await client.send("answer", toolUseId=asked["toolUseId"], result="Red", **here)
        assert "Red" in (await client.until("tool_result"))["content"]
        assert (await client.until("result"))["result"] == "All done."


async def status_of(url: str, **options: Any) -> int:
    """The HTTP status of a WebSocket handshake."""
    try:
        async with websockets.connect(url, proxy=None, **options):
            return 101
    except websockets.InvalidStatus as refused:
        return refused.response.status_code


async def test_token_in_the_url_is_valid_for_this_protocol_only(server: Server):
    bearer = {"Authorization": f"Bearer {server.token}"}
    native: Any = {"subprotocols": ["handrail.v1"]}
    assert await status_of(server.url) == 101
    assert await status_of(server.plain, additional_headers=bearer) == 101
    assert await status_of(server.plain) in (401, 403)
    assert await status_of(f"{server.plain}?token={server.token[:-1]}x") == 401
    assert await status_of(server.url, origin="https://other.example") == 403
    assert await status_of(f"{server.plain}ws?token={server.token}", **native) == 401
    assert await status_of(f"{server.plain}ws", additional_headers=bearer, **native) == 403
    async with httpx2.AsyncClient(base_url=server.address, verify=False) as client:
        for path in ("/api/sessions", "/api/usage", "/api/devices", "/metrics"):
            assert (await client.get(path, headers=bearer)).status_code == 403, path
            assert (await client.get(path, params={"token": server.token})).status_code == 401, path
        start = {"id": "1", "command": "start", "fields": {"cwd": str(server.folder)}}
        for path, body in (("/api/tickets", {}), ("/api/commands", start)):
            assert (await client.post(path, headers=bearer, json=body)).status_code == 403, path


async def test_program_logs_in_by_a_header_with_its_own_scopes(server: Server):
    with server.owner() as owner:
        made = owner.post("/api/devices", json={"name": "desk", "scopes": ["prompt"]}).json()
        async with connected(server.plain, made["token"]) as client:
            session = await client.start(server.folder)
            await client.send("input", text="Make files.")
            asked = await client.until("permission_request")
            error = await client.ask("approve", "error", id=asked["toolUseId"])
            assert error["errorCode"] == "forbidden"
            async with connected(server.url) as phone:  # has the scope `approve`
                await phone.send("resume_session", sessionId=session, projectPath=str(server.folder))
                shown = await phone.until("permission_request")
                await phone.send("reject", id=shown["toolUseId"])
                closed = await client.until("system", subtype="permission_resolved")
                assert (closed["toolUseId"], closed["by"]) == (asked["toolUseId"], DEVICE)
        listed = {one["name"]: one for one in owner.get("/api/devices").json()["devices"]}
        assert (listed[DEVICE]["kind"], listed[DEVICE]["scopes"]) == (KIND, ["approve", "prompt"])


async def test_revoked_token_is_cut_off_and_never_logged(tmp_path: Path):
    with serving(tmp_path, OPTION, "--json-logs") as server, server.owner() as owner:
        assert (tmp_path / "data" / TOKEN_FILE).stat().st_mode & 0o777 == 0o600
        first = server.token
        (device,) = [one for one in owner.get("/api/devices").json()["devices"] if one["kind"] == KIND]
        async with websockets.connect(server.url, proxy=None) as socket:
            assert owner.delete(f"/api/devices/{device['id']}").status_code == 200
            async with asyncio.timeout(TIMEOUT):
                with pytest.raises(websockets.ConnectionClosed) as closed:
                    await socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
        assert closed.value.rcvd.reason == "this device was revoked"
        assert await status_of(server.url) == 401
    logged = (tmp_path / "errors").read_text()
    with serving(tmp_path, OPTION, "--json-logs") as server:  # a restart creates a new token
        assert server.token != first
        assert [await status_of(f"{server.plain}?token={one}") for one in (first, server.token)] == [401, 101]
        second = server.token
    with serving(tmp_path, "--json-logs") as server:  # without the option no token in a URL is valid
        assert server.url == ""
        assert await status_of(f"{server.plain}?token={second}") == 401
        assert await status_of(server.plain, additional_headers={"Authorization": f"Bearer {second}"}) == 403
    logged += (tmp_path / "errors").read_text()
    assert not [secret for secret in (first, second) if secret in logged]


def test_this_file_does_not_import_the_package():
    source = Path(__file__).read_text()
    assert re.findall(r"^\s*(?:from|import) +handrail", source, re.MULTILINE) == []
