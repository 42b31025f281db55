"""Parsing of NATS addresses, credentials files and TLS files."""

from pathlib import Path

import pytest
from nats.aio.client import RawCredentials

from handrail.bridge.cluster.configuration import ClusterConfiguration, checked_label, checked_name, default_name
from handrail.bridge.cluster.nats.address import parse_address, tls_context
from handrail.bridge.cluster.nats.credentials import login_options, new_seed, public_key
from handrail.bridge.errors import ClusterRefused
from tests.bridge.certificate import own_certificate

JWT = "-----BEGIN NATS USER JWT-----\neyJ0.eyJq.c2ln\n------END NATS USER JWT------\n"
JWT_SEED = "-----BEGIN USER NKEY SEED-----\nSUAB\n------END USER NKEY SEED------\n"


def test_missing_scheme_and_port_are_filled_in() -> None:
    found = parse_address("nats://127.0.0.1:4223, localhost,nats://[::1]")
    assert found.servers == ("nats://127.0.0.1:4223", "nats://localhost:4222", "nats://[::1]:4222")
    assert not found.secure


@pytest.mark.parametrize(
    "url",
    [
        "nats://me:hunter2@127.0.0.1:4222",
        "nats://hunter2@127.0.0.1",
        "nats://127.0.0.1?token=hunter2",
        "nats://127.0.0.1/#hunter2",
        "nats://127.0.0.1:4222,nats://me:hunter2@127.0.0.1:4223",
    ],
)
def test_secret_in_address_is_rejected_and_not_quoted(url: str) -> None:
    with pytest.raises(ClusterRefused, match="put credentials in a file") as refused:
        parse_address(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["", ",", "http://127.0.0.1", "nats://", "nats://a b", "nats://127.0.0.1:0", "nats://127.0.0.1:99999", "a\nb"],
)
def test_invalid_address_is_rejected(url: str) -> None:
    with pytest.raises(ClusterRefused):
        parse_address(url)
    with pytest.raises(ClusterRefused):
        parse_address(",".join(["127.0.0.1"] * 33))


def test_remote_server_needs_tls_unless_insecure_is_allowed() -> None:
    for url in (
        "nats://box:4222",
        "nats://127.0.0.1,nats://box",
        "tls://box,nats://10.0.0.2",
        "nats://127.0.0.1.nip.io",
    ):
        with pytest.raises(ClusterRefused, match="without TLS"):
            parse_address(url)
    assert parse_address("tls://box").secure
    assert parse_address("nats://box", ca=Path("ca.pem")).secure
    assert not parse_address("nats://box", insecure=True).secure


def test_format_of_credentials_is_detected_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    here = parse_address("nats://127.0.0.1", credentials=file)
    seed = new_seed()
    assert seed.startswith("SU")
    assert public_key(seed).startswith("U")
    for text, expected in (
        (f"{seed}\n", {"nkeys_seed_str": seed}),
        ("me:a:b c\n", {"user": "me", "password": "a:b c"}),
    ):
        file.write_text(text)
        file.chmod(0o600)
        assert login_options(here) == expected
    file.write_text(JWT + JWT_SEED)
    loaded = login_options(here)["user_credentials"]
    assert isinstance(loaded, RawCredentials)
    assert "eyJ0.eyJq" in loaded
    assert login_options(parse_address("nats://127.0.0.1")) == {}


def test_credentials_file_must_be_private_and_valid(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    here = parse_address("nats://127.0.0.1", credentials=file)
    with pytest.raises(ClusterRefused, match="No such file"):
        login_options(here)
    file.write_text("me:hunter2")
    file.chmod(0o640)
    with pytest.raises(ClusterRefused, match=r"readable by other users \(mode 0640\)"):
        login_options(here)
    file.chmod(0o600)
    seed = new_seed()
    swapped = seed[:20] + ("A" if seed[20] != "A" else "B") + seed[21:]
    for bad in (
        b"",
        b"hunter2",
        b":hunter2",
        b"a:b\nc:d",
        JWT.encode(),
        b"\xff\xfe",
        b"-----BEGIN x: hunter2",
        swapped.encode(),
    ):
        file.write_bytes(bad)
        with pytest.raises(ClusterRefused) as refused:
            login_options(here)
        assert "hunter2" not in str(refused.value)
        assert swapped not in str(refused.value)


def test_unusable_tls_files_are_rejected(tmp_path: Path) -> None:
    certificate, key = own_certificate(tmp_path)
    assert tls_context(parse_address("nats://127.0.0.1")) is None
    assert tls_context(parse_address("tls://127.0.0.1")) is not None
    assert tls_context(parse_address("nats://127.0.0.1", ca=certificate, certificate=certificate, key=key)) is not None
    with pytest.raises(ClusterRefused, match="must be given together"):
        parse_address("nats://127.0.0.1", certificate=certificate)
    for wrong in (tmp_path / "missing.pem", key):
        with pytest.raises(ClusterRefused, match=wrong.name):
            tls_context(parse_address("nats://127.0.0.1", ca=wrong))


def test_machine_names_and_labels_are_valid_in_subjects() -> None:
    assert checked_name(default_name())
    assert checked_label("gpu-1") == "gpu-1"
    for bad in ("", "a.b", "*", ">", "a b", "-a", "a" * 64, "ä"):
        with pytest.raises(ClusterRefused):
            checked_name(bad)
        with pytest.raises(ClusterRefused):
            checked_label(bad)


def test_role_and_replicas_follow_from_the_configuration() -> None:
    one, three = parse_address("127.0.0.1"), parse_address("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")
    assert ClusterConfiguration(address=one).role == "both"
    assert ClusterConfiguration(address=one, runs=False).role == "gateway"
    assert ClusterConfiguration(address=one, page=False).role == "runner"
    assert [ClusterConfiguration(address=one).copies(servers) for servers in (0, 1, 2, 3, 5)] == [1, 1, 1, 3, 3]
    assert ClusterConfiguration(address=three).copies(0) == 3
    assert ClusterConfiguration(address=three, replicas=1).copies(3) == 1
