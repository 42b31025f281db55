"""Where a server listens. In: an address and a port. Out: a socket that is bound, or why there is none."""

from __future__ import annotations

import errno
import socket

from handrail.bridge.errors import AddressRefused
from handrail.bridge.web.addresses import is_loopback

__all__ = ["check_address", "listen"]

WAITING = 512
"""So many may knock before they are let in."""


def check_address(host: str, *, secure: bool, insecure: bool = False) -> None:
    """AddressRefused where other machines could come in over a way that anybody can listen to."""
    if not (secure or insecure or is_loopback(host)):
        raise AddressRefused(
            f"{host or 'every address'} is beyond this machine, and without TLS everybody on the way can read along: "
            "give --tls-cert and --tls-key, or --insecure where the network itself is private"
        )


def listen(host: str, port: int, tries: int = 1) -> socket.socket:
    """A socket on the port, or on the first free one after it. AddressRefused."""
    family, address = _resolved(host)
    for candidate in range(port, port + tries):
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, candidate))
            listener.listen(WAITING)
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise AddressRefused(f"cannot listen on {host} port {candidate}: {error.strerror or error}") from None
            continue
        return listener
    ports = f"port {port} is" if tries == 1 else f"the ports {port} to {port + tries - 1} are"
    raise AddressRefused(f"{ports} in use: stop who uses it, or name another with --port (0 takes any that is free)")


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, ValueError) as error:  # a name may be none at all
        why = getattr(error, "strerror", "") or "this is no name of a host"
        raise AddressRefused(f"cannot listen on {host}: {why}") from None
    return family, str(address[0])
