"""`handrail serve` as a person starts it: three lines, a link that opens, a quiet end, errors of one sentence."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.cli.main import main
from tests.cli.command import PATIENCE, at_a_terminal
from tests.cli.served import answers, serving


def test_three_lines_a_link_that_opens_an_answer_and_a_quiet_end(tmp_path: Path):
    with serving(tmp_path, "--json-logs") as server:
        assert len(server.lines) == 3
        assert server.lines[0].startswith("Handrail ")
        assert server.lines[1].startswith("Demo mode:")
        assert server.link.startswith(f"{server.address}/#link=")
        with server.browser() as client:
            assert server.lets_in(client)
            page = client.get("/")
            assert page.status_code == 200
            assert "default-src 'none'" in page.headers["content-security-policy"]
            events = asyncio.run(answers(server, client, tmp_path))
            secrets = [*client.cookies.values(), server.link.partition("#link=")[2]]
        assert [one["data"]["is_error"] for one in events if one["data"].get("type") == "result"] == [False]
        code, errors = server.ends()
    assert (code, [secret for secret in secrets if secret in errors]) == (0, [])


def test_a_link_is_good_once_and_there_are_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving(tmp_path, "--ccpocket", port=None) as server:
        assert server.lines[2].startswith("ccpocket: ws://127.0.0.1:")
        kept = tmp_path / "data" / "ccpocket-token"
        assert server.lines[2].endswith(f"/?token=*** with the token in {kept}")  # this is no terminal
        assert kept.read_text() not in "".join(server.lines)
        assert (tmp_path / "data" / "ccpocket-token").stat().st_mode & 0o777 == 0o600
        with server.browser() as one, server.browser() as two:
            assert (server.lets_in(one), server.lets_in(two)) == (True, False)
        assert main(["serve", "--link", "--data", str(tmp_path / "data")]) == 0
        server.link = capsys.readouterr().out.strip()
        with server.browser() as client:
            assert server.lets_in(client)
        assert main(["serve", "--port", "0", "--data", str(tmp_path / "data")]) == 1
        assert f"in use by process {server.process.pid}" in capsys.readouterr().err
        assert server.ends(signal.SIGINT)[0] == 0
    assert main(["serve", "--link", "--data", str(tmp_path / "data")]) == 1
    assert "no server is running in" in capsys.readouterr().err


def test_a_signal_that_comes_twice_at_once_ends_it_in_good_order(tmp_path: Path):
    with serving(tmp_path) as server:
        with server.browser() as client:
            assert server.lets_in(client)
            asyncio.run(answers(server, client, tmp_path))  # so that there is a process to end
        server.process.send_signal(signal.SIGTERM)
        assert server.ends() == (0, "")


def test_behind_a_proxy_the_outside_address_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving(tmp_path, "--name", "https://host.example/", "--seed-protocol") as server:
        assert server.address == "https://host.example"
        assert server.lines[2].startswith("ccpocket: wss://host.example/?token=")
        assert server.link.startswith("https://host.example/#link=")
        assert main(["serve", "--link", "--data", str(tmp_path / "data")]) == 0
        assert capsys.readouterr().out.startswith("https://host.example/#link=")
        assert main(["devices", "list", "--data", str(tmp_path / "data")]) == 0  # on this machine it needs no proxy
        assert "ccpocket" in capsys.readouterr().out


def test_a_port_in_use_is_one_sentence_that_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", "--data", str(tmp_path), "--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert (f"port {port} is in use" in said, len(said.splitlines())) == (True, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--host", "0.0.0.0"], 2, "from other machines"),
        (["--tls-cert", "cert.pem"], 2, "must be given together"),
        (["--root", "/no/such/folder"], 2, "is not a folder"),
        (["--name", "https://host.example/path"], 2, "invalid --name"),
        (["--cli", "/no/such/cli"], 1, "does not exist"),
        (
            ["--cli", "gemnii"],
            1,
            "no CLI is named 'gemnii'; choose claude, agent, an agent that",
        ),
        (["--cli", "/bin/true", "--prewarm", "1"], 1, "--prewarm works only with handrail-agent, not with /bin/true"),
        (["--prewarm", "9"], 2, "not in the range 0<=x<=8"),
        (["--prewarm", "1", "--no-run"], 2, "--prewarm needs sessions on this machine"),
        (["--host", "203.0.113.9", "--insecure"], 1, "cannot listen on"),
    ],
)
def test_invalid_options_are_reported_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
):
    assert main(["serve", "--data", str(tmp_path), "--port", "0", *arguments]) == code
    assert words in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_start_loads_nothing_heavy_that_it_does_not_need(tmp_path: Path):
    program = """
import sys
from handrail.bridge import server
from handrail.model_access import choice
from handrail.cli.main import main
main(["serve", "--link", "--data", sys.argv[1]])
print({"pydantic", "prometheus_client", "cryptography", "httpx2", "rich", "mcp"} & set(sys.modules))
"""
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.stdout == "set()\n", ended


def test_a_cluster_without_nats_says_what_to_install(tmp_path: Path):
    program = "import sys; sys.modules['nats'] = None; from handrail.cli.main import main; sys.exit(main(sys.argv[1:]))"
    address = ["--cluster", "nats://127.0.0.1:1"]
    command = [sys.executable, "-c", program, "serve", "--port", "0", "--data", tmp_path, *address]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1)
    assert "pip install 'handrail[nats]'" in ended.stderr


def test_a_token_a_qr_code_and_another_link_by_enter_at_a_terminal(tmp_path: Path):
    with at_a_terminal("serve", "--data", tmp_path, "--port", "0", "--qr", "--ccpocket") as screen:
        screen.shows("/?token=")
        screen.shows((tmp_path / "ccpocket-token").read_text())
        screen.shows("#link=")
        screen.shows("▄▄▄")
        screen.type("")
        screen.shows("Open http://127.0.0.1:")
        screen.press("\x03")
        assert screen.ends() == 0
