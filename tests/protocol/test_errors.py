"""The errors of the protocol."""

from handrail.protocol import HandrailError, LocalProtocolError, ProtocolError, RemoteProtocolError


def test_errors_form_one_tree():
    assert [error.__mro__[1] for error in (LocalProtocolError, RemoteProtocolError)] == [ProtocolError, ProtocolError]
    assert issubclass(ProtocolError, HandrailError)
