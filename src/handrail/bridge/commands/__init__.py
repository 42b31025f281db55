"""Every command of a client."""
