"""Loading, checking and renewing the server's certificate."""

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


def test_context_is_created_for_a_server(tmp_path: Path):
    context = tls_context(*own_certificate(tmp_path))
    assert context.protocol is ssl.PROTOCOL_TLS_SERVER
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def refusal(certificate: Path, key: Path) -> str:
    with pytest.raises(TlsRefused) as refused:
        tls_context(certificate, key)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_unusable_files_are_explained(tmp_path: Path):
    (tmp_path / "other").mkdir()
    certificate, key = own_certificate(tmp_path)
    _, other = own_certificate(tmp_path / "other")
    (not_pem := tmp_path / "not.pem").write_text("not a certificate\n")
    (empty := tmp_path / "empty.pem").touch()
    assert refusal(tmp_path / "missing.pem", key).endswith("missing.pem cannot be read: No such file or directory")
    assert refusal(certificate, tmp_path).endswith("cannot be read: Is a directory")
    assert "the private key does not match the certificate" in refusal(certificate, other)
    for bad in (not_pem, empty):
        assert "not a PEM file" in refusal(bad, key)
        assert "not a PEM file" in refusal(certificate, bad)
    assert "not a PEM file" in refusal(key, certificate)


def test_encrypted_key_is_refused_without_a_prompt(tmp_path: Path):
    certificate, key = own_certificate(tmp_path, password=b"secret")
    assert "protected by a password" in refusal(certificate, key)


@pytest.mark.parametrize(("days", "words"), [((-2, -1), "expired at"), ((1, 2), "is not valid before")])
def test_validity_dates_are_checked_f40(tmp_path: Path, days: tuple[float, float], words: str):
    assert words in refusal(*own_certificate(tmp_path, days=days))


async def test_server_does_not_start_with_an_expired_certificate_f40(tmp_path: Path):
    certificate, key = own_certificate(tmp_path, days=(-2, -1))
    with pytest.raises(TlsRefused, match="expired at"):
        async with running(tmp_path, certificate=certificate, key=key):
            pass


async def test_renewed_certificate_is_loaded_without_a_restart_f40(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(tls, "CHECK_SECONDS", 0.01)
    certificate, key = own_certificate(tmp_path)
    async with asyncio.timeout(30), running(tmp_path, certificate=certificate, key=key) as one:
        first = await presented_certificate(one.port)
        own_certificate(tmp_path, days=(-2, -1))
        while "expired at" not in caplog.text:  # noqa: ASYNC110 - a log record sets no event
            await asyncio.sleep(0.01)
        assert await presented_certificate(one.port) == first
        own_certificate(tmp_path)
        while await presented_certificate(one.port) == first:  # noqa: ASYNC110 - a reload sets no event
            await asyncio.sleep(0.01)


async def test_certificate_is_loaded_after_many_replacements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tls, "CHECK_SECONDS", 0)
    certificate, key = own_certificate(tmp_path)
    context = tls_context(certificate, key)
    watching = asyncio.create_task(tls.watch_certificate(context, certificate, key))

    def replace_files() -> None:
        for _ in range(200):  # the watcher sees empty files, and a certificate beside the key of another
            own_certificate(tmp_path)

    await asyncio.to_thread(replace_files)
    assert not watching.done()
    watching.cancel()


async def presented_certificate(port: int) -> bytes:
    """The certificate that the server presents to a new connection."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    with contextlib.suppress(OSError, ssl.SSLError):
        await writer.wait_closed()
    return found
