"""SHA-256 with Pythons that are built without one module or another."""

from __future__ import annotations

import hashlib
import sys

import pytest

from handrail.settings.sha256 import sha256_of


@pytest.mark.parametrize("missing", [(), ("_sha256",), ("_sha256", "_sha2")])
def test_digest_is_the_same_with_every_build_of_python(missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch):
    expected = hashlib.sha256(b"some bytes").hexdigest()
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    assert sha256_of(b"some bytes") == expected
