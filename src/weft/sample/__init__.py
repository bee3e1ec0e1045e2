"""Sample trees to look at: three stories in the making, planted by code, with nothing recorded elsewhere."""
