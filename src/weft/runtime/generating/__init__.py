"""Calling models: from a place in a tree and some wishes to nodes, whatever happens in between."""
