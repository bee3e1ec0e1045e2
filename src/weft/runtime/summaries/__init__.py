"""Summaries: a sentence for a node, two for a tree, one for a document, in the background or on demand."""
