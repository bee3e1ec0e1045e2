"""From a command to who carries it out."""

from typing import assert_never

from weft.commands import actions as v
from weft.runtime.commanding.asking import ask
from weft.runtime.commanding.desk import Desk, Outcome
from weft.runtime.commanding.looking import look
from weft.runtime.commanding.making import make
from weft.runtime.commanding.marking import mark
from weft.runtime.commanding.remembering import remember
from weft.runtime.commanding.writing import read_document, write_document

__all__ = ["carry_out"]


def carry_out(desk: Desk) -> Outcome:
    """Do what a command asks for, or raise and change nothing."""
    match desk.command.action:
        case (
            v.View()
            | v.ViewBranch()
            | v.ViewResult()
            | v.List()
            | v.Tree()
            | v.Switch()
            | v.Search()
            | v.Help()
        ) as action:
            return look(desk, action)
        case (v.Think() | v.Pin() | v.Stash() | v.Recall() | v.Drop() | v.Memory()) as action:
            return remember(desk, action)
        case (
            v.Respond() | v.Annotate() | v.Edit() | v.Merge() | v.Split() | v.Join() | v.Attach()
        ) as action:
            return make(desk, action)
        case (
            v.Link()
            | v.Unlink()
            | v.Tag()
            | v.Untag()
            | v.Bookmark()
            | v.Unbookmark()
            | v.Prune()
            | v.Restore()
            | v.Exclude()
            | v.Include()
            | v.Collapse()
            | v.Expand()
            | v.Undo()
            | v.Redo()
        ) as action:
            return mark(desk, action)
        case v.Continue() as action:
            return ask(desk, action)
        case v.Read() as action:
            return read_document(desk, action)
        case v.Write() as action:
            return write_document(desk, action)
        case _:
            assert_never(desk.command.action)
