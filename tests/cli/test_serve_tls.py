"""`handrail serve` with a certificate, and beyond this machine: as a person starts it."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from pathlib import Path

import httpx2
import pytest
import websockets

from handrail.bridge.server import Bridge, serve
from handrail.bridge.web.http_server import listen
from handrail.cli.main import main
from handrail.cli.serve import _names
from tests.bridge.certificate import own_certificate
from tests.bridge.serving import configuration
from tests.cli.command import PATIENCE
from tests.cli.served import Server, serving


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


async def hello(server: Server, certificate: Path, cookie: str, ticket: str, origin: str) -> str:
    """What is heard first on a socket of a page."""
    offered = [websockets.Subprotocol("handrail.v1"), websockets.Subprotocol(f"ticket.{ticket}")]
    async with (
        asyncio.timeout(PATIENCE),
        websockets.connect(
            f"{server.address.replace('http', 'ws', 1)}/ws",
            ssl=trusting(certificate),
            subprotocols=offered,
            origin=websockets.Origin(origin),
            additional_headers={"cookie": cookie},
        ) as wire,
    ):
        await wire.send('{"type":"hello","protocol":1}')
        return str(await wire.recv())


def test_over_tls_the_link_opens_the_cookie_is_bound_to_it_and_sockets_are_wss(tmp_path: Path):
    certificate, key = own_certificate(tmp_path)
    with serving(tmp_path, "--tls-cert", certificate, "--tls-key", key) as server:
        assert server.address.startswith("https://127.0.0.1:")
        assert server.link.startswith(f"{server.address}/#link=")
        port = server.address.rpartition(":")[2]
        with httpx2.Client(
            base_url=server.address, headers={"origin": server.address}, verify=trusting(certificate)
        ) as client:
            link = {"link": server.link.partition("#link=")[2]}
            plain = {"origin": server.address.replace("https", "http")}
            assert client.post("/api/login", json=link, headers=plain).status_code == 403
            assert client.get("/", headers={"host": f"evil.example:{port}"}).status_code == 421
            answer = client.post("/api/login", json=link)
            assert answer.headers["set-cookie"].startswith(f"__Host-handrail-{port}=")
            assert {"Secure", "HttpOnly", "SameSite=strict"} <= set(answer.headers["set-cookie"].split("; "))
            cookie = answer.headers["set-cookie"].partition(";")[0]
            tickets = [client.post("/api/tickets", json={}).json()["ticket"] for _ in range(2)]
        assert '"type":"hello"' in asyncio.run(hello(server, certificate, cookie, tickets[0], server.address))
        with pytest.raises(websockets.InvalidStatus):
            asyncio.run(hello(server, certificate, cookie, tickets[1], server.address.replace("https", "http")))
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(server.address.replace("https", "http"))
        assert server.ends()[0] == 0


async def test_beyond_this_machine_it_is_reached_by_the_names_it_prints(tmp_path: Path):
    """The link names the machine; whoever calls it by its number is let in too, by another name nobody."""
    certificate, key = own_certificate(tmp_path)
    everywhere = "0.0.0.0"
    names = _names(everywhere, [])
    fields = {"host": everywhere, "names": names, "certificate": certificate, "key": key}
    with listen("127.0.0.1", 0, 1) as listener:  # as if on all addresses: tests stay on this machine
        port = listener.getsockname()[1]
        told = configuration(tmp_path, port=port, **fields)
        assert told.address == f"https://{socket.gethostname()}:{port}"
        address = f"https://127.0.0.1:{port}"
        async with serve(Bridge(told), listener=listener), httpx2.AsyncClient(verify=trusting(certificate)) as client:
            hosts = (f"{socket.gethostname()}:{port}", f"127.0.0.1:{port}", f"0.0.0.0:{port}", "evil.example")
            answers = [await client.get(f"{address}/api/health", headers={"host": host}) for host in hosts]
    assert [answer.status_code for answer in answers] == [200, 200, 421, 421]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("box.example:443", "http://box.example:443"),
        ("box.example", "http://box.example:8787"),
        ("[fd00::1]", "http://[fd00::1]:8787"),
        ("https://box.example/", "https://box.example"),
        ("https://box.example:8443", "https://box.example:8443"),
    ],
)
def test_a_name_is_printed_as_it_was_given(tmp_path: Path, name: str, address: str):
    assert configuration(tmp_path, port=8787, names=_names("127.0.0.1", [name])).address == address


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--tls-cert", "{folder}/none.pem", "--tls-key", "{folder}/key.pem"], 1, "none.pem cannot be read"),
        (["--tls-cert", "{folder}/key.pem", "--tls-key", "{folder}/key.pem"], 1, "not a PEM file of the expected kind"),
        (["--tls-cert", "{folder}/certificate.pem", "--tls-key", "{folder}"], 1, "Is a directory"),
        (["--tls-key", "{folder}/key.pem"], 2, "must be given together"),
        (["--host", "::"], 2, "from other machines"),
        (["--host", ""], 2, "every address is reachable from other machines"),
        (["--host", "\xe9" * 70, "--insecure"], 1, "not a valid host name"),
        (["--name", "https://box.example/path"], 2, "invalid --name"),
    ],
)
def test_invalid_options_are_one_sentence_and_nothing_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
):
    own_certificate(tmp_path)
    given = [one.format(folder=tmp_path) for one in arguments]
    assert main(["serve", "--data", str(tmp_path / "data"), "--port", "0", *given]) == code
    said = capsys.readouterr().err
    assert words in " ".join(said.replace("│", " ").split())
    assert code == 2 or len(said.splitlines()) == 1
    assert not (tmp_path / "data" / "handrail.db").exists()


def test_phone_gets_a_link_with_an_address_it_can_reach(tmp_path: Path):
    with serving(tmp_path, "--phone", PATH="/usr/bin:/bin") as server:
        text = "\n".join(server.lines)
        (shown,) = [line for line in server.lines if line.startswith("On your phone, scan this code or open ")]
        link = shown.rpartition(" ")[2]
        host = link.partition("//")[2].partition(":")[0]
        assert not ipaddress.ip_address(host).is_loopback
        assert server.lines[-1].startswith("Open https://localhost:")
        assert "\u2588" in text
        assert (tmp_path / "data" / "phone-key.pem").stat().st_mode & 0o777 == 0o600
        known = trusting(tmp_path / "data" / "phone-certificate.pem")
        address = link.partition("/#")[0].replace(host, "127.0.0.1")  # tests stay on this machine
        with httpx2.Client(base_url=address, headers={"origin": address}, verify=known) as client:
            assert client.post("/api/login", json={"link": link.partition("#link=")[2]}).status_code == 200
            phone = client.get("/api/phone").json()
            assert (phone["address"], phone["fingerprint"] in text) == (link.partition("/#")[0], True)
            made = client.post("/api/links", json={"page": address}).json()
            assert made["page"] == phone["address"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--phone", "--host", "0.0.0.0"], "--phone chooses address and certificate"),
        (["--host", "0.0.0.0"], "use --phone, which makes a certificate"),
    ],
)
def test_flags_that_leave_something_out_say_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], says: str
):
    assert main(["serve", "--data", str(tmp_path), *flags]) == 2
    assert says in " ".join(capsys.readouterr().err.replace("│", " ").split())
