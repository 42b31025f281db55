"""The protocols that clients speak on sockets."""
