"""Commands on documents: read by line, section or in short; write by line, section, at the end."""

from functools import partial
from typing import assert_never

from weft.commands import actions as v
from weft.commands import reply
from weft.commands.reply import document_read
from weft.runtime.collaboration.commands.context import CommandContext, CommandOutcome
from weft.runtime.collaboration.commands.queries import brief_document
from weft.runtime.operations.documents import WriteInDocument
from weft.tree.document import (
    lines_of,
    section_of,
    with_appended,
    with_inserted,
    with_lines,
    with_section,
    with_section_appended,
)
from weft.tree.snippet import EXTRACT, extract


def read_document(context: CommandContext, action: v.ReadCommand) -> CommandOutcome:
    found = context.document(action.document)
    context.session.read_revisions[found.id] = found.revision
    text, part = found.content, ""
    match action.part:
        case v.SummaryOnly():
            text, part = brief_document(context.session, found), "summary"
        case v.LineSpan(first, last):
            text, part = lines_of(text, first, last), f"lines {first}-{last}"
        case v.SectionOf(section):
            where = section_of(text, section)
            text, part = text[where.start : where.end], f"§{where.slug}"
        case None:
            pass
    whole = text is found.content
    return CommandOutcome(
        text=document_read(found.title, text, part=part, revision=found.revision),
        brief=(whole and found.summary) or extract(text).removeprefix(EXTRACT),
    )


def write_document(context: CommandContext, action: v.WriteCommand) -> CommandOutcome:
    found, place, text = context.document(action.document), action.place, action.text
    change, revision = partial(_changed, place=place, new=text), None
    if _counts_lines(place):
        # Lines are counted in the text that was read: where it has changed since, they mean others.
        revision = context.session.read_revisions.get(found.id)
    saved, is_new = context.perform(WriteInDocument(document=found.id, change=change, revision=revision))
    context.session.read_revisions[found.id] = saved.revision
    if not is_new:
        return CommandOutcome(
            text=reply.wrote(saved.title, "nothing changed", saved.revision), detail="nothing changed"
        )
    return CommandOutcome(text=reply.wrote(saved.title, _DONE[type(place)], saved.revision))


_DONE = {v.AtEnd: "appended", v.At: "inserted", v.Replace: "replaced"}


def _counts_lines(place: v.AtEnd | v.At | v.Replace) -> bool:
    match place:
        case v.At(where):
            return isinstance(where, int)
        case v.Replace(what):
            return isinstance(what, v.LineSpan)
        case v.AtEnd():
            return False
        case _:
            assert_never(place)


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
