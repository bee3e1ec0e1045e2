"""The context engine: from values to exactly what a model will see. No I/O, no clock, no globals."""

from weft.context.messages import Context, fit_messages

__all__ = ["Context", "fit_messages"]
