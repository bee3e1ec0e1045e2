"""Commands that keep in mind: think, pin, stash, recall, drop, memory."""

from typing import assert_never

from weft.commands import actions as v
from weft.commands import reply
from weft.context.agent_view.operational_memory import Showing, memory_view
from weft.context.tokens import DEFAULT
from weft.errors import InvalidInputError, InvalidSyntaxError, LimitExceededError, NotFoundError
from weft.ids import normalise_reference
from weft.runtime.collaboration.commands.context import CommandContext, CommandOutcome, unchanged
from weft.runtime.collaboration.commands.queries import no_result, summed_up, with_summaries
from weft.runtime.contexts.agent_memory import AgentMemory
from weft.runtime.contexts.loom_view import inline_tokens, words_of
from weft.runtime.operations.agent_memory import (
    DropStash,
    KeepPin,
    KeepStash,
    KeepThought,
    RecallStash,
    Unpin,
)
from weft.tree.agent import Permission
from weft.tree.document import section_of
from weft.tree.document import slug as slug_of
from weft.tree.json import JsonObject

_LONGEST_RANGE = 2_000
"""Nodes that one stash may sum up."""


def run_memory_command(context: CommandContext, action: v.MemoryAction) -> CommandOutcome:
    # One's memory is of the tree one works in, wherever a text comes from.
    tree = context.session.tree_id
    match action:
        case v.ThinkCommand(text):
            if not text.strip():
                return unchanged("there was no thought")
            context.caller.perform(KeepThought(tree=tree, text=text.strip()))
            return CommandOutcome(text=reply.done("thought"))
        case v.PinCommand(target):
            label, body, shown = _pinned(context, target)
            _, is_new = context.perform(KeepPin(tree=tree, label=label, body=body))
            if not is_new:
                return unchanged(f"{shown} is pinned already")
            return CommandOutcome(text=reply.pinned(shown))
        case v.StashCommand(label, what):
            text, source = _stashed(context, what)
            context.caller.perform(KeepStash(tree=tree, label=label, text=text, source=source))
            return CommandOutcome(text=reply.stashed(label, DEFAULT.of_text(text)))
        case v.RecallCommand(label):
            context.caller.perform(RecallStash(tree=tree, label=label, turn=context.session.turn))
            return CommandOutcome(text=reply.recalled(label))
        case v.DropCommand(target):
            return _drop(context, tree, target)
        case v.MemoryCommand(view):
            showing = Showing(inline=inline_tokens(context.session.agent))
            return CommandOutcome(text=memory_view(context.session.memory(), view, context.now, showing))
        case _:
            assert_never(action)


def _pinned(
    context: CommandContext, target: v.NodeTarget | v.DocumentTarget | v.ResultTarget
) -> tuple[str, JsonObject, str]:
    """The pin's key, what is kept, and how it is called."""
    match target:
        case v.NodeTarget(node):
            name = context.name(node)
            return f"node:{name}", {"node": name}, f"[{name}]"
        case v.DocumentTarget(title, section):
            return _pinned_document(context, title, section)
        case v.ResultTarget(number):
            result = context.session.result(number)
            if result is None:
                raise no_result(number)
            body: JsonObject = {"result": number, "command": result.command, "text": result.text}
            return f"result:{number}", body, f"result:{number}"
        case _:
            assert_never(target)


def _pinned_document(
    context: CommandContext, reference: str, section: str | None
) -> tuple[str, JsonObject, str]:
    """Who may not read it pins its name: the block says no more of it."""
    if Permission.DOC_READ in context.session.permissions:
        document = context.document(reference)
        name, title = document.id, document.title
        slug = None if section is None else section_of(document.content, section).slug
    else:
        name, title = context.document_named(reference)
        slug = None if section is None else slug_of(section)
    body: JsonObject = {"document": name, "title": title, "section": slug}
    return f"doc:{name}§{slug or ''}", body, _document(title, slug)


def _drop(
    context: CommandContext,
    tree: str,
    target: v.NodeTarget | v.DocumentTarget | v.ResultTarget | v.StashTarget,
) -> CommandOutcome:
    match target:
        case v.StashTarget(label):
            context.caller.perform(DropStash(tree=tree, label=label))
            return CommandOutcome(text=reply.dropped(f'stash "{label}"'))
        case v.ResultTarget(number):
            label = shown = f"result:{number}"
        case v.NodeTarget(node):
            name = _pinned_name(context, node)
            label, shown = f"node:{name}", f"[{name}]"
        case v.DocumentTarget(title, section):
            shown = _document(title, section)
            memory = AgentMemory(context.see.store, context.see.actor)
            label = memory.document_pin(tree, title, section) or shown
        case _:
            assert_never(target)
    context.caller.perform(Unpin(tree=tree, label=label, shown=shown))
    return CommandOutcome(text=reply.dropped(f"pin {shown}"))


def _pinned_name(context: CommandContext, reference: str) -> str:
    """The local id, also of a node that was undone since: its pin can still be dropped."""
    try:
        return context.name(reference)
    except NotFoundError:
        try:
            return normalise_reference(reference)
        except InvalidInputError:
            return reference


def _document(title: str, section: str | None) -> str:
    return f"{reply.called('doc', title)}{f' §{section}' if section else ''}"


def _stashed(context: CommandContext, what: v.Literal | v.ContentOf | v.SummaryOf) -> tuple[str, str]:
    """The text, and where it comes from."""
    match what:
        case v.Literal(text):
            return text, ""
        case v.ContentOf(reference):
            node = context.node(reference)
            return words_of(node.content), f"content-of:{node.local_id}"
        case v.SummaryOf(first, last):
            return _range_summed_up(context, first, last)
        case _:
            assert_never(what)


def _range_summed_up(context: CommandContext, first: str, last: str) -> tuple[str, str]:
    """A range of a path, node by node in short: summaries, of which missing ones are made."""
    one, other = context.row(first), context.row(last)
    length = other.depth - one.depth + 1
    if length > _LONGEST_RANGE:
        raise LimitExceededError(
            f"max length of a range is {_LONGEST_RANGE:,} nodes", hint="stash it in several parts"
        )
    nodes = list(context.read.path(context.tree, other.ulid, tail=length)) if length > 0 else []
    if not nodes or context.row(nodes[0].id).position != one.position:
        raise InvalidSyntaxError(
            f"[{one.local_id}] is not on the path to [{other.local_id}]",
            hint="name the upper end first; both lie on one path",
        )
    return summed_up(with_summaries(context, nodes)), f"summary-of:{one.local_id}-{other.local_id}"
