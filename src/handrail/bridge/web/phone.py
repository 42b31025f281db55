"""An address of this machine that a phone can reach, and a certificate for it.

Through Tailscale where it is installed: its name has a certificate that every browser knows. Else by the address in the
local network, with a certificate that this machine makes: the phone's browser warns once, and its fingerprint tells
the owner that it is the right one.
"""

from __future__ import annotations

import ipaddress
import shutil
import socket
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from handrail.bridge.errors import AddressRefused
from handrail.bridge.private_files import write_private

__all__ = ["Phone", "prepare_phone"]

DAYS: Final = 397
"""Phones refuse certificates that are valid for longer."""
RENEW_DAYS: Final = 30
STATUS_SECONDS: Final = 5.0
CERTIFICATE_SECONDS: Final = 60.0
ELSEWHERE: Final = ("192.0.2.1", 9)
"""An address reserved for documentation. Connecting a datagram socket sends nothing; it selects a local address."""


class Phone(Struct, frozen=True):
    """`name` is the host name or number; `fingerprint` is that of a certificate made here, "" for a known one."""

    name: str
    certificate: Path
    key: Path
    fingerprint: str = ""


def prepare_phone(folder: Path, number: str = "") -> Phone:
    """Find the address, and get or make its certificate, which is kept in `folder`. Raises AddressRefused.

    `number`: the address in the local network, if it is known already.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _by_tailscale(folder) or _by_local_network(folder, number or _local_number())


def _by_tailscale(folder: Path) -> Phone | None:
    """None if Tailscale is not installed, not connected, or has HTTPS certificates turned off."""
    program = shutil.which("tailscale")
    if program is None:
        return None
    certificate, key = folder / "tailscale-certificate.pem", folder / "tailscale-key.pem"
    try:
        told = subprocess.run([program, "status", "--json"], capture_output=True, timeout=STATUS_SECONDS, check=True)
        state: Any = msgspec.json.decode(told.stdout)
        names = state.get("CertDomains") if state.get("BackendState") == "Running" else None
        if not names or not isinstance(names[0], str):
            return None
        write_private(key, "")  # the program keeps the mode of a file that exists
        command = [program, "cert", f"--cert-file={certificate}", f"--key-file={key}", names[0]]
        subprocess.run(command, capture_output=True, timeout=CERTIFICATE_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError, AttributeError, LookupError, TypeError):
        return None
    return Phone(names[0], certificate, key)


def _by_local_network(folder: Path, number: str) -> Phone:
    certificate, key = folder / "phone-certificate.pem", folder / "phone-key.pem"
    if not _is_usable(certificate, key, number):
        _make_certificate(certificate, key, number)
    return Phone(number, certificate, key, _fingerprint(certificate))


def _local_number() -> str:
    """The address of this machine in the local network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ELSEWHERE)
            number = str(probe.getsockname()[0])
        except OSError:
            number = "127.0.0.1"
    if ipaddress.ip_address(number).is_loopback:
        raise AddressRefused("this machine has no network address; connect it to the phone's Wi-Fi, or use Tailscale")
    return number


def _is_usable(certificate: Path, key: Path, number: str) -> bool:
    from cryptography import x509

    if not key.is_file():
        return False
    try:
        found = x509.load_pem_x509_certificate(certificate.read_bytes())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return False
    lasts = found.not_valid_after_utc > datetime.now(UTC) + timedelta(days=RENEW_DAYS)
    return lasts and ipaddress.ip_address(number) in names.get_values_for_type(x509.IPAddress)


def _make_certificate(certificate: Path, key: Path, number: str) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"Handrail on {socket.gethostname()}"[:64])])
    numbers = [x509.IPAddress(ipaddress.ip_address(one)) for one in (number, "127.0.0.1")]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, secret.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # the phone's clock may be behind
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName([*numbers, x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(secret, hashes.SHA256())
    )
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    write_private(key, secret.private_bytes(*form).decode())
    write_private(certificate, made.public_bytes(serialization.Encoding.PEM).decode())


def _fingerprint(certificate: Path) -> str:
    """SHA-256, as browsers show it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    return found.fingerprint(hashes.SHA256()).hex(":").upper()
