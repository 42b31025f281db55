"""The example of RFC 8291 byte for byte, and the VAPID header of RFC 8292."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from handrail.bridge.web.push_encryption import (
    base64url_decode,
    base64url_encode,
    encrypt,
    public_bytes,
    vapid_header,
)

SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
P256DH = base64url_decode("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
AUTH = base64url_decode("BTBZMqHH6r4Tts7J_aSIgg")
SALT = base64url_decode("DGv6ra1nlYgDCS1FRnbzlw")
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
    "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def sender() -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(base64url_decode(SENDER), "big"), ec.SECP256R1())


def test_rfc_8291_example():
    text = b"When I grow up, I want to be a watermelon"
    assert base64url_encode(encrypt(text, P256DH, AUTH, sender=sender(), salt=SALT)) == BODY


@pytest.mark.parametrize(
    ("text", "p256dh", "auth"),
    [
        (b"x" * 4000, P256DH, AUTH),
        (b"", P256DH[:-1], AUTH),
        (b"", b"\x04" + b"\x01" * 64, AUTH),
        (b"", P256DH, b"short"),
    ],
)
def test_invalid_keys_and_long_texts_are_rejected(text: bytes, p256dh: bytes, auth: bytes):
    with pytest.raises(ValueError, match="push|P-256|16 bytes"):
        encrypt(text, p256dh, auth, sender=sender(), salt=SALT)


def test_header_is_signed_for_the_origin_of_the_endpoint():
    key = sender()
    header = vapid_header("https://push.example:8443/send/abc?x=1", key, 1_000_000)
    token, _, public = header.removeprefix("vapid t=").partition(", k=")
    head, claims, signature = token.split(".")
    assert json.loads(base64url_decode(head)) == {"typ": "JWT", "alg": "ES256"}
    decoded = json.loads(base64url_decode(claims))
    assert (decoded["aud"], decoded["exp"]) == ("https://push.example:8443", 1_000_000 + 12 * 3600)
    assert base64url_decode(public) == public_bytes(key)
    raw = base64url_decode(signature)
    pair = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key.public_key().verify(pair, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
