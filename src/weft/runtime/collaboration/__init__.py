"""Agents at work in a tree, together with people."""
