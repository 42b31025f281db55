"""Credentials for NATS: NKey seeds, and the file from which a machine reads its own."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from pathlib import Path
from typing import Any, Final

import nkeys
from nats.aio.client import RawCredentials

from handrail.bridge.cluster.nats.address import Address
from handrail.bridge.errors import ClusterRefused

__all__ = ["login_options", "new_seed", "public_key"]

MAX_FILE_BYTES: Final = 64 * 1024
_SEED: Final = re.compile(r"SU[A-Z2-7]{56}")
_JWT: Final = "-----BEGIN NATS USER JWT-----"
_JWT_SEED: Final = "-----BEGIN USER NKEY SEED-----"


def new_seed() -> str:
    """Generate the secret seed of a new NATS user: `SU` and 56 more characters."""
    return nkeys.encode_seed(os.urandom(32), prefix=nkeys.PREFIX_BYTE_USER).decode()


def public_key(seed: str) -> str:
    """The public key of a seed: `U` and 55 more characters. Raises ValueError if the seed is invalid."""
    try:
        raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
        # nkeys does not verify the checksum, so a mistyped seed would only fail at login.
        if binascii.crc_hqx(raw[:-2], 0).to_bytes(2, "little") != raw[-2:]:
            raise ValueError
        return bytes(nkeys.from_seed(bytearray(seed.encode())).public_key).decode()
    except (nkeys.NkeysError, ValueError, IndexError):
        raise ValueError("invalid NKey seed") from None


def login_options(address: Address) -> dict[str, Any]:
    """Read the credentials file into options of nats-py's `connect`.

    Raises ClusterRefused if the file is missing, readable by other users, or in an unknown format. Errors never quote
    the contents.
    """
    if address.credentials is None:
        return {}
    path, text = address.credentials, _read_private_file(address.credentials)
    if _JWT in text and _JWT_SEED in text:
        return {"user_credentials": RawCredentials(text + "\n")}
    if _SEED.fullmatch(text):
        try:
            public_key(text)
        except ValueError:
            raise ClusterRefused(f"{path} contains an invalid NKey seed; check that it was copied completely") from None
        return {"nkeys_seed_str": text}
    user, colon, password = text.partition(":")
    if colon and user and password and len(text.splitlines()) == 1 and "-----" not in text:
        return {"user": user, "password": password}
    raise ClusterRefused(
        f"{path} contains no credentials; expected an NKey seed (SU…), a JWT and its seed, or user:password"
    )


def _read_private_file(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise ClusterRefused(f"{path} is readable by other users (mode {mode:04o}); run: chmod 600 {path}")
            return file.read(MAX_FILE_BYTES).decode().strip()
    except OSError as error:
        raise ClusterRefused(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ClusterRefused(f"{path} contains no credentials: it is not a text file") from None
