"""A session of one machine, followed on another."""
