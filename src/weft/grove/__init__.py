"""The Python face: a grove, and the trees, nodes, documents, projects, vaults and agents one can act on."""
