"""Where a cluster is: what an address may hold, and which files say who one is."""

from pathlib import Path

import pytest
from nats.aio.client import RawCredentials

from handrail.bridge.cluster.configuration import ClusterConfiguration, checked_label, checked_name, default_name
from handrail.bridge.cluster.link.address import address, login, tls
from handrail.bridge.cluster.link.nkey import new_seed, public_key
from handrail.bridge.errors import ClusterRefused
from tests.bridge.certificate import own_certificate

JWT = "-----BEGIN NATS USER JWT-----\neyJ0.eyJq.c2ln\n------END NATS USER JWT------\n"
JWT_SEED = "-----BEGIN USER NKEY SEED-----\nSUAB\n------END USER NKEY SEED------\n"


def test_servers_are_spelt_in_full() -> None:
    found = address("nats://127.0.0.1:4223, localhost,nats://[::1]")
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
def test_a_secret_in_the_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ClusterRefused, match="name a file") as refused:
        address(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["", ",", "http://127.0.0.1", "nats://", "nats://a b", "nats://127.0.0.1:0", "nats://127.0.0.1:99999", "a\nb"],
)
def test_what_is_no_address_is_refused_in_words(url: str) -> None:
    with pytest.raises(ClusterRefused):
        address(url)
    with pytest.raises(ClusterRefused):
        address(",".join(["127.0.0.1"] * 33))


def test_beyond_this_machine_it_must_be_tls_unless_somebody_allows_it() -> None:
    for url in (
        "nats://box:4222",
        "nats://127.0.0.1,nats://box",
        "tls://box,nats://10.0.0.2",
        "nats://127.0.0.1.nip.io",
    ):
        with pytest.raises(ClusterRefused, match="without TLS"):
            address(url)
    assert address("tls://box").secure
    assert address("nats://box", ca=Path("ca.pem")).secure
    assert not address("nats://box", insecure=True).secure


def test_each_kind_of_credentials_is_told_by_what_stands_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "who"
    here = address("nats://127.0.0.1", credentials=file)
    seed = new_seed()
    assert seed.startswith("SU")
    assert public_key(seed).startswith("U")
    for text, expected in (
        (f"{seed}\n", {"nkeys_seed_str": seed}),
        ("me:a:b c\n", {"user": "me", "password": "a:b c"}),
    ):
        file.write_text(text)
        file.chmod(0o600)
        assert login(here) == expected
    file.write_text(JWT + JWT_SEED)
    told = login(here)["user_credentials"]
    assert isinstance(told, RawCredentials)
    assert "eyJ0.eyJq" in told
    assert login(address("nats://127.0.0.1")) == {}


def test_credentials_that_others_can_read_or_that_are_none_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "who"
    here = address("nats://127.0.0.1", credentials=file)
    with pytest.raises(ClusterRefused, match="No such file"):
        login(here)
    file.write_text("me:hunter2")
    file.chmod(0o640)
    with pytest.raises(ClusterRefused, match=r"others may read .* \(mode 0640\)"):
        login(here)
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
            login(here)
        assert "hunter2" not in str(refused.value)
        assert swapped not in str(refused.value)


def test_files_for_tls_are_read_before_anything_is_opened(tmp_path: Path) -> None:
    certificate, key = own_certificate(tmp_path)
    assert tls(address("nats://127.0.0.1")) is None
    assert tls(address("tls://127.0.0.1")) is not None
    assert tls(address("nats://127.0.0.1", ca=certificate, certificate=certificate, key=key)) is not None
    with pytest.raises(ClusterRefused, match="go together"):
        address("nats://127.0.0.1", certificate=certificate)
    for wrong in (tmp_path / "missing.pem", key):
        with pytest.raises(ClusterRefused, match=wrong.name):
            tls(address("nats://127.0.0.1", ca=wrong))


def test_a_machine_has_a_name_that_can_stand_in_a_subject() -> None:
    assert checked_name(default_name())
    assert checked_label("gpu-1") == "gpu-1"
    for bad in ("", "a.b", "*", ">", "a b", "-a", "a" * 64, "ä"):
        with pytest.raises(ClusterRefused):
            checked_name(bad)
        with pytest.raises(ClusterRefused):
            checked_label(bad)


def test_the_role_of_a_machine_and_the_copies_it_asks_for() -> None:
    one, three = address("127.0.0.1"), address("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")
    assert ClusterConfiguration(address=one).role == "both"
    assert ClusterConfiguration(address=one, runs=False).role == "gateway"
    assert ClusterConfiguration(address=one, page=False).role == "runner"
    assert [ClusterConfiguration(address=one).copies(servers) for servers in (0, 1, 2, 3, 5)] == [1, 1, 1, 3, 3]
    assert ClusterConfiguration(address=three).copies(0) == 3
    assert ClusterConfiguration(address=three, replicas=1).copies(3) == 1
