"""Views: everything a face shows of trees, documents and history, read in a fixed number of queries."""
