"""The Agent Client Protocol: editors in front of a session, other agents behind one."""
