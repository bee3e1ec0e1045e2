"""Generations: models continue a node, and what they write is stored as nodes, also after failures."""
