"""Documents: doc new, ls, read, write, history, rename, archive, delete."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.completing import complete_documents
from weft.cli.output import Column
from weft.cli.texts import STDIN, person_is_there, read_stdin, text_given
from weft.cli.trees import confirm
from weft.cli.wording import ago, quoted
from weft.cli.writing import Words
from weft.errors import ConflictError, InvalidInputError
from weft.tree.document import lines_of, section_of
from weft.tree.json_names import iso, to_wire
from weft.tree.node_labels import counted

if TYPE_CHECKING:
    from weft.grove.document import DocumentHandle

__all__ = ["add_to"]

_LINES = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?\Z")

DocumentName = Annotated[
    str, typer.Argument(metavar="DOC", help="A title or id.", autocompletion=complete_documents)
]


def _told(document: "DocumentHandle") -> str:
    return f"{quoted(document.title)} at revision {document.revision}"


def new(
    call: Call,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="One line; no other document has it.")],
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="The text; - or a pipe for stdin.")
    ] = None,
) -> None:
    """Begin a document.

    Prints its id.
    """
    if text and text != [STDIN]:
        content = " ".join(text)
    else:
        content = read_stdin() if text or not person_is_there() else ""
    made = call.grove.write_document(title, content)
    made.close()
    call.out.answer(made.value, made.id, f"wrote {_told(made)}")


def ls(call: Call) -> None:
    """Mutable markdown, with every revision kept. Alone: list the documents.

    In a pipe: id, title, revision, characters and last change, with tabs between.
    """
    documents = call.grove.read.documents()
    if call.out.as_json:
        call.out.json([_without_content(document) for document in documents])
        return
    if not documents:
        call.out.talk("there are no documents yet: weft doc new TITLE")
        return
    call.out.table(
        (
            Column("title", gives=True),
            Column("revision", number=True),
            Column("characters", number=True),
            Column("when"),
        ),
        (
            (each.title, str(each.revision), f"{len(each.content):,}", ago(each.updated_at, call.now))
            for each in documents
        ),
        (
            (each.id, each.title, str(each.revision), str(len(each.content)), iso(each.updated_at))
            for each in documents
        ),
    )


def _without_content(document: object) -> object:
    wire = to_wire(document)
    return {key: value for key, value in wire.items() if key != "content"} if isinstance(wire, dict) else wire


def read(
    call: Call,
    reference: DocumentName,
    *,
    section: Annotated[
        str | None, typer.Option("--section", "-s", metavar="HEADING", help="Only this section.")
    ] = None,
    lines: Annotated[
        str | None, typer.Option("--lines", "-l", metavar="A-B", help="Only these lines, from 1.")
    ] = None,
    revision: Annotated[int | None, typer.Option("--revision", "-r", min=1, help="As it was then.")] = None,
) -> None:
    """Print a document, to the byte."""
    found = call.grove.read.document(reference, revision)
    text = found.content
    if section is not None:
        place = section_of(text, section)
        text = text[place.start : place.end]
    if lines is not None:
        text = lines_of(text, *_range(lines))
    if call.out.as_json:
        wire = to_wire(found)
        call.out.json({**wire, "content": text} if isinstance(wire, dict) else wire)
        return
    call.out.exact(text)
    call.out.talk(f"{quoted(found.title)} at revision {found.revision}")


def _range(lines: str) -> tuple[int, int]:
    found = _LINES.match(lines)
    if found is None:
        raise InvalidInputError(f"{lines!r} is not a range of lines", hint="for example --lines 3-10")
    first = int(found[1])
    return first, first if found[2] is None else int(found[2])


def write(
    call: Call,
    reference: DocumentName,
    text: Words = None,
    *,
    section: Annotated[
        str | None, typer.Option("--section", "-s", metavar="HEADING", help="Only this section, anew.")
    ] = None,
    revision: Annotated[
        int | None, typer.Option("--revision", "-r", min=1, help="The revision you started from.")
    ] = None,
) -> None:
    """Save a new text. A section keeps its heading, unless the text begins with one.

    Name the revision you started from: if somebody saved since, nothing is overwritten. The editor knows it.
    """
    found = call.grove.document(reference)
    if revision is None and (text or not person_is_there()):
        raise ConflictError(
            f"{found.title!r} is at revision {found.revision}, and a save names the one it started from",
            hint=f"pass --revision {found.revision} if that is the text you read",
        )
    started = found if revision is None else _at(call, found, revision)
    initial = started.text if section is None else started.section(section)
    with text_given(text, initial=initial, exact=True) as words:
        saved = started.save(words) if section is None else started.save_section(section, words)
        saved.close()
    call.out.answer(saved.value, str(saved.revision), f"saved {_told(saved)}")


def _at(call: Call, document: "DocumentHandle", revision: int) -> "DocumentHandle":
    if revision > document.revision:
        raise ConflictError(
            f"{document.title!r} is at revision {document.revision}, there is no {revision} yet",
            hint="read it again",
        )
    return type(document)(call.grove, call.grove.read.document(document.id, revision))


def history(call: Call, reference: DocumentName) -> None:
    """List every save of a document, the latest first.

    In a pipe: revision, time, author, characters and title, with tabs between.
    """
    saves = call.grove.read.revisions(reference)
    if call.out.as_json:
        call.out.json(saves)
        return
    names = {agent.id: agent.name for agent in call.grove.read.agents(archived=True)}
    call.out.table(
        (
            Column("revision", number=True),
            Column("title", gives=True),
            Column("characters", number=True),
            Column("by"),
            Column("when"),
        ),
        (
            (
                str(each.revision),
                each.title,
                f"{each.characters:,}",
                names[each.author_id],
                ago(each.created_at, call.now),
            )
            for each in saves
        ),
        (
            (str(each.revision), iso(each.created_at), each.author_id, str(each.characters), each.title)
            for each in saves
        ),
    )


def rename(
    call: Call,
    reference: DocumentName,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="One line; no other document has it.")],
) -> None:
    """Give a document another title; that is a revision too."""
    saved = call.grove.document(reference).save(title=title)
    call.out.answer(_without_content(saved.value), str(saved.revision), f"saved {_told(saved)}")


def archive(
    call: Call,
    reference: DocumentName,
    *,
    undo: Annotated[bool, flag("--undo", help="Take it out again.")] = False,
) -> None:
    """Put a document away; nothing is lost."""
    found = call.grove.document(reference)
    if undo:
        found.unarchive()
    else:
        found.archive()
    after = call.grove.document(found.id)
    done = "took out" if undo else "put away"
    call.out.answer(_without_content(after.value), after.id, f"{done} {quoted(after.title)}")


def delete(
    call: Call,
    reference: DocumentName,
    *,
    yes: Annotated[bool, flag("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Destroy a document with all its revisions, for good."""
    found = call.grove.document(reference)
    confirm(f"delete {quoted(found.title)} with {counted(found.revision, 'revision')}, for good?", yes=yes)
    found.delete(confirm=found.id)
    call.out.answer(_without_content(found.value), found.id, f"deleted {quoted(found.title)}")


def add_to(app: typer.Typer) -> None:
    family = group(app, "doc", ls, panel="References")
    command(family, "new", new, creates=True)
    command(family, "ls", ls)
    command(family, "read", read)
    command(family, "write", write)
    command(family, "history", history)
    command(family, "rename", rename)
    command(family, "archive", archive)
    command(family, "delete", delete)
