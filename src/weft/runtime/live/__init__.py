"""What goes on now: runs that any client may follow or stop, and the feed that carries their text."""
