"""The bars of the stores, each next to a floor or a peer measured in the same run."""
