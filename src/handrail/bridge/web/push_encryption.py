"""Encryption and authorization of web push messages.

RFC 8291 defines the encryption (aes128gcm of RFC 8188, one record), RFC 8292 the authorization (VAPID).
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

__all__ = ["authorization", "encrypted", "from_text", "public_bytes", "to_text"]

RECORD: Final = 4096
LARGEST: Final = 3000
SUBJECT: Final = "mailto:handrail@example.com"
"""A contact for the push service, which the standard requires."""


def to_text(data: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_text(text: str) -> bytes:
    """Decode base64url. Raises ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def public_bytes(key: ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey) -> bytes:
    """A public key as an uncompressed point of 65 bytes."""
    public = key.public_key() if isinstance(key, ec.EllipticCurvePrivateKey) else key
    return public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def encrypted(text: bytes, p256dh: bytes, auth: bytes, *, sender: ec.EllipticCurvePrivateKey, salt: bytes) -> bytes:
    """The encrypted body. `sender` and `salt` must be used once only. Raises ValueError."""
    if len(text) > LARGEST:
        raise ValueError(f"a push message has at most {LARGEST} bytes")
    if len(auth) != 16:
        raise ValueError("the auth secret must have 16 bytes")
    try:
        receiver = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), p256dh)
        shared = sender.exchange(ec.ECDH(), receiver)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("the p256dh key must be a point of P-256") from None
    own = public_bytes(sender)
    secret = _derived(auth, shared, b"WebPush: info\0" + p256dh + own, 32)
    key = _derived(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(salt, secret, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD.to_bytes(4, "big") + bytes([len(own)]) + own
    return head + AESGCM(key).encrypt(nonce, text + b"\x02", None)


def authorization(endpoint: str, key: ec.EllipticCurvePrivateKey, now: float) -> str:
    """The value of the Authorization header. `now` is in seconds since 1970."""
    parts = urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": int(now) + 12 * 3600, "sub": SUBJECT}
    said = f"{_json({'typ': 'JWT', 'alg': 'ES256'})}.{_json(claims)}"
    r, s = decode_dss_signature(key.sign(said.encode(), ec.ECDSA(hashes.SHA256())))
    signature = to_text(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
    return f"vapid t={said}.{signature}, k={to_text(public_bytes(key))}"


def _derived(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def _json(fields: dict[str, Any]) -> str:
    return to_text(json.dumps(fields, separators=(",", ":")).encode())
