"""TLS for a server. In: the files of a certificate and its key. Out: a context, or what is wrong with them.

A new certificate is taken up while the server runs; one that browsers would not take, never.
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
    "KEY_VALUES_MISMATCH": "the key is not that of the certificate",
    "NO_START_LINE": "one of them is no PEM file of that kind",
    "PEM_LIB": "one of them is no PEM file of that kind",
}
"""What OpenSSL says, in words."""
_DATE: Final = "%Y-%m-%d %H:%M UTC"


class TlsRefused(BridgeError):
    """The certificate and the key cannot be used."""


class _Locked(Exception):
    """The key has a password."""


def _no_password() -> str:
    """Else OpenSSL would ask the terminal, which a service has not."""
    raise _Locked


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """A context for a server. TlsRefused."""
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
        raise TlsRefused(f"{key} is locked by a password: give a key without one") from None
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        told = next((words for name, words in _WORDS.items() if name in reason.upper().replace(" ", "_")), reason)
        raise TlsRefused(f"{certificate} and {key} cannot be used: {told}") from None
    _check_dates(certificate)
    return context


def _check_dates(certificate: Path) -> None:
    from cryptography import x509  # few servers have one

    found, now = x509.load_pem_x509_certificates(certificate.read_bytes())[0], datetime.now(UTC)
    if found.not_valid_after_utc < now:
        raise TlsRefused(f"the certificate {certificate} expired at {found.not_valid_after_utc:{_DATE}}: renew it")
    if found.not_valid_before_utc > now:
        begins = f"{found.not_valid_before_utc:{_DATE}}"
        raise TlsRefused(f"the certificate {certificate} is good only from {begins}: look at this machine's clock")


async def keep_current(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Whoever renews it puts new files in the place of the old ones: whoever comes then gets the new one."""
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
            log.info("the certificate %s is a new one, and in use", certificate)


def _marks(*paths: Path) -> list[tuple[int, int]]:
    """What changes with a file."""
    found = [path.stat() if path.exists() else None for path in paths]
    return [(one.st_mtime_ns, one.st_ino) if one else (0, 0) for one in found]
