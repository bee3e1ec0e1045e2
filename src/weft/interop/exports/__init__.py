"""Trees in the shapes of other programs and readers: one module each."""
