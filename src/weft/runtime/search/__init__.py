"""Search: full text over nodes, documents, titles and tags."""
