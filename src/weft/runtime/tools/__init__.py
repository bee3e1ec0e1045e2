"""Tools over a grove: which are offered, who may run them, within which limits, and what becomes of results."""
