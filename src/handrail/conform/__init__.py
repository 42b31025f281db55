"""Checks whether an executable follows the stream-json and control protocol."""
