"""TLS context of the server. A renewed certificate is loaded while the server runs; an invalid one never is."""

from __future__ import annotations

import asyncio
import logging
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from handrail.bridge.errors import BridgeError
from handrail.errors import CallerError

__all__ = ["TlsRefused", "tls_context", "watch_certificate"]

log = logging.getLogger("handrail.bridge")
CHECK_SECONDS: Final = 60.0

_REASONS: Final = {
    "KEY_VALUES_MISMATCH": "the private key does not match the certificate",
    "NO_START_LINE": "one of the files is not a PEM file of the expected kind",
    "PEM_LIB": "one of the files is not a PEM file of the expected kind",
}
"""OpenSSL's reason codes, explained."""
_DATE: Final = "%Y-%m-%d %H:%M UTC"


class TlsRefused(BridgeError, CallerError):
    """The certificate or its key is unusable."""


class _KeyIsEncrypted(Exception):
    pass


def _no_password() -> str:
    """OpenSSL would prompt on the terminal, which a service does not have."""
    raise _KeyIsEncrypted


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Create a server context. Raises TlsRefused if the files are unusable or the certificate is not valid now."""
    for path in (certificate, key):
        try:
            with path.open("rb") as file:
                file.read(1)
        except OSError as error:
            raise TlsRefused(f"{path} cannot be read: {error.strerror}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except _KeyIsEncrypted:
        raise TlsRefused(f"{key} is protected by a password; provide an unencrypted key") from None
    except (ssl.SSLError, ValueError) as error:
        code = getattr(error, "reason", None) or str(error)
        reason = next((text for name, text in _REASONS.items() if name in code.upper().replace(" ", "_")), code)
        raise TlsRefused(f"{certificate} and {key} cannot be used: {reason}") from None
    _check_dates(certificate)
    return context


def _check_dates(certificate: Path) -> None:
    from cryptography import x509  # imported here because few servers use TLS

    try:
        found = x509.load_pem_x509_certificates(certificate.read_bytes())[0]
    except (OSError, ValueError):  # the file is being replaced
        raise TlsRefused(f"{certificate} is not a PEM file of the expected kind") from None
    now = datetime.now(UTC)
    if found.not_valid_after_utc < now:
        raise TlsRefused(f"the certificate {certificate} expired at {found.not_valid_after_utc:{_DATE}}; renew it")
    if found.not_valid_before_utc > now:
        begins = f"{found.not_valid_before_utc:{_DATE}}"
        raise TlsRefused(f"the certificate {certificate} is not valid before {begins}; check this machine's clock")


async def watch_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Check the files every minute and load a renewed certificate for new connections. Runs until cancelled.

    An unusable certificate is logged once, and the loaded one stays in use.
    """
    loaded, reported = _stamps(certificate, key), ""
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        found, problem = _stamps(certificate, key), ""
        try:
            await asyncio.to_thread(tls_context, certificate, key)
        except TlsRefused as error:
            problem = str(error)
        if problem and problem != reported:
            log.error("%s", problem)
        reported = problem
        if not problem and found != loaded:
            try:
                context.load_cert_chain(certificate, key)
            except (OSError, ssl.SSLError):  # replaced since the check; the next round loads it
                continue
            loaded = found
            log.info("loaded the renewed certificate %s", certificate)


def _stamps(*paths: Path) -> list[tuple[int, int]]:
    """Modification time and inode of each file; both change when a file is replaced."""
    found = [path.stat() if path.exists() else None for path in paths]
    return [(status.st_mtime_ns, status.st_ino) if status else (0, 0) for status in found]
