"""The wire side: lines in, lines out, and the end of the process."""
