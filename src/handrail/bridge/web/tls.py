"""TLS of the server: loads the certificate and its key, and reloads them when they are renewed.

A certificate that browsers would reject is not loaded.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from handrail.bridge.errors import BridgeError

__all__ = ["TlsRefused", "keep_current", "tls_context"]

log = logging.getLogger("handrail.bridge")
EVERY: Final = 60.0

_WORDS: Final = {
    "KEY_VALUES_MISMATCH": "the key does not match the certificate",
    "NO_START_LINE": "one of them is not a PEM file of the right kind",
    "PEM_LIB": "one of them is not a PEM file of the right kind",
}
"""Reasons of OpenSSL in plain words."""
_DATE: Final = "%Y-%m-%d %H:%M UTC"


class TlsRefused(BridgeError):
    """The certificate or the key is unusable."""


class _Locked(Exception):
    """The key is encrypted."""


def _no_password() -> str:
    """Prevents OpenSSL from prompting on the terminal."""
    raise _Locked


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """A server context. Raises TlsRefused."""
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
    except _Locked:
        raise TlsRefused(f"{key} is encrypted; use a key without a password") from None
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        told = next((words for name, words in _WORDS.items() if name in reason.upper().replace(" ", "_")), reason)
        raise TlsRefused(f"{certificate} and {key} cannot be used: {told}") from None
    _check_dates(certificate)
    return context


def _check_dates(certificate: Path) -> None:
    from cryptography import x509  # slow to import, and few servers use TLS

    found, now = x509.load_pem_x509_certificates(certificate.read_bytes())[0], datetime.now(UTC)
    if found.not_valid_after_utc < now:
        raise TlsRefused(f"the certificate {certificate} expired at {found.not_valid_after_utc:{_DATE}}; renew it")
    if found.not_valid_before_utc > now:
        begins = f"{found.not_valid_before_utc:{_DATE}}"
        raise TlsRefused(f"the certificate {certificate} is valid from {begins} only; check the clock of this machine")


async def keep_current(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Reload the files when they change; new connections get the new certificate."""
    taken, told = _marks(certificate, key), ""
    while True:
        await asyncio.sleep(EVERY)
        found, why = _marks(certificate, key), ""
        try:
            await asyncio.to_thread(tls_context, certificate, key)
        except TlsRefused as error:
            why = str(error)
        if why and why != told:
            log.error("%s", why)
        told = why
        if not why and found != taken:
            context.load_cert_chain(certificate, key)
            taken = found
            log.info("loaded the new certificate %s", certificate)


def _marks(*paths: Path) -> list[tuple[int, int]]:
    """Values that change when a file is replaced."""
    found = [path.stat() if path.exists() else None for path in paths]
    return [(one.st_mtime_ns, one.st_ino) if one else (0, 0) for one in found]
