"""Filters: plain callables from messages to messages, chained in a list, with an account of what each did."""
