"""The two tables of the early bridge protocol, kept by a real `handrail serve`; this file imports nothing of its own.

Each type that a client may say is said, each that a server may say is seen, with all its fields and their types. Then
the login of those who can only set a URL: what it opens, what it does not, and how it ends.
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

from tests.bridge.web.dialects.seed_client import PATIENCE, SeedClient, connected

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
    [tool("Read", file_path="a.txt"), tool("Read", file_path="b.txt"), tool("Read", file_path="dot.png")],
    [tool("AskUserQuestion", questions=[QUESTION])],
    [{"type": "text", "text": "All done."}],
]
"""What the model of every session says, in turn."""

# By type: the fields that must be there, and those that may.
SERVER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "system": ({"subtype": str}, {"sessionId": str, "model": str}),
    "assistant": ({"message": dict}, {}),
    "tool_result": ({"toolUseId": str, "content": str}, {"toolName": str, "images": list}),
    "result": (
        {"subtype": str},
        {"result": str, "error": str, "cost": (int, float), "duration": (int, float), "sessionId": str},
    ),
    "error": ({"message": str}, {}),
    "status": ({"status": str}, {}),
    "history": ({"messages": list}, {}),
    "permission_request": ({"toolUseId": str, "toolName": str, "input": dict}, {}),
    "stream_delta": ({"text": str}, {}),
    "thinking_delta": ({"text": str}, {}),
}
LISTS = {"session_list": ({"sessions": list}, {}), "recent_sessions": ({"sessions": list}, {})}
CLIENT = {
    "start": "projectPath sessionId continue permissionMode",
    "input": "text sessionId",
    "approve": "id sessionId",
    "approve_always": "id sessionId",
    "reject": "id message sessionId",
    "answer": "toolUseId result sessionId",
    "list_sessions": "",
    "stop_session": "sessionId",
    "get_history": "sessionId",
    "list_recent_sessions": "limit",
    "resume_session": "sessionId projectPath permissionMode",
}


class Server:
    """A server in a process of its own. `url` is what a client that can only set a URL is given."""

    def __init__(self, process: subprocess.Popen[str], lines: list[str], folder: Path) -> None:
        self.process, self.folder = process, folder
        self.address = lines[0].split()[3]
        self.plain = f"{self.address.replace('http', 'ws', 1)}/"
        wanted = any(line.startswith("ccpocket: ") for line in lines)
        self.token = (folder.parent / "data" / "ccpocket-token").read_text() if wanted else ""
        self.url = f"{self.plain}?token={self.token}" if wanted else ""
        self._link = lines[-1].partition("#link=")[2]

    @contextmanager
    def owner(self) -> Iterator[httpx2.Client]:
        """A browser that opens the link: it may all."""
        with httpx2.Client(base_url=self.address, headers={"origin": self.address}, verify=False) as client:
            assert client.post("/api/login", json={"link": self._link}).status_code == 200
            yield client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("seed"), "--ccpocket") as server:
        yield server


@contextmanager
def serving(base: Path, *arguments: str) -> Iterator[Server]:
    folder = base / "work"
    folder.mkdir(exist_ok=True)
    (base / "script.json").write_text(json.dumps({"replies": [{"blocks": blocks} for blocks in REPLIES]}))
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
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()


class Said(SeedClient):
    """A client that notes which types and fields it has said."""

    said: dict[str, set[str]]

    async def send(self, type: str, **fields: Any) -> None:
        self.said = getattr(self, "said", {})
        self.said.setdefault(type, set()).update(fields)
        await super().send(type, **fields)


async def test_every_type_of_both_tables_is_spoken_with_all_its_fields(server: Server):
    async with websockets.connect(server.url, max_size=None, proxy=None) as socket:
        client, folder = Said(socket), str(server.folder)
        session = await client.start(folder, permissionMode="default")
        here = {"sessionId": session}
        await client.send("input", text="Make files.", **here)
        asked = await client.until("permission_request")
        await client.send("approve", id=asked["toolUseId"], **here)
        asked = await client.until("permission_request")
        await client.send("reject", id=asked["toolUseId"], message="One is enough.", **here)
        asked = await client.until("permission_request")
        await client.send("approve_always", id=asked["toolUseId"], **here)
        asked = await client.until("permission_request", toolName="AskUserQuestion")
        await client.send("answer", toolUseId=asked["toolUseId"], result="Blue", **here)
        assert (await client.until("result"))["result"] == "All done."

        (row,) = (await client.ask("list_sessions", "session_list"))["sessions"]
        assert (row["id"], row["projectPath"], row["status"]) == (session, folder, "idle")
        (row,) = (await client.ask("list_recent_sessions", "recent_sessions", limit=5))["sessions"]
        assert (row["sessionId"], row["projectPath"]) == (session, folder)
        assert (await client.ask("get_history", "history", **here))["messages"]
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

    assert {type: fields.split() for type, fields in CLIENT.items() if fields.split()} == {
        type: [one for one in CLIENT[type].split() if one in fields] for type, fields in client.said.items() if fields
    }
    assert {one["type"] for one in client.seen} == {*SERVER, *LISTS}
    history = [one for message in client.of("history") for one in message["messages"]]
    for message in [*client.seen, *history]:
        check(message)
    assert {one["status"] for one in client.of("status")} == {"idle", "running", "waiting_approval"}
    assert {"init", "session_created"} <= {one["subtype"] for one in client.of("system")}
    for type, (_, optional) in SERVER.items():
        told = {field for one in [*client.seen, *history] if one["type"] == type for field in one}
        assert set(optional) - {"error"} <= told, type
    results = client.of("tool_result")
    assert len({one["toolUseId"] for one in results}) == 7  # three of them of one message
    assert ["first" in results[3]["content"], "second" in results[4]["content"]] == [True, True]
    (image,) = results[5]["images"]
    assert image["url"] == f"data:image/png;base64,{PIXEL}"
    assert [(server.folder / name).exists() for name in ("one", "two", "three")] == [True, False, True]


def check(message: dict[str, Any]) -> None:
    """All that must be there is there; what may be there is of its type."""
    needed, optional = {**SERVER, **LISTS}[message["type"]]
    assert set(needed) <= set(message), message
    for name, kind in {**needed, **optional}.items():
        assert name not in message or isinstance(message[name], kind), message
    if message["type"] == "assistant":
        assert isinstance(message["message"]["content"], list)
    if message["type"] == "status":
        assert message["status"] in ("idle", "running", "waiting_approval")


async def status_of(url: str, **options: Any) -> int:
    """How the server answers who wants a socket: 101, or why not."""
    try:
        async with websockets.connect(url, proxy=None, **options):
            return 101
    except websockets.InvalidStatus as refused:
        return refused.response.status_code


async def test_a_token_in_the_url_is_for_this_protocol_alone(server: Server):
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


async def test_a_program_logs_in_by_a_header_with_its_own_scopes(server: Server):
    with server.owner() as owner:
        made = owner.post("/api/devices", json={"name": "desk", "scopes": ["prompt"]}).json()
        async with connected(server.plain, made["token"]) as client:
            session = await client.start(server.folder)
            await client.send("input", text="Make files.")
            asked = await client.until("permission_request")
            error = await client.ask("approve", "error", id=asked["toolUseId"])
            assert error["errorCode"] == "forbidden"
            async with websockets.connect(server.url, max_size=None, proxy=None) as socket:
                phone = SeedClient(socket)  # it may
                await phone.send("resume_session", sessionId=session, projectPath=str(server.folder))
                shown = await phone.until("permission_request")
                await phone.send("reject", id=shown["toolUseId"])
                closed = await client.until("system", subtype="permission_resolved")
                assert (closed["toolUseId"], closed["by"]) == (asked["toolUseId"], "ccpocket")
        listed = {one["name"]: one for one in owner.get("/api/devices").json()["devices"]}
        assert (listed["ccpocket"]["kind"], listed["ccpocket"]["scopes"]) == ("ccpocket", ["approve", "prompt"])


async def test_a_revoked_token_is_out_at_once_and_stands_in_no_log(tmp_path: Path):
    with serving(tmp_path, "--ccpocket", "--json-logs") as server, server.owner() as owner:
        assert (tmp_path / "data" / "ccpocket-token").stat().st_mode & 0o777 == 0o600
        first = server.token
        (device,) = [one for one in owner.get("/api/devices").json()["devices"] if one["kind"] == "ccpocket"]
        async with websockets.connect(server.url, proxy=None) as socket:
            assert owner.delete(f"/api/devices/{device['id']}").status_code == 200
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(websockets.ConnectionClosed) as closed:
                    await socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
        async with websockets.connect(server.url, proxy=None) as socket:
            await socket.wait_closed()
            assert (socket.close_code, socket.close_reason) == (4401, "this device was revoked")
    logged = (tmp_path / "errors").read_text()
    with serving(tmp_path, "--ccpocket", "--json-logs") as server:  # who starts it again gets a new one
        assert server.token != first
        async with websockets.connect(f"{server.plain}?token={first}", proxy=None) as socket:
            await socket.wait_closed()
            assert (socket.close_code, socket.close_reason) == (4401, "this device was revoked")
        second = server.token
    with serving(tmp_path, "--json-logs") as server:  # it was not asked for: no token in an address is good
        assert server.url == ""
        assert await status_of(f"{server.plain}?token={second}") == 401
        assert await status_of(server.plain, additional_headers={"Authorization": f"Bearer {second}"}) == 403
    logged += (tmp_path / "errors").read_text()
    assert not [secret for secret in (first, second) if secret in logged]


def test_nothing_here_knows_the_package():
    source = Path(__file__).read_text()
    assert re.findall(r"^\s*(?:from|import) +handrail", source, re.MULTILINE) == []
