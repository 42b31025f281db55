"""The configuration of the NATS servers of a cluster. In: where they are, who may come in. Out: files, as text. Pure.

Each server has a folder that is copied to its machine as it is; paths in it are relative, so the server is started
there. No secret of ours stands in it: users are known by public keys. What the servers know each other by stands in a
file of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from handrail.bridge.addresses import is_loopback
from handrail.bridge.cluster.founding.roles import ROLES
from handrail.bridge.cluster.link.address import PORT
from handrail.bridge.errors import ClusterRefused

__all__ = ["CONFIGURATION", "ROUTES", "Server", "accounts", "configuration", "routes", "server"]

CONFIGURATION: Final = "nats.conf"
ROUTES: Final = "routes.conf"
CLUSTER: Final = "handrail"
ROUTE_USER: Final = "route"
ROUTES_ABOVE: Final = 2000
MONITORING_ABOVE: Final = 4000
"""The ports between servers and for looking at one lie so far above that for clients: 4222, 6222, 8222."""
ANSWERS: Final = 'allow_responses: { max: 10000, expires: "10m" }'
"""Whoever was asked may answer whoever asked, in as many pieces as a file needs."""
_HOST: Final = re.compile(r"(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?")


class Server(Struct, frozen=True):
    """One NATS server: its number, its host as others write it, the port for clients."""

    number: int
    host: str
    port: int = PORT

    @property
    def name(self) -> str:
        """By which it is known to the others, and its folder is called."""
        return f"nats-{self.number}"

    @property
    def bare_host(self) -> str:
        """Without the brackets of IPv6."""
        return self.host.strip("[]")

    @property
    def alone(self) -> bool:
        """It is reached from its own machine only."""
        return is_loopback(self.bare_host)


def server(number: int, text: str, port: int = PORT) -> Server:
    """HOST or HOST:PORT, as a person writes it. ClusterRefused."""
    found = _HOST.fullmatch(text)
    port = int(found["port"] or port) if found else 0
    if found is None or not 0 < port < 65536 - MONITORING_ABOVE:
        raise ClusterRefused(
            f"{text!r} is no server: write HOST or HOST:PORT, with a port below {65536 - MONITORING_ABOVE}"
        )
    return Server(number, found["host"], port)


def configuration(
    one: Server, servers: Sequence[Server], users: Mapping[str, Sequence[str]], *, store: str, disk: str, tls: bool
) -> str:
    """One server's file. `users`: the public keys of each role; `store`: its folder; `disk`: how much it may fill."""
    listen = one.host if one.alone else "0.0.0.0"  # noqa: S104  beyond this machine it is for everybody with a key
    parts = [
        f"# NATS server {one.number} of {len(servers)} for Handrail.",
        f"# Start it in this folder: nats-server -c {CONFIGURATION}",
        f"server_name: {one.name}",
        f"listen: {_quoted(f'{listen}:{one.port}')}",
        f"http: {_quoted(f'127.0.0.1:{one.port + MONITORING_ABOVE}')}",
        "",
        "# One message is one batch of events; the largest event that is taken has to fit.",
        "max_payload: 8MB",
        "max_pending: 64MB",
        "max_connections: 4096",
        'write_deadline: "10s"',
        'ping_interval: "10s"',
        "ping_max: 2",
        "",
        "# What is acknowledged is on disk. Without this it would be on disk two minutes later.",
        "jetstream {",
        f"  store_dir: {_quoted(store)}",
        "  sync_interval: always",
        f"  max_file_store: {disk}",
        "  max_memory_store: 256MB",
        "}",
        "",
        *(_tls(verify=False) if tls else []),
        *(_cluster(one, listen, tls=tls) if len(servers) > 1 else []),
        accounts(users),
    ]
    return "\n".join([*parts, ""])


def routes(servers: Sequence[Server], password: str) -> str:
    """What all servers have in common, and what is secret between them."""
    listed = ", ".join(
        _quoted(f"nats-route://{ROUTE_USER}:{password}@{one.host}:{one.port + ROUTES_ABOVE}") for one in servers
    )
    return "\n".join(
        [
            "# By this the servers know each other: for them alone.",
            f"authorization {{ user: {ROUTE_USER}, password: {_quoted(password)}, timeout: 5 }}",
            f"routes: [{listed}]",
            "",
        ]
    )


def _tls(*, verify: bool, indent: str = "") -> list[str]:
    files = 'cert_file: "tls/cert.pem", key_file: "tls/key.pem", ca_file: "tls/ca.pem"'
    return [f"{indent}tls {{ {files}, timeout: 5{', verify: true' if verify else ''} }}", *([] if indent else [""])]


def _cluster(one: Server, listen: str, *, tls: bool) -> list[str]:
    return [
        "cluster {",
        f"  name: {CLUSTER}",
        f"  listen: {_quoted(f'{listen}:{one.port + ROUTES_ABOVE}')}",
        f"  include {ROUTES}",
        *(_tls(verify=True, indent="  ") if tls else []),
        "}",
        "",
    ]


def accounts(users: Mapping[str, Sequence[str]]) -> str:
    """Users by the public keys of their roles, each with what its role may."""
    lines = ["accounts {", "  HANDRAIL {", "    jetstream: enabled", "    users: ["]
    for role, keys in users.items():
        may = ROLES[role]
        for key in keys:
            lines += [
                f"      # {role}",
                f"      {{ nkey: {key}, permissions: {{",
                f"        publish: {{ allow: [{_listed(may.publish)}] }}",
                f"        subscribe: {{ allow: [{_listed(may.subscribe)}] }}",
                *([f"        {ANSWERS}"] if role != "viewer" else []),
                "      } }",
            ]
    return "\n".join([*lines, "    ]", "  }", "}"])


def _listed(subjects: Sequence[str]) -> str:
    return ", ".join(map(_quoted, subjects))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
