"""From a command to who carries it out."""

from typing import assert_never

from weft.commands import actions as v
from weft.runtime.collaboration.commands.context import CommandContext, CommandOutcome
from weft.runtime.collaboration.commands.continue_command import run_continue
from weft.runtime.collaboration.commands.document_commands import read_document, write_document
from weft.runtime.collaboration.commands.memory_commands import run_memory_command
from weft.runtime.collaboration.commands.node_commands import run_node_command
from weft.runtime.collaboration.commands.queries import run_query
from weft.runtime.collaboration.commands.reference_commands import run_reference_command

__all__ = ["dispatch"]


def dispatch(context: CommandContext) -> CommandOutcome:
    """Do what a command asks for, or raise and change nothing."""
    match context.command.action:
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
            return run_query(context, action)
        case (v.Think() | v.Pin() | v.Stash() | v.Recall() | v.Drop() | v.Memory()) as action:
            return run_memory_command(context, action)
        case (
            v.Respond() | v.Annotate() | v.Edit() | v.Merge() | v.Split() | v.Join() | v.Attach()
        ) as action:
            return run_node_command(context, action)
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
            return run_reference_command(context, action)
        case v.Continue() as action:
            return run_continue(context, action)
        case v.Read() as action:
            return read_document(context, action)
        case v.Write() as action:
            return write_document(context, action)
        case _:
            assert_never(context.command.action)
