"""Web push by the book: the example of RFC 8291, byte for byte; a VAPID header that a push service accepts."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from handrail.bridge.web.push_encryption import authorization, encrypted, from_text, public_bytes, to_text

SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
P256DH = from_text("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
AUTH = from_text("BTBZMqHH6r4Tts7J_aSIgg")
SALT = from_text("DGv6ra1nlYgDCS1FRnbzlw")
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
    "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def sender() -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(from_text(SENDER), "big"), ec.SECP256R1())


def test_the_example_of_the_rfc():
    text = b"When I grow up, I want to be a watermelon"
    assert to_text(encrypted(text, P256DH, AUTH, sender=sender(), salt=SALT)) == BODY


@pytest.mark.parametrize(
    ("text", "p256dh", "auth"),
    [
        (b"x" * 4000, P256DH, AUTH),
        (b"", P256DH[:-1], AUTH),
        (b"", b"\x04" + b"\x01" * 64, AUTH),
        (b"", P256DH, b"short"),
    ],
)
def test_keys_that_are_none_and_texts_that_are_too_long_are_refused(text: bytes, p256dh: bytes, auth: bytes):
    with pytest.raises(ValueError, match="push|P-256|16 bytes"):
        encrypted(text, p256dh, auth, sender=sender(), salt=SALT)


def test_the_header_is_signed_for_the_origin_of_the_endpoint():
    key = sender()
    header = authorization("https://push.example:8443/send/abc?x=1", key, 1_000_000)
    token, _, public = header.removeprefix("vapid t=").partition(", k=")
    head, claims, signature = token.split(".")
    assert json.loads(from_text(head)) == {"typ": "JWT", "alg": "ES256"}
    told = json.loads(from_text(claims))
    assert (told["aud"], told["exp"]) == ("https://push.example:8443", 1_000_000 + 12 * 3600)
    assert from_text(public) == public_bytes(key)
    raw = from_text(signature)
    pair = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key.public_key().verify(pair, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
