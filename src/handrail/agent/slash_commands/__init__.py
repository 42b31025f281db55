"""Prompts that begin with a slash."""
