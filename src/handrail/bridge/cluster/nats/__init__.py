"""The connection of a machine to NATS, the names used on it, and its errors."""
