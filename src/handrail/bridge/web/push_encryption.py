"""Encryption and authorization of web push messages. Pure.

Messages are encrypted as in RFC 8291 (aes128gcm of RFC 8188, a single record). The sender identifies itself as in
RFC 8292 (VAPID).
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

__all__ = ["base64url_decode", "base64url_encode", "encrypt", "public_bytes", "vapid_header"]

RECORD_SIZE: Final = 4096
MAX_BYTES: Final = 3000
SUBJECT: Final = "mailto:handrail@example.com"
"""VAPID requires a contact address; this one is a placeholder."""
TOKEN_SECONDS: Final = 12 * 3600
"""RFC 8292 allows at most 24 hours."""


def base64url_encode(data: bytes) -> str:
    """Encode as URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def base64url_decode(text: str) -> bytes:
    """Decode URL-safe base64 with or without padding. Raises ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def public_bytes(key: ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey) -> bytes:
    """The public key as an uncompressed point of 65 bytes."""
    public = key.public_key() if isinstance(key, ec.EllipticCurvePrivateKey) else key
    return public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def encrypt(text: bytes, p256dh: bytes, auth: bytes, *, sender: ec.EllipticCurvePrivateKey, salt: bytes) -> bytes:
    """Encrypt a message for the browser with the keys `p256dh` and `auth`. Raises ValueError.

    `sender` and `salt` must be generated for each message and never reused.
    """
    if len(text) > MAX_BYTES:
        raise ValueError(f"a push message has at most {MAX_BYTES} bytes")
    if len(auth) != 16:
        raise ValueError("the auth secret of a browser must have 16 bytes")
    try:
        receiver = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), p256dh)
        shared = sender.exchange(ec.ECDH(), receiver)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("the key of a browser must be a point on P-256") from None
    own = public_bytes(sender)
    secret = _derive(auth, shared, b"WebPush: info\0" + p256dh + own, 32)
    key = _derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(salt, secret, b"Content-Encoding: nonce\0", 12)
    header = salt + RECORD_SIZE.to_bytes(4, "big") + bytes([len(own)]) + own
    return header + AESGCM(key).encrypt(nonce, text + b"\x02", None)  # 0x02 marks the last record


def vapid_header(endpoint: str, key: ec.EllipticCurvePrivateKey, now: float) -> str:
    """The Authorization header for a request to `endpoint`, signed with the server's key. `now` in seconds."""
    parts = urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": int(now) + TOKEN_SECONDS, "sub": SUBJECT}
    signed = f"{_json({'typ': 'JWT', 'alg': 'ES256'})}.{_json(claims)}"
    # JWT wants the two numbers of the signature side by side, not in the DER encoding that `sign` returns.
    r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    signature = base64url_encode(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
    return f"vapid t={signed}.{signature}, k={base64url_encode(public_bytes(key))}"


def _derive(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def _json(fields: dict[str, Any]) -> str:
    return base64url_encode(json.dumps(fields, separators=(",", ":")).encode())
