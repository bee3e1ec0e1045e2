"""Commands at work: what an agent says is carried out on a tree, answered, and remembered."""
