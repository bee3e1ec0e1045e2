"""Tools of a turn: what they give stands before the question, in its turn and in no other."""
