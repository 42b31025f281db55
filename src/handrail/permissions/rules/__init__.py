"""Permission rules and what they mean."""
