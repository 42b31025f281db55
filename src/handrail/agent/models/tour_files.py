"""What the tour of the built-in script writes: an image of one pixel and a notebook of one cell."""

from __future__ import annotations

__all__ = ["DOT_PNG", "NOTEBOOK"]

DOT_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mPQqzUCAAG6AN76d2wkAAAAAElFTkSuQmCC"
"""Base64."""
NOTEBOOK = """{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "sum",
   "metadata": {},
   "outputs": [],
   "source": ["print(1 + 1)"]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""
