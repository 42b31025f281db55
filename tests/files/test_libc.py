"""The C library is loaded once."""

from handrail.files.libc import libc


def test_library_is_loaded_once():
    assert libc() is libc()
    assert libc().getpid() > 0
