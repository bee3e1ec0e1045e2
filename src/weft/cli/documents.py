"""Documents: doc new, ls, read, write, history, rename, archive, delete."""

import re
from typing import TYPE_CHECKING, Annotated

from weft.cli.arguments import Restore, StartingRevision, Words, Yes, argument, option
from weft.cli.output import Column, quoted, wire_object
from weft.cli.session import CliSession
from weft.cli.text_input import STDIN, confirm, is_interactive, read_stdin, text_given
from weft.errors import ConflictError, InvalidInputError
from weft.tree.document import lines_of, section_of
from weft.tree.node import counted

if TYPE_CHECKING:
    from weft.grove.document import DocumentHandle
    from weft.tree.document import Document

_LINES = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?\Z")
_DocumentName = Annotated[str, argument("DOC", "A title or id.")]
_Title = Annotated[str, argument("TITLE", "One line; unique among documents.")]


def _described(document: "DocumentHandle") -> str:
    return f"{quoted(document.title)} at revision {document.revision}"


def doc_new(
    session: CliSession,
    title: _Title,
    text: Annotated[list[str] | None, argument("TEXT", "The text; - or a pipe for stdin.")] = None,
) -> None:
    """Create a document.

    Prints its id.
    """
    if text and text != [STDIN]:
        content = " ".join(text)
    else:
        content = read_stdin() if text or not is_interactive() else ""
    made = session.grove.write_document(title, content)
    made.close()
    session.out.result(made.value, made.id, f"wrote {_described(made)}")


def doc_ls(session: CliSession) -> None:
    """Mutable markdown texts; every revision is kept. Alone: list them.

    In a pipe: id, title, revision, characters and last change, separated by tabs.
    """
    sizes = session.grove.read.document_sizes()
    session.out.listing(
        session.grove.read.documents(contents=False),
        Column(None, lambda document: document.id),
        Column("title", lambda document: document.title, shrinks=True),
        Column("revision", lambda document: document.revision, number=True),
        Column("characters", lambda document: sizes.get(document.id, 0), number=True),
        Column("when", lambda document: document.updated_at),
        empty="the grove has no documents; create one: weft doc new TITLE",
        wire=_without_content,
    )


def _without_content(document: "Document") -> object:
    return wire_object(document, without="content")


def doc_read(
    session: CliSession,
    reference: _DocumentName,
    *,
    section: Annotated[str | None, option("--section -s HEADING", "Only this section.")] = None,
    lines: Annotated[str | None, option("--lines -l A-B", "Only these lines, counted from 1.")] = None,
    revision: Annotated[int | None, option("--revision -r", "An earlier revision.", min=1)] = None,
) -> None:
    """Print a document, to the byte."""
    document = session.grove.read.document(reference, revision)
    text = document.content
    if section is not None:
        place = section_of(text, section)
        text = text[place.start : place.end]
    if lines is not None:
        text = lines_of(text, *_range(lines))
    if session.out.as_json:
        session.out.json(wire_object(document, content=text))
        return
    session.out.exact(text)
    session.out.message(f"{quoted(document.title)} at revision {document.revision}")


def _range(lines: str) -> tuple[int, int]:
    match = _LINES.match(lines)
    if match is None:
        raise InvalidInputError(f"{lines!r} is not a range of lines", hint="for example --lines 3-10")
    first = int(match[1])
    return first, first if match[2] is None else int(match[2])


def doc_write(
    session: CliSession,
    reference: _DocumentName,
    text: Words = None,
    *,
    section: Annotated[str | None, option("--section -s HEADING", "Replace only this section.")] = None,
    revision: StartingRevision = None,
) -> None:
    """Save a new text. A section keeps its heading, unless the text begins with one.

    Give the revision you started from: if a newer one was saved since, nothing is overwritten. With
    $EDITOR it is known.
    """
    document = session.grove.document(reference)
    if revision is None and (text or not is_interactive()):
        raise ConflictError(
            f"{document.title!r} is at revision {document.revision}; a save needs the revision it started from",
            hint=f"pass --revision {document.revision} if that is the text you read",
        )
    started = document if revision is None else _at(session, document, revision)
    initial = started.text if section is None else started.section(section)
    with text_given(text, initial=initial, exact=True) as words:
        saved = started.save(words) if section is None else started.save_section(section, words)
        saved.close()
    session.out.result(saved.value, str(saved.revision), f"saved {_described(saved)}")


def _at(session: CliSession, document: "DocumentHandle", revision: int) -> "DocumentHandle":
    if revision > document.revision:
        raise ConflictError(
            f"{document.title!r} is at revision {document.revision}; revision {revision} does not exist",
            hint="read it again",
        )
    return type(document)(session.grove, session.grove.read.document(document.id, revision))


def doc_history(session: CliSession, reference: _DocumentName) -> None:
    """List a document's revisions, the latest first.

    In a pipe: revision, time, author, characters and title, separated by tabs.
    """
    session.out.listing(
        session.grove.read.revisions(reference),
        Column("revision", lambda each: each.revision, number=True),
        Column(None, lambda each: each.created_at),
        Column(None, lambda each: each.author_id),
        Column(None, lambda each: each.characters),
        Column("title", lambda each: each.title, shrinks=True),
        Column("characters", lambda each: each.characters, number=True, piped=False),
        Column("by", lambda each: session.agent_names[each.author_id], piped=False),
        Column("when", lambda each: each.created_at, piped=False),
    )


def doc_rename(session: CliSession, reference: _DocumentName, title: _Title) -> None:
    """Rename a document; this is a revision too."""
    saved = session.grove.document(reference).save(title=title)
    session.out.result(_without_content(saved.value), str(saved.revision), f"saved {_described(saved)}")


def doc_archive(session: CliSession, reference: _DocumentName, *, undo: Restore = False) -> None:
    """Archive a document; nothing is lost."""
    document = session.grove.document(reference)
    (document.unarchive if undo else document.archive)()
    after = session.grove.document(document.id)
    done = "restored" if undo else "archived"
    session.out.result(_without_content(after.value), after.id, f"{done} {quoted(after.title)}")


def doc_delete(session: CliSession, reference: _DocumentName, *, yes: Yes = False) -> None:
    """Delete a document with all its revisions, permanently."""
    document = session.grove.document(reference)
    revisions = counted(document.revision, "revision")
    confirm(f"delete {quoted(document.title)} with {revisions} permanently?", yes=yes)
    document.delete(confirm=document.id)
    session.out.result(_without_content(document.value), document.id, f"deleted {quoted(document.title)}")
