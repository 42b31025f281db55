"""The C library is loaded once."""

from handrail.files.libc import libc


def test_the_library_is_there_and_loaded_once():
    assert libc() is libc()
    assert libc().getpid() > 0
