"""Setting up a cluster: NATS server configuration, roles, keys and certificates."""
