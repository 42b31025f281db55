"""MCP servers: children, addresses, and those that live in the host."""
