"""Certificates that are good, and what is said of those that are not."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest

from handrail.bridge.web import tls
from handrail.bridge.web.tls import TlsRefused, tls_context
from tests.bridge.certificate import own_certificate
from tests.bridge.serving import running


def test_a_certificate_and_its_key_make_a_context_for_servers(tmp_path: Path):
    context = tls_context(*own_certificate(tmp_path))
    assert context.protocol is ssl.PROTOCOL_TLS_SERVER
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def refusal(certificate: Path, key: Path) -> str:
    with pytest.raises(TlsRefused) as refused:
        tls_context(certificate, key)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_what_is_wrong_with_them_is_told_in_a_sentence(tmp_path: Path):
    (tmp_path / "other").mkdir()
    certificate, key = own_certificate(tmp_path)
    _, other = own_certificate(tmp_path / "other")
    (no_pem := tmp_path / "no.pem").write_text("this is no certificate\n")
    (empty := tmp_path / "empty.pem").touch()
    assert refusal(tmp_path / "missing.pem", key).endswith("missing.pem cannot be read: No such file or directory")
    assert refusal(certificate, tmp_path).endswith("cannot be read: Is a directory")
    assert "the key does not match the certificate" in refusal(certificate, other)
    for bad in (no_pem, empty):
        assert "not a PEM file" in refusal(bad, key)
        assert "not a PEM file" in refusal(certificate, bad)
    assert "not a PEM file" in refusal(key, certificate)


def test_a_locked_key_is_refused_and_nobody_is_asked_for_its_password(tmp_path: Path):
    certificate, key = own_certificate(tmp_path, password=b"secret")
    assert "is encrypted" in refusal(certificate, key)


@pytest.mark.parametrize(("days", "words"), [((-2, -1), "expired at"), ((1, 2), "is valid from")])
def test_one_out_of_its_time_is_told_with_it_f40(tmp_path: Path, days: tuple[float, float], words: str):
    assert words in refusal(*own_certificate(tmp_path, days=days))


async def test_a_server_does_not_start_with_one_that_has_expired_f40(tmp_path: Path):
    certificate, key = own_certificate(tmp_path, days=(-2, -1))
    with pytest.raises(TlsRefused, match="expired at"):
        async with running(tmp_path, certificate=certificate, key=key):
            pass


async def test_a_new_one_is_in_use_without_a_restart_and_a_bad_one_never_f40(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(tls, "EVERY", 0.01)
    certificate, key = own_certificate(tmp_path)
    async with asyncio.timeout(30), running(tmp_path, certificate=certificate, key=key) as one:
        first = await shown(one.port)
        own_certificate(tmp_path, days=(-2, -1))
        while "expired at" not in caplog.text:  # noqa: ASYNC110 - a log tells nobody
            await asyncio.sleep(0.01)
        assert await shown(one.port) == first
        own_certificate(tmp_path)
        while await shown(one.port) == first:  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.01)


async def shown(port: int) -> bytes:
    """The certificate that whoever comes now is shown."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    with contextlib.suppress(OSError, ssl.SSLError):
        await writer.wait_closed()
    return found
