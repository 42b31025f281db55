"""SHA-256 digests, which identify files and names."""

from __future__ import annotations

from contextlib import suppress

__all__ = ["sha256_of"]


def sha256_of(data: bytes) -> str:
    """The digest of some bytes, in hexadecimal."""
    # `hashlib` loads OpenSSL, which takes a thirtieth of the agent's start. Python's own implementation has the same
    # interface, in a module whose name depends on the version; not every Python is built with it.
    for name in ("_sha256", "_sha2"):
        with suppress(ImportError):
            return __import__(name).sha256(data).hexdigest()
    from hashlib import sha256

    return sha256(data).hexdigest()
