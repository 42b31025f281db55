"""SHA-256 digests, which identify files and names."""

from __future__ import annotations

__all__ = ["sha256_of"]


def sha256_of(data: bytes) -> str:
    """The digest of some bytes, in hexadecimal."""
    import hashlib  # loads OpenSSL, which many starts of the agent do not need

    return hashlib.sha256(data).hexdigest()
