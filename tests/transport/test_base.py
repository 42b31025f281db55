"""Common parts of all transports."""

from __future__ import annotations

import pytest

from handrail.transport import Ending, TransportClosed
from handrail.transport.memory import MemoryTransport


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (Ending(), "ended"),
        (Ending(code=0), "exit code 0"),
        (Ending(code=1, stderr="no"), "exit code 1"),
        (Ending(signal="SIGKILL"), "killed by SIGKILL"),
    ],
)
def test_ending_in_words(ending: Ending, words: str):
    assert ending.describe() == words


def test_transport_closed_is_a_connection_error():
    assert issubclass(TransportClosed, ConnectionError)


def test_default_pid_and_stderr():
    transport = MemoryTransport()
    assert (transport.pid, transport.stderr, transport.can_control) == (None, "", True)
