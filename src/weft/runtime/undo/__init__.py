"""Undo and redo: the operations, the reversal of each kind of event, and the conflicts that prevent one."""
