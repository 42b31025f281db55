"""Attacks on a running server, each with what a safe server answers."""
