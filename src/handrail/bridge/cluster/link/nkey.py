"""NKeys: who a machine is on NATS. In: randomness. Out: a seed, which is secret, and its public key."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
from __future__ import annotations

import base64
import binascii
import os

import nkeys

__all__ = ["new_seed", "public_key"]


def new_seed() -> str:
    """A new user: SU… and 56 signs more."""
    return nkeys.encode_seed(os.urandom(32), prefix=nkeys.PREFIX_BYTE_USER).decode()


def public_key(seed: str) -> str:
    """U… and 55 signs more, for everybody to see. ValueError where this is no seed."""
    try:
        raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
        if binascii.crc_hqx(raw[:-2], 0).to_bytes(2, "little") != raw[-2:]:  # nkeys itself does not look
            raise ValueError
        return bytes(nkeys.from_seed(bytearray(seed.encode())).public_key).decode()
    except (nkeys.NkeysError, ValueError, IndexError):
        raise ValueError("this is no seed of an NKey") from None
