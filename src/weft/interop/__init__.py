"""File formats, one module each: their syntax, not their meaning in a grove."""
