"""The address and the certificate for a phone."""

from __future__ import annotations

import ipaddress
import json
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from handrail.bridge.web.phone import prepare_phone
from handrail.bridge.web.tls import tls_context
from tests.bridge.certificate import own_certificate

NUMBER = "198.51.100.7"
TAILSCALE = """#!/bin/sh
case "$1" in
status) cat {state} ;;
cert)
  for word; do
    case $word in
    --cert-file=*) cp {certificate} "${{word#*=}}" ;;
    --key-file=*) cat {key} > "${{word#*=}}" ;;
    esac
  done
  echo "$@" > {called} ;;
esac
"""


@pytest.fixture(autouse=True)
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "bin"


def tailscale(folder: Path, bin: Path, **state: object) -> None:
    certificate, key = own_certificate(folder)
    (folder / "state.json").write_text(json.dumps(state))
    words = {"state": folder / "state.json", "certificate": certificate, "key": key, "called": folder / "called"}
    (bin / "tailscale").write_text(TAILSCALE.format(**words))
    (bin / "tailscale").chmod(0o755)


def test_certificate_made_here_is_for_the_local_number_and_kept(tmp_path: Path):
    phone = prepare_phone(tmp_path / "data", NUMBER)
    assert phone.name == NUMBER
    assert isinstance(tls_context(phone.certificate, phone.key), ssl.SSLContext)
    found = x509.load_pem_x509_certificate(phone.certificate.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert ipaddress.ip_address(phone.name) in names.get_values_for_type(x509.IPAddress)
    assert (found.not_valid_after_utc - found.not_valid_before_utc).days <= 398
    assert phone.key.stat().st_mode & 0o777 == 0o600
    assert len(phone.fingerprint.split(":")) == 32
    assert prepare_phone(tmp_path / "data", NUMBER) == phone


@pytest.mark.parametrize("broken", [b"", b"no certificate"])
def test_broken_certificate_is_made_again(tmp_path: Path, broken: bytes):
    before = prepare_phone(tmp_path / "data", NUMBER)
    before.certificate.write_bytes(broken)
    after = prepare_phone(tmp_path / "data", NUMBER)
    assert after.fingerprint != before.fingerprint
    after.key.unlink()
    assert prepare_phone(tmp_path / "data", NUMBER).fingerprint != after.fingerprint


def test_certificate_of_another_number_is_replaced(tmp_path: Path):
    phone = prepare_phone(tmp_path / "data", NUMBER)
    certificate, key = own_certificate(tmp_path)
    phone.certificate.write_bytes(certificate.read_bytes())
    phone.key.write_bytes(key.read_bytes())
    assert prepare_phone(tmp_path / "data", NUMBER).fingerprint != phone.fingerprint


def test_tailscale_gives_a_name_with_a_known_certificate(tmp_path: Path, empty_path: Path):
    tailscale(tmp_path, empty_path, BackendState="Running", CertDomains=["box.tail1234.ts.net"])
    phone = prepare_phone(tmp_path / "data", NUMBER)
    assert (phone.name, phone.fingerprint) == ("box.tail1234.ts.net", "")
    assert isinstance(tls_context(phone.certificate, phone.key), ssl.SSLContext)
    assert phone.key.stat().st_mode & 0o777 == 0o600
    assert "box.tail1234.ts.net" in (tmp_path / "called").read_text()


@pytest.mark.parametrize("state", [{"BackendState": "Stopped"}, {"BackendState": "Running", "CertDomains": None}])
def test_tailscale_without_certificates_is_left_alone(tmp_path: Path, empty_path: Path, state: dict[str, object]):
    tailscale(tmp_path, empty_path, **state)
    assert prepare_phone(tmp_path / "data", NUMBER).fingerprint
    (tmp_path / "state.json").write_text("[1]")
    assert prepare_phone(tmp_path / "data", NUMBER).fingerprint
