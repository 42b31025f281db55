"""How a cluster is set up: servers, roles, keys, certificates."""
