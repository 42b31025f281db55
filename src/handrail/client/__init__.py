"""The SDK: drives a CLI-compatible agent from Python."""
