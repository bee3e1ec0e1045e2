"""Evidence: hashes that chain what was written after what."""
