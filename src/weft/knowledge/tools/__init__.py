"""Tools of a turn: their output precedes the question, in that turn only."""
