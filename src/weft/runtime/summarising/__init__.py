"""One sentence for a node, two for a tree, one for a document: made in the background, or when they are needed."""
