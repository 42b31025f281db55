"""A client of a running bridge: the native protocol with reconnection, and one session of it."""
