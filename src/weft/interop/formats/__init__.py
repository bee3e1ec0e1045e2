"""Formats of other programs, one module each: how a file is recognised and how its records are read."""
