"""Other agents behind the CLI's protocol: Handrail as the client of an ACP agent."""
