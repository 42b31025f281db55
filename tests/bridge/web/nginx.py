"""A real nginx in front of a server, with the configuration of docs/guides/proxy.md."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import socket
from collections.abc import AsyncGenerator
from pathlib import Path

from tests.architecture.repository import ROOT

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
GUIDE = ROOT / "docs" / "guides" / "proxy.md"
MAIN = """\
daemon off;
master_process off;
error_log stderr warn;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""


def site(outside: int, inside: int) -> str:
    """The example of the guide, with plain HTTP and the ports of a test."""
    [example] = re.findall(r"```nginx\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    example = re.sub(r"^ *(?:ssl_certificate|listen|server_name).*\n", "", example, flags=re.MULTILINE)
    return example.replace("server {", f"server {{\n    listen 127.0.0.1:{outside};").replace(":8787", f":{inside}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def configured(folder: Path, outside: int, inside: int) -> Path:
    """Write the configuration into a new folder."""
    folder.mkdir()
    path = folder / "nginx.conf"
    path.write_text(MAIN.format(folder=folder, site=site(outside, inside)))
    return path


@contextlib.asynccontextmanager
async def nginx(folder: Path, outside: int, inside: int) -> AsyncGenerator[None]:
    """Run nginx while the block runs."""
    assert NGINX is not None
    command = [NGINX, "-e", "stderr", "-c", str(configured(folder, outside, inside))]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(30):
            while not await answers(outside):
                assert process.returncode is None, (await process.communicate())[1].decode()
                await asyncio.sleep(0.05)  # nginx does not say when it listens
        yield
    finally:
        process.terminate()
        await process.communicate()


async def answers(port: int) -> bool:
    """Whether something listens on the port."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
