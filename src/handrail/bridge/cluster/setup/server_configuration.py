"""Configuration files of the NATS servers of a cluster, as text. Pure.

Each server gets a folder that is copied to its machine. Paths are relative, so the server must be started in that
folder. nats.conf contains no secrets: users are listed by public key, and the password that the servers share is in a
separate file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from handrail.bridge.addresses import is_loopback
from handrail.bridge.cluster.nats.address import PORT
from handrail.bridge.cluster.setup.roles import ROLES
from handrail.bridge.errors import ClusterRefused

__all__ = [
    "CONFIGURATION",
    "MONITORING_PORT_OFFSET",
    "ROUTES",
    "ROUTES_PORT_OFFSET",
    "Server",
    "accounts",
    "parse_server",
    "routes_configuration",
    "server_configuration",
]

CONFIGURATION: Final = "nats.conf"
ROUTES: Final = "routes.conf"
CLUSTER: Final = "handrail"
ROUTE_USER: Final = "route"
ROUTES_PORT_OFFSET: Final = 2000
MONITORING_PORT_OFFSET: Final = 4000
"""Ports for other servers and for monitoring, relative to the client port: 4222, 6222, 8222 by default."""
ALLOW_ANSWERS: Final = 'allow_responses: { max: 10000, expires: "10m" }'
"""The receiver of a request may send several messages in answer: a file is sent in chunks."""
_HOST: Final = re.compile(r"(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?")


class Server(Struct, frozen=True):
    """A NATS server: its number, its host as clients write it, and its client port."""

    number: int
    host: str
    port: int = PORT

    @property
    def name(self) -> str:
        """Name of the server within the cluster, and of its folder."""
        return f"nats-{self.number}"

    @property
    def bare_host(self) -> str:
        """The host without the brackets of an IPv6 address."""
        return self.host.strip("[]")

    @property
    def is_local(self) -> bool:
        """Whether the server listens on a loopback address only."""
        return is_loopback(self.bare_host)


def parse_server(number: int, text: str, port: int = PORT) -> Server:
    """Parse HOST or HOST:PORT. Raises ClusterRefused."""
    match = _HOST.fullmatch(text)
    port = int(match["port"] or port) if match else 0
    if match is None or not 0 < port < 65536 - MONITORING_PORT_OFFSET:
        raise ClusterRefused(
            f"invalid server {text!r}; write HOST or HOST:PORT with a port below {65536 - MONITORING_PORT_OFFSET}"
        )
    return Server(number, match["host"], port)


def server_configuration(
    server: Server, servers: Sequence[Server], users: Mapping[str, Sequence[str]], *, store: str, disk: str, tls: bool
) -> str:
    """The text of nats.conf. `users`: public keys of each role; `store`: data folder; `disk`: size limit, e.g. 64GB."""
    listen = server.host if server.is_local else "0.0.0.0"  # noqa: S104  remote clients need it; every client needs a key
    parts = [
        f"# NATS server {server.number} of {len(servers)} for Handrail.",
        f"# Start it in this folder: nats-server -c {CONFIGURATION}",
        f"server_name: {server.name}",
        f"listen: {_quoted(f'{listen}:{server.port}')}",
        f"http: {_quoted(f'127.0.0.1:{server.port + MONITORING_PORT_OFFSET}')}",
        "",
        "# One message holds one batch of events, so the largest accepted event must fit.",
        "max_payload: 8MB",
        "max_pending: 64MB",
        "max_connections: 4096",
        'write_deadline: "10s"',
        'ping_interval: "10s"',
        "ping_max: 2",
        "",
        "# Acknowledged data is on disk. The default would sync it up to two minutes later.",
        "jetstream {",
        f"  store_dir: {_quoted(store)}",
        "  sync_interval: always",
        f"  max_file_store: {disk}",
        "  max_memory_store: 256MB",
        "}",
        "",
        *(_tls(verify=False) if tls else []),
        *(_cluster(server, listen, tls=tls) if len(servers) > 1 else []),
        accounts(users),
    ]
    return "\n".join([*parts, ""])


def routes_configuration(servers: Sequence[Server], password: str) -> str:
    """The text of routes.conf: the same for all servers, and secret."""
    listed = ", ".join(
        _quoted(f"nats-route://{ROUTE_USER}:{password}@{server.host}:{server.port + ROUTES_PORT_OFFSET}")
        for server in servers
    )
    return "\n".join(
        [
            "# The servers authenticate to each other with this password. Keep it secret.",
            f"authorization {{ user: {ROUTE_USER}, password: {_quoted(password)}, timeout: 5 }}",
            f"routes: [{listed}]",
            "",
        ]
    )


def _tls(*, verify: bool, indent: str = "") -> list[str]:
    files = 'cert_file: "tls/cert.pem", key_file: "tls/key.pem", ca_file: "tls/ca.pem"'
    return [f"{indent}tls {{ {files}, timeout: 5{', verify: true' if verify else ''} }}", *([] if indent else [""])]


def _cluster(server: Server, listen: str, *, tls: bool) -> list[str]:
    return [
        "cluster {",
        f"  name: {CLUSTER}",
        f"  listen: {_quoted(f'{listen}:{server.port + ROUTES_PORT_OFFSET}')}",
        f"  include {ROUTES}",
        *(_tls(verify=True, indent="  ") if tls else []),
        "}",
        "",
    ]


def accounts(users: Mapping[str, Sequence[str]]) -> str:
    """The accounts section: each public key with the permissions of its role."""
    lines = ["accounts {", "  HANDRAIL {", "    jetstream: enabled", "    users: ["]
    for role, keys in users.items():
        allowed = ROLES[role]
        for key in keys:
            lines += [
                f"      # {role}",
                f"      {{ nkey: {key}, permissions: {{",
                f"        publish: {{ allow: [{_quoted_list(allowed.publish)}] }}",
                f"        subscribe: {{ allow: [{_quoted_list(allowed.subscribe)}] }}",
                *([f"        {ALLOW_ANSWERS}"] if role != "viewer" else []),
                "      } }",
            ]
    return "\n".join([*lines, "    ]", "  }", "}"])


def _quoted_list(subjects: Sequence[str]) -> str:
    return ", ".join(map(_quoted, subjects))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
