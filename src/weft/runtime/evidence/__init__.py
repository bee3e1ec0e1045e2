"""Evidence for nodes: their provenance in one view, verification, bundles, and timestamps of authorities."""
