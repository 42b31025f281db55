"""Which machines are there, and for how long each may count on it."""
