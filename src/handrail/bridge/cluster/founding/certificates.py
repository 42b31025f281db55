"""Certificates for the NATS servers of a cluster. In: their hosts. Out: who signs them, and one for each, as PEM."""

from __future__ import annotations

import datetime
import ipaddress
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

__all__ = ["Authority"]

YEARS: Final = 10
_AN_HOUR: Final = datetime.timedelta(hours=1)
"""Clocks differ."""


class Authority:
    """Signs certificates as long as it lives; afterwards nobody can, unless its key was kept."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Handrail cluster")])
        basic = x509.BasicConstraints(ca=True, path_length=0)
        usage = _usage(signs_certificates=True)
        builder = _builder(self._name, self._name, self._key.public_key())
        made = builder.add_extension(basic, critical=True).add_extension(usage, critical=True)
        self._made = made.sign(self._key, hashes.SHA256())

    @property
    def certificate(self) -> bytes:
        """By which everybody knows the servers."""
        return self._made.public_bytes(serialization.Encoding.PEM)

    @property
    def key(self) -> bytes:
        """Whoever has it can be any server."""
        return _pem(self._key)

    def sign(self, host: str) -> tuple[bytes, bytes]:
        """A certificate for one server, by which it also knows the others, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host[:64])])
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        made = (
            _builder(name, self._name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both), critical=False)
            .add_extension(x509.SubjectAlternativeName([_host(host)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return made.public_bytes(serialization.Encoding.PEM), _pem(key)


def _builder(name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder(issuer, name, key, x509.random_serial_number())
        .not_valid_before(now - _AN_HOUR)
        .not_valid_after(now + datetime.timedelta(days=365 * YEARS))
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


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
