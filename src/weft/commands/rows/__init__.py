"""One row a command: all that is known of it, as data."""
