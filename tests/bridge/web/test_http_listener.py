"""Listening addresses: loopback unless TLS or an option allows others, and a free port."""

from __future__ import annotations

import socket

import pytest

from handrail.bridge.errors import AddressRefused
from handrail.bridge.web.http_server import check_address, listen


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.1", "example.com"])
def test_other_addresses_need_tls_or_an_option(host: str):
    with pytest.raises(AddressRefused, match="--tls-cert"):
        check_address(host, secure=False)
    check_address(host, secure=True)
    check_address(host, secure=False, insecure=True)


def test_port_in_use_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(AddressRefused, match=rf"port {port} is in use; .* --port"):
            listen("127.0.0.1", port)


def test_next_free_port_is_used():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with listen("127.0.0.1", port, 50) as found:
            assert port < found.getsockname()[1] < port + 50


@pytest.mark.parametrize("host", ["no such name", "\xe9" * 70])
def test_invalid_host_is_reported(host: str):
    with pytest.raises(AddressRefused, match="cannot listen on"):
        listen(host, 0)
