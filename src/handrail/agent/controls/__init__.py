"""Answers to the control requests of the host."""
