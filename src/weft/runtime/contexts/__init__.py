"""Contexts over a store: read a path, choose settings and items, and run the engine on them."""
