"""Events of a grove in one order: the log, read in batches from a cursor, and subscriptions to new ones."""
