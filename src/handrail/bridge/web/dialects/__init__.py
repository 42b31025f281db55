"""Ways to speak with clients."""
