"""Requests in layers, from the most stable to the most volatile, so that a provider's cache can serve them."""
