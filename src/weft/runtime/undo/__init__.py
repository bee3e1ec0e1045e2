"""Undo and redo: the operations, the reversal of each kind of event, and the conflicts that prevent one."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Reversing loads every kind of operation; few programs undo.
    from weft.runtime.undo.undo import Redo, Undo
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = ["Redo", "Undo"]
