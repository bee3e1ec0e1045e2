"""A grove on the move: files out and in, backups, copies between databases, a look at its health."""
