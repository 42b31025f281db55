"""What every transport shares."""

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
def test_an_ending_is_told_in_words(ending: Ending, words: str):
    assert ending.describe() == words


def test_closed_is_a_connection_error_so_that_whoever_catches_those_catches_it():
    assert issubclass(TransportClosed, ConnectionError)


def test_a_transport_has_no_process_and_no_last_words_unless_it_says_so():
    transport = MemoryTransport()
    assert (transport.pid, transport.stderr, transport.can_control) == (None, "", True)
