"""The version of the official package that this one matches."""

__all__ = ["__version__"]

__version__ = "0.2.182"
