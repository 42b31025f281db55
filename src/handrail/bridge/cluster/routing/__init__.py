"""Commands and requests between the machines of a cluster."""
