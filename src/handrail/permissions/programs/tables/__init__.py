"""Descriptions of programs, one module per family. Data only; `description` explains the notation."""
