"""The REST side: one file per noun, one table of routes."""
