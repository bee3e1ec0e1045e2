"""Generations: models continue a node, and what they say becomes nodes whatever happens in between."""
