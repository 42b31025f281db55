"""The API of the official Python SDK, on Handrail."""
