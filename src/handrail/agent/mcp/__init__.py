"""MCP servers: child processes, addresses, and those that run in the host."""
