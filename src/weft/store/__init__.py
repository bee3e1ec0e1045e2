"""Where a grove is kept: SQLite or PostgreSQL, one schema, one set of statements."""
