"""Commands that make nodes, or hang something on one: respond, annotate, edit, merge, split, join, attach."""

from functools import partial
from typing import assert_never

from weft.commands import actions as v
from weft.commands import reply
from weft.commands.reply import document_read
from weft.context.items.item_types import node as node_item
from weft.errors import NotFoundError, PermissionDeniedError
from weft.providers.base import ModelName
from weft.runtime.collaboration.commands.context import CommandContext, CommandOutcome, unchanged
from weft.runtime.collaboration.commands.queries import brief_document
from weft.runtime.collaboration.commands.reference_commands import joined_with
from weft.runtime.contexts.items import AttachAll, attach_all, item_of
from weft.runtime.contexts.linked_documents import names_hint
from weft.runtime.contexts.model_agents import model_agent, registry_of
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.operations.documents import WriteInDocument
from weft.runtime.operations.edits import Edit, Join, Split
from weft.runtime.operations.nodes import Annotate, Append, Merge
from weft.tree.agent import Agent, AgentType
from weft.tree.document import (
    lines_of,
    section_of,
    with_appended,
    with_inserted,
    with_lines,
    with_section,
    with_section_appended,
)
from weft.tree.edge import Source, SourceRole
from weft.tree.node import Node
from weft.tree.snippet import EXTRACT, extract


def run_node_command(context: CommandContext, action: v.NodeAction) -> CommandOutcome:
    tree = context.tree
    match action:
        case v.RespondCommand():
            return _respond(context, action)
        case v.AnnotateCommand(reference, text):
            on = context.row(reference)
            made = context.caller.perform(Annotate(tree=tree, node=on.ulid, content=text))
            return _made(reply.annotated(on.local_id, made.local_id), made)
        case v.EditCommand(reference, text):
            old = context.row(reference)
            made = context.caller.perform(Edit(tree=tree, node=old.ulid, content=text))
            return _made(reply.edited(made.local_id, old.local_id, context.see.mode(tree)), made)
        case v.MergeCommand(references, text):
            rows = [context.row(each) for each in references]
            made = context.caller.perform(Merge(tree=tree, nodes=[row.ulid for row in rows], content=text))
            return _made(reply.merged(made.local_id, [row.local_id for row in rows]), made)
        case v.SplitCommand(reference, at):
            old = context.row(reference)
            first, second = context.caller.perform(Split(tree=tree, node=old.ulid, at=at))
            return _made(reply.split(old.local_id, first.local_id, second.local_id), first, second)
        case v.JoinCommand(reference):
            first = context.row(reference)
            made = context.caller.perform(Join(tree=tree, node=first.ulid))
            return _made(reply.joined(made.local_id, first.local_id, joined_with(context)), made)
        case v.AttachCommand(reference, item):
            return _attach(context, reference, item)
        case v.ContinueCommand():
            return _continue(context, action)
        case _:
            assert_never(action)


def _made(text: str, *nodes: Node) -> CommandOutcome:
    return CommandOutcome(text=text, nodes=tuple(node.local_id for node in nodes))


def _respond(context: CommandContext, action: v.RespondCommand) -> CommandOutcome:
    to = context.row(action.node)
    sources = [
        *(Source(context.row(each).ulid, SourceRole.CONTEXT) for each in action.context),
        *(Source(context.row(each).ulid, SourceRole.INSTRUCTION) for each in action.instruction),
    ]
    append = Append(tree=context.tree, parent=to.ulid, content=action.text, sources=sources)
    made = context.caller.perform(append)
    return _made(reply.responded(made.local_id, to.local_id), made)


def _attach(context: CommandContext, reference: str, item: str) -> CommandOutcome:
    to, text = context.row(reference), item.strip()
    kind, _, title = text.partition(":")
    if kind in {"doc", "document"}:
        document = context.document(title.strip().strip('"“”'))
        attach_all(context.caller, context.tree, to.ulid, [f"doc:{document.id}"])
        shown = reply.called("doc", document.title)
    elif text.startswith("[") and text.endswith("]"):
        # A node of this tree is nothing that would have to be read elsewhere.
        node = context.node(text)
        items = [item_of(node_item(node.local_id, node.text))]
        context.caller.perform(AttachAll(tree=context.tree, node=to.ulid, items=items))
        shown = f"[{node.local_id}]"
    else:
        shown = reply.quoted(item)
        if not attach_all(context.caller, context.tree, to.ulid, [text]):
            return unchanged(f"all of {shown} is attached to [{to.local_id}] already")
    return CommandOutcome(text=reply.attached(to.local_id, shown))


_NO_AGENT = "ask the human to add one, or to generate"


def _continue(context: CommandContext, action: v.ContinueCommand) -> CommandOutcome:
    """Wait for the continuations; what had come of one that failed is kept as interrupted."""
    start = context.row(action.start)
    subject = _subject(context, action.agent)
    options = GenerationOptions(
        n=action.n,
        agents=(subject.id,),
        temperature=action.temperature,
        max_tokens=action.tokens,
        stop=action.stop or None,
        unattended=context.session.unattended,
    )
    session = context.session
    place = StartPlace(tree=context.tree, node=start.ulid, chain=session.chain, moves=False, as_subjects=True)
    with session.generations.stream(place.tree, place.node, options, place) as stream:
        session.stream = stream
        if session.is_stopped:
            stream.stop()
        try:
            for event in stream:
                if session.on_event is not None:
                    session.on_event(event)
            made = stream.result()
        finally:
            session.stream = None
    names = [node.local_id for node in made]
    lines = [reply.continued(start.local_id, names, subject.name)]
    lines += [
        f"  {line}" for each in made.failures for line in reply.failed(session.in_words(each)).split("\n")
    ]
    lines += [f"  note: {notice}" for notice in made.notices]
    return CommandOutcome(
        text="\n".join(lines), detail=reply.counted(len(names), "result"), nodes=tuple(names)
    )


def _subject(context: CommandContext, named: str | None) -> Agent:
    if named is None:
        return _anybody(context)
    try:
        with context.see.store.read() as session:
            agent, _ = model_agent(session, context.see.actor, named)
    except NotFoundError as error:
        names = [agent.name for agent in _others(context)]
        raise NotFoundError(error.message, hint=names_hint(names, _NO_AGENT)) from None
    if agent.id in context.session.chain:
        is_self = agent.id == context.session.agent.id
        why = (
            "you cannot invoke yourself"
            if is_self
            else f"{agent.name!r} is already in this chain of calls and cannot be invoked again"
        )
        raise PermissionDeniedError(why, hint='name another: → continue using agent:"…"')
    return agent


def _others(context: CommandContext) -> list[Agent]:
    """The agents that may be asked, the newest first."""
    usable = set(registry_of(context.session.executor).names)
    return [
        agent
        for agent in context.read.agents()[::-1]
        if agent.type is AgentType.MODEL
        and agent.id not in context.session.chain
        and ModelName.parse(agent.model_ref or "").provider in usable
    ]


def _anybody(context: CommandContext) -> Agent:
    """The grove's default, else the newest model agent, of those that may be asked: subjects first."""
    chosen = context.session.generations.default_agent
    others = _others(context)
    if not others:
        raise NotFoundError("there is no other agent to continue", hint=_NO_AGENT)
    subjects = [agent for agent in others if not agent.loom_aware] or others
    return next((agent for agent in subjects if agent.id == chosen), subjects[0])


def read_document(context: CommandContext, action: v.ReadCommand) -> CommandOutcome:
    document = context.document(action.document)
    context.session.read_revisions[document.id] = document.revision
    text, part = document.content, ""
    match action.part:
        case v.SummaryOnly():
            text, part = brief_document(context, document), "summary"
        case v.LineSpan(first, last):
            text, part = lines_of(text, first, last), f"lines {first}-{last}"
        case v.SectionOf(section):
            where = section_of(text, section)
            text, part = text[where.start : where.end], f"§{where.slug}"
        case None:
            pass
    whole = text is document.content
    return CommandOutcome(
        text=document_read(document.title, text, part=part, revision=document.revision),
        brief=(whole and document.summary) or extract(text).removeprefix(EXTRACT),
    )


def write_document(context: CommandContext, action: v.WriteCommand) -> CommandOutcome:
    name, place = context.document(action.document).id, action.place
    change, revision = partial(_changed, place=place, new=action.text), None
    if (isinstance(place, v.At) and isinstance(place.place, int)) or (
        isinstance(place, v.Replace) and isinstance(place.what, v.LineSpan)
    ):
        # Lines are counted in the text that was read: if it has changed since, they mean others.
        revision = context.session.read_revisions.get(name)
    saved, is_new = context.perform(WriteInDocument(document=name, change=change, revision=revision))
    context.session.read_revisions[name] = saved.revision
    done = _DONE[type(place)] if is_new else "nothing changed"
    return CommandOutcome(text=reply.wrote(saved.title, done, saved.revision), detail="" if is_new else done)


_DONE = {v.AtEnd: "appended", v.At: "inserted", v.Replace: "replaced"}


def _changed(text: str, *, place: v.AtEnd | v.At | v.Replace, new: str) -> str:
    match place:
        case v.AtEnd():
            return with_appended(text, new)
        case v.At(where):
            if isinstance(where, int):
                return with_inserted(text, where, new)
            return with_section_appended(text, where, new)
        case v.Replace(what):
            if isinstance(what, v.LineSpan):
                return with_lines(text, what.first, what.last, new)
            return with_section(text, what, new)
        case _:
            assert_never(place)
