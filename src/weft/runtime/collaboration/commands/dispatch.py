"""From a command to who carries it out."""

from typing import assert_never

from weft.commands import actions as v
from weft.runtime.collaboration.commands.context import CommandContext, CommandOutcome
from weft.runtime.collaboration.commands.memory_commands import run_memory_command
from weft.runtime.collaboration.commands.node_commands import (
    read_document,
    run_continue,
    run_node_command,
    write_document,
)
from weft.runtime.collaboration.commands.queries import run_query
from weft.runtime.collaboration.commands.reference_commands import run_reference_command


def dispatch(context: CommandContext) -> CommandOutcome:
    """Do what a command asks for, or raise and change nothing."""
    match context.command.action:
        case (
            v.ViewCommand()
            | v.ViewBranchCommand()
            | v.ViewResultCommand()
            | v.ListCommand()
            | v.TreeCommand()
            | v.SwitchCommand()
            | v.SearchCommand()
            | v.HelpCommand()
        ) as action:
            return run_query(context, action)
        case (
            v.ThinkCommand()
            | v.PinCommand()
            | v.StashCommand()
            | v.RecallCommand()
            | v.DropCommand()
            | v.MemoryCommand()
        ) as action:
            return run_memory_command(context, action)
        case (
            v.RespondCommand()
            | v.AnnotateCommand()
            | v.EditCommand()
            | v.MergeCommand()
            | v.SplitCommand()
            | v.JoinCommand()
            | v.AttachCommand()
        ) as action:
            return run_node_command(context, action)
        case (
            v.LinkCommand()
            | v.UnlinkCommand()
            | v.TagCommand()
            | v.UntagCommand()
            | v.BookmarkCommand()
            | v.UnbookmarkCommand()
            | v.PruneCommand()
            | v.RestoreCommand()
            | v.ExcludeCommand()
            | v.IncludeCommand()
            | v.CollapseCommand()
            | v.ExpandCommand()
            | v.UndoCommand()
            | v.RedoCommand()
        ) as action:
            return run_reference_command(context, action)
        case v.ContinueCommand() as action:
            return run_continue(context, action)
        case v.ReadCommand() as action:
            return read_document(context, action)
        case v.WriteCommand() as action:
            return write_document(context, action)
        case _:
            assert_never(context.command.action)
