"""Formats of files, one module each: what stands where in a file, not what it means in a grove."""
