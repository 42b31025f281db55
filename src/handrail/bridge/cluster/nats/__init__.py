"""The connection of a machine to NATS."""
