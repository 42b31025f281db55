"""W37–W48: paths, ids, modes and cursors that should not be."""

from __future__ import annotations

import asyncio

from handrail.bridge.errors import AddressRefused
from handrail.bridge.web.http_server import check_address
from handrail.bridge.web_attacks.probe import PNG, GotThrough, Probe
from handrail.bridge.web_attacks.row import attack

__all__: list[str] = []

NOBODYS = "11111111-1111-1111-1111-111111111111"
ABSENT = "this server has nothing of the kind"
SILENT_SECONDS = 15.0


@attack("W37", "files outside a session's folder")
async def files_outside(probe: Probe) -> str:
    probe.expect(await probe.ask("GET", "/api/files?path=/etc/passwd"), 404, what="/api/files")
    sessions = (await probe.ask("GET", "/api/sessions?limit=1")).json["sessions"]
    if not sessions:
        return "no session to try it on"
    id, cwd = sessions[0]["id"], sessions[0]["cwd"]
    told: set[bytes] = set()
    for path in (
        "/etc/passwd",
        "/etc/there-is-no-such-file",
        "../..",
        "../no-such",
        f"{cwd}_evil/s",
        "/proc/self/environ",
    ):
        heard = await probe.ask("GET", f"/api/sessions/{id}/files?path={path}")
        told.add(probe.expect(heard, 403, what=path).body)
    if len(told) > 1:
        raise GotThrough("the answer tells whether a file is there")
    return ""


@attack("W38", "names of uploads that lead elsewhere")
async def upload_names(probe: Probe) -> None:
    for name in ("../../.ssh/authorized_keys", "/etc/x"):
        told = {
            "content_type": "image/png",
            "content_disposition": f'attachment; filename="{name}"',
            "x_filename": name,
        }
        heard = probe.expect(await probe.ask("POST", "/api/uploads", PNG, **told), 201, what=name)
        if name.encode() in heard.body or len(heard.json["id"]) != 36:
            raise GotThrough(f"the name {name} was used")
    for path in ("/api/uploads/..%2f..%2fetc%2fpasswd", "/api/uploads/%2e%2e"):
        probe.expect(await probe.ask("GET", path), 400, 404, what=path)


@attack("W39", "folders that are commands, options or elsewhere")
async def strange_folders(probe: Probe) -> None:
    for cwd in ('" && id && echo "pwned" # ', "$(id)", "-rf", "/proc/self/root", "/etc/passwd", "/", "a\x00b", ""):
        heard = await probe.command("start", cwd=cwd)
        probe.expect(heard, 400, 403, what=f"a session in {cwd!r}")


@attack("W40", "ids of sessions that are commands, options or paths")
async def strange_ids(probe: Probe) -> None:
    for id in (
        "x; id",
        "--dangerously-skip-permissions",
        "../../x",
        "x" * 300,
        "",
        "11111111-1111-1111-1111-11111111111G",
    ):
        probe.expect(await probe.command("resume", session=id), 400, what=f"the session {id[:20]!r}")
    for id in ("x;id", "--dangerously-skip-permissions", "..%2f..%2fx", "x" * 300):
        probe.expect(await probe.ask("GET", f"/api/sessions/{id}"), 400, 404, what=f"the session {id[:20]!r}")


@attack("W41", "bypassPermissions, chosen from afar")
async def bypass(probe: Probe) -> str:
    heard = await probe.command("set_permission_mode", session=NOBODYS, mode="bypassPermissions")
    if heard.status == 404:
        return "it was enabled when this server was started"
    probe.expect(heard, 403, what="bypassPermissions")
    return ""


@attack("W42", "a socket on which something else is said before hello, or nothing")
async def before_hello(probe: Probe) -> str:
    if (code := await probe.closing('{"type":"watch"}')) != 4400:
        raise GotThrough(f"it ended with {code}")
    if probe.patient:
        async with probe.socket() as socket:
            try:
                async with asyncio.timeout(SILENT_SECONDS):
                    await socket.wait_closed()
            except TimeoutError:
                raise GotThrough("silence is borne") from None
            if socket.close_code != 4401:
                raise GotThrough(f"silence ended with {socket.close_code}")
    return "" if probe.patient else "silence only with --patient"


@attack("W43", "cursors that are none")
async def strange_cursors(probe: Probe) -> None:
    for after in ("-1", "9e18", "abc", "9223372036854775808", "1.5", "0x10", "1&after=2"):
        heard = await probe.ask("GET", f"/api/sessions/{NOBODYS}/events?after={after}")
        probe.expect(heard, 400, what=f"after={after}")
    hello = '{"type":"hello","protocol":1}'
    for after in ("-1", "9e18", '"abc"', "1.5"):
        said = f'{{"type":"subscribe","session":"{NOBODYS}","after":{after}}}'
        if await probe.closing(hello, said) != 4400:
            raise GotThrough(f"subscribing after {after} was taken")


@attack("W44", "listening on all addresses without TLS", "asked of this package, not of the running server")
async def all_addresses(probe: Probe) -> None:
    for host in ("0.0.0.0", "::", "", "192.168.1.1", "example.com"):  # noqa: S104  they are to be refused
        try:
            check_address(host, secure=False)
        except AddressRefused:
            continue
        raise GotThrough(f"{host!r} would be listened on")


@attack("W45", "a proxy to somewhere else", ABSENT)
async def proxied(probe: Probe) -> None:
    for path in ("/proxy/test@evil.com/x", "/proxy/8080/", "/preview/80"):
        probe.expect(await probe.ask("GET", path), 404, what=path)


@attack("W46", "line breaks for the log", "that the log stays whole is tested with the log")
async def line_breaks(probe: Probe) -> None:
    probe.expect(await probe.ask("GET", "/a%0d%0ab", user_agent="a%0d%0ab"), 404, 400, what="a path with a line break")
    heard = await probe.raw(f"GET /a\rb HTTP/1.1\r\nHost: {probe.host}\r\n\r\n".encode())
    probe.expect(heard, 400, what="a bare line break")
    heard = await probe.ask("GET", "/?x=%0d%0aset-cookie:%20a=b", token="")
    if "set-cookie" in heard.headers:
        raise GotThrough("a header came out of an address")


@attack("W47", "commands in settings", ABSENT)
async def settings(probe: Probe) -> None:
    for path in ("/api/config", "/api/settings", "/api/git/config", "/api/user/git-config", "/api/upgrade"):
        probe.expect(await probe.ask("POST", path, {"gitName": "$(id)"}), 404, what=path)


@attack("W48", "what a device that may only look is told of this machine")
async def told_of_machine(probe: Probe) -> None:
    token = await probe.device("view")
    listed = (await probe.ask("GET", "/api/sessions", token=token)).json["sessions"]
    if found := [one["cwd"] for one in listed if "/" in one["cwd"]]:
        raise GotThrough(f"it is told of {found[0]}")
    async with probe.socket(token) as socket:
        await socket.send('{"type":"hello","protocol":1}')
        if b"/" in str(await socket.recv()).encode():
            raise GotThrough("hello tells of paths")
    for path in ("/api/audit", "/metrics", "/api/devices"):
        probe.expect(await probe.ask("GET", path, token=token), 403, what=path)
