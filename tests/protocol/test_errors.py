"""Whose fault it is."""

from handrail.protocol import HandrailError, LocalProtocolError, ProtocolError, RemoteProtocolError


def test_an_error_says_whose_fault_it_is_and_all_have_one_root():
    assert [error.__mro__[1] for error in (LocalProtocolError, RemoteProtocolError)] == [ProtocolError, ProtocolError]
    assert issubclass(ProtocolError, HandrailError)
