"""Where a cluster is and how one comes in. In: what a person gave. Out: an Address, checked; what stands in its files.

No secret stands in an address: who one is, is said by a file that only its owner may read.
"""

from __future__ import annotations

import os
import re
import ssl
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from handrail.bridge.addresses import is_loopback
from handrail.bridge.errors import ClusterRefused

__all__ = ["Address", "address", "login", "tls"]

PORT: Final = 4222
MOST_SERVERS: Final = 32
MOST_BYTES: Final = 64 * 1024
"""No file with credentials is larger."""
_SERVER: Final = re.compile(
    r"((?P<scheme>[a-z]+)://)?(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?/?"
)
_SEED: Final = re.compile(r"SU[A-Z2-7]{56}")
_JWT: Final = "-----BEGIN NATS USER JWT-----"
_JWT_SEED: Final = "-----BEGIN USER NKEY SEED-----"


class Address(Struct, frozen=True, kw_only=True):
    """A cluster of NATS servers.

    servers      nats://HOST:PORT or tls://HOST:PORT, any of which will do
    credentials  a file: an NKey seed, a JWT with its seed, or user:password
    ca           who signed the servers' certificates; else those that this machine trusts
    certificate  by which this machine is known, with its `key`
    """

    servers: tuple[str, ...]
    credentials: Path | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @property
    def secure(self) -> bool:
        """Nothing is said before the server has shown its certificate."""
        return self.ca is not None or all(one.startswith("tls://") for one in self.servers)

    @property
    def shown(self) -> str:
        """For people."""
        return ", ".join(self.servers)


def address(
    url: str,
    *,
    credentials: Path | None = None,
    ca: Path | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    insecure: bool = False,
) -> Address:
    """In: servers with commas between, and files. `insecure`: without TLS beyond this machine too. ClusterRefused."""
    servers = [_server(one.strip()) for one in url.split(",") if one.strip()]
    if not servers or len(servers) > MOST_SERVERS:
        raise ClusterRefused(f"an address names one to {MOST_SERVERS} servers: nats://host1:{PORT},nats://host2:{PORT}")
    if (certificate is None) != (key is None):
        raise ClusterRefused("a certificate and its key go together")
    given = Address(
        servers=tuple(spelt for spelt, _ in servers), credentials=credentials, ca=ca, certificate=certificate, key=key
    )
    beyond = [host for _, host in servers if not is_loopback(host)]
    if beyond and not (given.secure or insecure):
        raise ClusterRefused(
            f"{beyond[0]} is beyond this machine, and without TLS everybody on the way can read along: "
            "write tls://, name who signed its certificate, or allow it where the network itself is private"
        )
    return given


def _server(text: str) -> tuple[str, str]:
    """One server, spelt in full, and its host. What is refused is not repeated: it may hold a secret."""
    if "@" in text or "?" in text or "#" in text:
        raise ClusterRefused("no user, password, token or query may stand in the address of a cluster: name a file")
    found = _SERVER.fullmatch(text)
    if found is None:
        raise ClusterRefused(f"an address of a cluster reads nats://HOST:PORT or tls://HOST:PORT, as nats://box:{PORT}")
    scheme, port = found["scheme"] or "nats", int(found["port"] or PORT)
    if scheme not in ("nats", "tls"):
        raise ClusterRefused(f"{scheme}:// does not lead to NATS: write nats:// or tls://")
    if not 0 < port < 65536:
        raise ClusterRefused(f"{port} is no port")
    return f"{scheme}://{found['host']}:{port}", found["host"].strip("[]")


def login(given: Address) -> dict[str, Any]:
    """How nats-py is told who we are. ClusterRefused where the file is missing, open to others, or of no such kind."""
    if given.credentials is None:
        return {}
    from nats.aio.client import RawCredentials

    path, text = given.credentials, _private(given.credentials)
    if _JWT in text and _JWT_SEED in text:
        return {"user_credentials": RawCredentials(text + "\n")}
    if _SEED.fullmatch(text):
        return {"nkeys_seed_str": _checked_seed(path, text)}
    user, colon, password = text.partition(":")
    if colon and user and password and len(text.splitlines()) == 1 and "-----" not in text:
        return {"user": user, "password": password}
    raise ClusterRefused(f"{path} holds no credentials: an NKey seed (SU…), a JWT with its seed, or user:password")


def _checked_seed(path: Path, seed: str) -> str:
    from handrail.bridge.cluster.link.nkey import public_key

    try:
        public_key(seed)
    except ValueError:
        raise ClusterRefused(f"{path} looks like an NKey seed and is none: is it whole?") from None
    return seed


def _private(path: Path) -> str:
    """What stands in a file that only its owner may read."""
    try:
        with open(path, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise ClusterRefused(f"others may read {path} (mode {mode:04o}): chmod 600 {path}")
            return file.read(MOST_BYTES).decode().strip()
    except OSError as error:
        raise ClusterRefused(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ClusterRefused(f"{path} holds no credentials: it is no text") from None


def tls(given: Address) -> ssl.SSLContext | None:
    """What a server's certificate is checked by; None where nothing was said of TLS. ClusterRefused."""
    if not given.secure and given.certificate is None:
        return None
    try:
        context = ssl.create_default_context(cafile=given.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if given.certificate is not None:
            context.load_cert_chain(given.certificate, given.key)
    except (OSError, ValueError) as error:
        files: Sequence[Path | None] = (given.ca, given.certificate, given.key)
        named = ", ".join(str(one) for one in files if one is not None)
        raise ClusterRefused(f"{named}: {getattr(error, 'strerror', None) or error}") from None
    return context
