"""The errors of the protocol."""

from handrail.errors import CallerError, PeerError
from handrail.protocol import LocalProtocolError, ProtocolError, RemoteProtocolError


def test_an_error_says_which_side_violated_the_protocol():
    assert LocalProtocolError.__bases__ == (ProtocolError, CallerError)
    assert RemoteProtocolError.__bases__ == (ProtocolError, PeerError)
