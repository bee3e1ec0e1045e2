"""Carrying out commands as an agent: one handler a group of commands, one session a run."""
