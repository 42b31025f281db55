"""Where a server listens: on this machine unless it is safe or wanted otherwise, on a port that is free."""

from __future__ import annotations

import socket

import pytest

from handrail.bridge.errors import AddressRefused
from handrail.bridge.web.http_server import check_address, listen


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.1", "example.com"])
def test_other_machines_come_in_over_tls_or_when_somebody_says_so(host: str):
    with pytest.raises(AddressRefused, match="--tls-cert"):
        check_address(host, secure=False)
    check_address(host, secure=True)
    check_address(host, secure=False, insecure=True)


def test_a_port_in_use_is_reported_in_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(AddressRefused, match=rf"port {port} is in use; .* --port"):
            listen("127.0.0.1", port)


def test_the_next_port_that_is_free_is_taken_where_several_may_be():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with listen("127.0.0.1", port, 50) as found:
            assert port < found.getsockname()[1] < port + 50


@pytest.mark.parametrize("host", ["no such name", "\xe9" * 70])
def test_what_is_no_host_is_told_in_a_sentence(host: str):
    with pytest.raises(AddressRefused, match="cannot listen on"):
        listen(host, 0)
