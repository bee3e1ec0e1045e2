"""The context proxy: requests of other programs, forwarded and recorded as trees."""
