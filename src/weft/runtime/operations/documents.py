"""Documents: every save names the revision it started from, so nothing is overwritten unseen."""

from collections.abc import Callable

from sqlalchemy import and_, delete, func, literal, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.runtime.operations.executor import Destroying, Editing, announce_deletion
from weft.runtime.operations.grove_rows import (
    check_line,
    fingerprint_row,
    next_revision,
    require_free_name,
    require_revision,
    set_archived,
)
from weft.runtime.operations.node_values import value_of
from weft.runtime.operations.references import KINDS, TargetAddress, at_end, on_target
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_document
from weft.store.session import Session
from weft.store.text_index import forget_document
from weft.store.transaction import GROVE
from weft.tree.agent import Permission
from weft.tree.content import check_text
from weft.tree.document import Document, Revision
from weft.tree.reference import TargetKind

_documents = schema.documents
_revisions = schema.revisions


_WHOLE = select(
    _documents.c.ulid,
    _revisions.c.title,
    _revisions.c.content,
    _documents.c.summary,
    _revisions.c.revision,
    _documents.c.created_at,
    _revisions.c.created_at.label("updated_at"),
    _documents.c.archived_at,
).join(_revisions, _revisions.c.document == _documents.c.key)


class _Writing(Editing, permission=Permission.DOC_WRITE):
    """Base of operations on documents."""


def load_document(session: Session, reference: str, revision: int | None = None) -> Document:
    """A document, as it is or as it was at a revision."""
    key = find_document(session, reference)
    wanted = _documents.c.revision if revision is None else revision
    row = session.execute(
        _WHOLE.where(_documents.c.key == key, _revisions.c.revision == wanted, _revisions.c.hidden.is_(None))
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"{reference!r} has no revision {revision}")
    return value_of(Document, row)


def load_documents(session: Session, *, archived: bool, contents: bool = True) -> list[Document]:
    """All documents as they are, by title; without `contents`, their texts are not read."""
    statement = _WHOLE.where(_revisions.c.revision == _documents.c.revision, _documents.c.hidden.is_(None))
    if not archived:
        statement = statement.where(_documents.c.archived_at.is_(None))
    if not contents:
        columns = [column for column in statement.selected_columns if column.name != "content"]
        statement = statement.with_only_columns(*columns, literal("").label("content"))
    ordered = statement.order_by(_documents.c.title, _documents.c.key)
    return [value_of(Document, row) for row in session.execute(ordered)]


def load_sizes(session: Session) -> dict[str, int]:
    """How many characters each document has, by id: counted by the database."""
    current = _revisions.c.revision == _documents.c.revision
    statement = select(_documents.c.ulid, func.length(_revisions.c.content).label("characters")).join(
        _revisions, and_(_revisions.c.document == _documents.c.key, current)
    )
    return {row.ulid: row.characters for row in session.execute(statement)}


def load_revisions(session: Session, reference: str) -> list[Revision]:
    """Every save of a document that was not undone, the latest first."""
    key = find_document(session, reference)
    statement = (
        select(
            _documents.c.ulid.label("document_id"),
            _revisions.c.revision,
            _revisions.c.title,
            schema.agents.c.ulid.label("author_id"),
            func.length(_revisions.c.content).label("characters"),
            _revisions.c.created_at,
        )
        .join(_revisions, _revisions.c.document == _documents.c.key)
        .join(schema.agents, schema.agents.c.key == _revisions.c.author)
        .where(_documents.c.key == key, _revisions.c.hidden.is_(None))
        .order_by(_revisions.c.revision.desc())
    )
    return [value_of(Revision, row) for row in session.execute(statement)]


class CreateDocument(_Writing, verb="create a document"):
    """A new document, at revision 1. Titles name documents, so they are unique."""

    title: str
    content: str = ""

    def apply(self, scope: Scope) -> Document:
        scope.open_grove()
        title, content = check_line(self.title, "title", limit=1_000), check_text(self.content)
        require_free_name(scope, _documents, title)
        ulid = scope.new_ulid()
        key = scope.transaction.insert(
            _documents,
            {
                "ulid": ulid,
                "title": title,
                "summary": None,
                "revision": 1,
                "created_at": scope.now,
                "updated_at": scope.now,
                "archived_at": None,
            },
        )
        _add_revision(scope, key, 1, title, content)
        fingerprint_row(scope, _documents, ulid)
        scope.record(None, "document", {"document": ulid, "revision": 1}, {"hide": ulid})
        return load_document(scope.transaction, ulid)


class SaveDocument(_Writing, verb="save a document"):
    """A new revision; a conflict if the document was saved since `revision`."""

    document: str
    revision: int
    content: str | None = None
    title: str | None = None

    def apply(self, scope: Scope) -> Document:
        scope.open_grove()
        transaction = scope.transaction
        before = load_document(transaction, self.document)
        if before.archived_at is not None:
            raise ConflictError(f"{before.title!r} is archived", hint=Hint(HintKind.RESTORE_DOCUMENT))
        require_revision(before.title, before.revision, self.revision)
        title = before.title if self.title is None else check_line(self.title, "title", limit=1_000)
        content = before.content if self.content is None else check_text(self.content)
        if (title, content) == (before.title, before.content):
            return before
        if title != before.title:
            require_free_name(scope, _documents, title)
        key = find_document(transaction, before.id)
        number = next_revision(scope, _documents, key)
        transaction.execute(
            update(_documents)
            .where(_documents.c.ulid == before.id)
            .values(title=title, revision=number, updated_at=scope.now)
        )
        _add_revision(scope, key, number, title, content)
        fingerprint_row(scope, _documents, before.id)
        scope.record(
            None,
            "save",
            {"document": before.id, "revision": number},
            {"document": before.id, "revision": before.revision},
        )
        return load_document(transaction, before.id)


class ArchiveDocument(_Writing, verb="archive a document"):
    """Put a document away, or take it out again."""

    document: str
    restore: bool = False

    def apply(self, scope: Scope) -> Document:
        scope.open_grove()
        transaction = scope.transaction
        key = find_document(transaction, self.document)
        before = transaction.execute(select(_documents).where(_documents.c.key == key)).one()
        set_archived(scope, _documents, before, restore=self.restore)
        return load_document(transaction, before.ulid)


class DeleteDocument(Destroying, verb="delete a document", permission=Permission.DOC_WRITE):
    """Destroy a document with all its revisions, for good. `confirm` must be its id."""

    document: str
    confirm: str

    def apply(self, scope: Scope) -> None:
        scope.open_grove()
        transaction = scope.transaction
        document = load_document(transaction, self.document)
        if self.confirm != document.id:
            raise InvalidInputError(
                "deleting a document cannot be undone: confirm it with the document's id",
                hint=Hint(HintKind.CONFIRM, value=repr(document.id)),
            )
        announce_deletion(scope)
        key = find_document(transaction, document.id)
        forget_document(transaction, key)
        address = TargetAddress(GROVE, KINDS.index(TargetKind.DOCUMENT), key)
        for side in "ab":
            transaction.execute(delete(schema.links).where(at_end(side, address)))
        transaction.execute(delete(schema.tags).where(on_target(address)))
        transaction.execute(delete(_revisions).where(_revisions.c.document == key))
        transaction.execute(delete(_documents).where(_documents.c.key == key))
        scope.record(None, "delete-document", {"document": document.id}, {})


def _add_revision(scope: Scope, document: int, revision: int, title: str, content: str) -> None:
    scope.transaction.add(
        _revisions,
        {
            "document": document,
            "revision": revision,
            "title": title,
            "content": content,
            "author": scope.agent.key,
            "created_at": scope.now,
        },
    )


class WriteInDocument(_Writing, verb="write"):
    """A new revision with one part of the present text changed.

    With `revision` it must still be at that one: line numbers mean the text that was read.
    """

    document: str
    change: Callable[[str], str]
    revision: int | None = None

    def apply(self, scope: Scope) -> Document:
        scope.open_grove()
        before = load_document(scope.transaction, self.document)
        if self.revision is not None and self.revision != before.revision:
            raise ConflictError(
                f'doc:"{before.title}" is at revision {before.revision}, you have read {self.revision}',
                hint="read it again: its lines may be others now",
            )
        content = self.change(before.content)
        return SaveDocument(document=before.id, revision=before.revision, content=content).apply(scope)
