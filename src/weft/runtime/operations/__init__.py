"""Everything that can be done to a grove, the same for people and models.

An operation is a value: what is to be done. The executor checks who may, runs it in one
transaction, and every one appends its event.
"""
