"""Decisions about the tools for files and addresses."""
