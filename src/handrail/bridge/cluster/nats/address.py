"""Addresses of NATS servers, and the TLS settings used to reach them.

An address never contains a secret. Credentials live in a file that only its owner can read (see `credentials.py`).
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from handrail.bridge.addresses import is_loopback
from handrail.bridge.errors import ClusterRefused

__all__ = ["PORT", "Address", "parse_address", "tls_context"]

PORT: Final = 4222
MAX_SERVERS: Final = 32
_SERVER: Final = re.compile(
    r"((?P<scheme>[a-z]+)://)?(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?/?"
)


class Address(Struct, frozen=True, kw_only=True):
    """How to reach a cluster of NATS servers.

    servers      nats://HOST:PORT or tls://HOST:PORT; the client connects to any one of them
    credentials  file with an NKey seed, a JWT and its seed, or user:password
    ca           CA certificates that sign the servers' certificates; default: the system's trust store
    certificate  client certificate of this machine, with its `key`
    """

    servers: tuple[str, ...]
    credentials: Path | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @property
    def secure(self) -> bool:
        """Whether TLS is required: the client sends nothing to a server that does not offer it."""
        return self.ca is not None or all(server.startswith("tls://") for server in self.servers)

    @property
    def shown(self) -> str:
        """The servers as a comma-separated list, for messages."""
        return ", ".join(self.servers)


def parse_address(
    url: str,
    *,
    credentials: Path | None = None,
    ca: Path | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    insecure: bool = False,
) -> Address:
    """Parse a comma-separated list of servers.

    `insecure` allows remote servers without TLS. Raises ClusterRefused if the address is invalid or not allowed.
    """
    servers = [_parse_server(part.strip()) for part in url.split(",") if part.strip()]
    if not servers or len(servers) > MAX_SERVERS:
        raise ClusterRefused(
            f"expected 1 to {MAX_SERVERS} NATS servers, got {len(servers)}; "
            f"write them as nats://host1:{PORT},nats://host2:{PORT}"
        )
    if (certificate is None) != (key is None):
        raise ClusterRefused("a client certificate and its key must be given together")
    address = Address(
        servers=tuple(server for server, _ in servers), credentials=credentials, ca=ca, certificate=certificate, key=key
    )
    remote = [host for _, host in servers if not is_loopback(host)]
    if remote and not (address.secure or insecure):
        raise ClusterRefused(
            f"{remote[0]} is a remote host, and without TLS anyone on the network can read the traffic; "
            "use tls://, name a CA certificate, or allow an insecure connection if the network is private"
        )
    return address


def _parse_server(text: str) -> tuple[str, str]:
    """Return the server's normalized URL and its host. Errors never quote the text: it may contain a secret."""
    if "@" in text or "?" in text or "#" in text:
        raise ClusterRefused(
            "a NATS address must not contain a user, password, token or query; put credentials in a file"
        )
    match = _SERVER.fullmatch(text)
    if match is None:
        raise ClusterRefused(f"invalid NATS address; write nats://HOST:PORT or tls://HOST:PORT, e.g. nats://box:{PORT}")
    scheme, port = match["scheme"] or "nats", int(match["port"] or PORT)
    if scheme not in ("nats", "tls"):
        raise ClusterRefused(f"unsupported scheme {scheme}://; use nats:// or tls://")
    if not 0 < port < 65536:
        raise ClusterRefused(f"invalid port {port}; use 1 to 65535")
    return f"{scheme}://{match['host']}:{port}", match["host"].strip("[]")


def tls_context(address: Address) -> ssl.SSLContext | None:
    """The client's TLS context, or None if TLS was not asked for. Raises ClusterRefused if a file is unusable."""
    if not address.secure and address.certificate is None:
        return None
    try:
        context = ssl.create_default_context(cafile=address.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if address.certificate is not None:
            context.load_cert_chain(address.certificate, address.key)
    except (OSError, ValueError) as error:
        files: Sequence[Path | None] = (address.ca, address.certificate, address.key)
        named = ", ".join(str(file) for file in files if file is not None)
        raise ClusterRefused(f"{named}: {getattr(error, 'strerror', None) or error}") from None
    return context
