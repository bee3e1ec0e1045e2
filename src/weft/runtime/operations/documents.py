"""Documents: every save names the revision it started from, so nothing is overwritten unseen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import delete, func, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.provenance.fingerprints import DOCUMENT
from weft.runtime.operations.deletion import announce_deletion
from weft.runtime.operations.executor import Destroying
from weft.runtime.operations.node_values import document_value
from weft.runtime.operations.references import KINDS
from weft.runtime.operations.revisions import next_revision, note_revised, put_away
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_document
from weft.store.session import Session
from weft.store.text_index import forget_document
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import check_text
from weft.tree.document import Document, Revision
from weft.tree.json_names import from_microseconds
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


class _Writing:
    permission: ClassVar[Permission] = Permission.DOC_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR


def load_document(session: Session, reference: str, revision: int | None = None) -> Document:
    """A document, as it is or as it was at a revision."""
    key = find_document(session, reference)
    wanted = _documents.c.revision if revision is None else revision
    row = session.execute(
        _WHOLE.where(_documents.c.key == key, _revisions.c.revision == wanted, _revisions.c.hidden.is_(None))
    ).one_or_none()
    if row is None:
        raise NotFoundError(f"{reference!r} has no revision {revision}")
    return document_value(row)


def load_documents(session: Session, *, archived: bool) -> list[Document]:
    """All documents as they are, by title."""
    statement = _WHOLE.where(_revisions.c.revision == _documents.c.revision, _documents.c.hidden.is_(None))
    if not archived:
        statement = statement.where(_documents.c.archived_at.is_(None))
    ordered = statement.order_by(_documents.c.title, _documents.c.key)
    return [document_value(row) for row in session.execute(ordered)]


def load_revisions(session: Session, reference: str) -> list[Revision]:
    """Every save of a document that was not undone, the latest first."""
    key = find_document(session, reference)
    statement = (
        select(
            _documents.c.ulid,
            _revisions.c.revision,
            _revisions.c.title,
            schema.agents.c.ulid.label("author"),
            func.length(_revisions.c.content).label("characters"),
            _revisions.c.created_at,
        )
        .join(_revisions, _revisions.c.document == _documents.c.key)
        .join(schema.agents, schema.agents.c.key == _revisions.c.author)
        .where(_documents.c.key == key, _revisions.c.hidden.is_(None))
        .order_by(_revisions.c.revision.desc())
    )
    return [
        Revision(
            document_id=row.ulid,
            revision=row.revision,
            title=row.title,
            author_id=row.author,
            characters=row.characters,
            created_at=from_microseconds(row.created_at),
        )
        for row in session.execute(statement)
    ]


def _check_title(title: str) -> str:
    cleaned = check_text(title, what="title", limit=1_000).strip()
    if not cleaned or "\n" in cleaned:
        raise InvalidInputError("a document's title is one line of text")
    return cleaned


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDocument(_Writing):
    """A new document, at revision 1. Titles name documents, so they are unique."""

    verb: ClassVar[str] = "create a document"
    title: str
    content: str = ""

    def apply(self, scope: Scope) -> Document:
        scope.open_grove()
        title, content = _check_title(self.title), check_text(self.content)
        require_free_title(scope, title)
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
        note_revised(scope, DOCUMENT, ulid)
        scope.record(None, "document", {"document": ulid, "revision": 1}, {"hide": ulid})
        return load_document(scope.transaction, ulid)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveDocument(_Writing):
    """A new revision. If somebody saved since `revision`, nothing is overwritten: a conflict."""

    verb: ClassVar[str] = "save a document"
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
        if before.revision != self.revision:
            raise ConflictError(
                f"{before.title!r} is at revision {before.revision}, you started from {self.revision}",
                hint="read it again and put your changes into the newer text",
            )
        title = before.title if self.title is None else _check_title(self.title)
        content = before.content if self.content is None else check_text(self.content)
        if (title, content) == (before.title, before.content):
            return before
        if title != before.title:
            require_free_title(scope, title)
        key = find_document(transaction, before.id)
        number = next_revision(scope, DOCUMENT, key)
        transaction.execute(
            update(_documents)
            .where(_documents.c.ulid == before.id)
            .values(title=title, revision=number, updated_at=scope.now)
        )
        _add_revision(scope, key, number, title, content)
        note_revised(scope, DOCUMENT, before.id)
        scope.record(
            None,
            "save",
            {"document": before.id, "revision": number},
            {"document": before.id, "revision": before.revision},
        )
        return load_document(transaction, before.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDocument(_Writing):
    """Put a document away, or take it out again."""

    verb: ClassVar[str] = "archive a document"
    document: str
    restore: bool = False

    def apply(self, scope: Scope) -> Document:
        scope.open_grove()
        transaction = scope.transaction
        found = select(_documents).where(_documents.c.key == find_document(transaction, self.document))
        before = transaction.execute(found).one()
        put_away(
            scope,
            _documents,
            before,
            restore=self.restore,
            note=lambda: note_revised(scope, DOCUMENT, before.ulid),
            require_free=lambda: require_free_title(scope, before.title),
        )
        return load_document(transaction, before.ulid)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDocument(Destroying):
    """Destroy a document with all its revisions, for good. `confirm` must be its id."""

    verb: ClassVar[str] = "delete a document"
    permission: ClassVar[Permission] = Permission.DOC_WRITE
    access: ClassVar[MemberRole] = MemberRole.OWNER
    document: str
    confirm: str

    def apply(self, scope: Scope) -> None:
        scope.open_grove()
        transaction = scope.transaction
        found = load_document(transaction, self.document)
        if self.confirm != found.id:
            raise InvalidInputError(
                "deleting a document cannot be undone: confirm it with the document's id",
                hint=f"confirm with {found.id}",
            )
        announce_deletion(scope)
        key = find_document(transaction, found.id)
        forget_document(transaction, key)
        kind = KINDS.index(TargetKind.DOCUMENT)
        links, tags = schema.links, schema.tags
        for tree, what, target in (
            (links.c.a_tree, links.c.a_kind, links.c.a_key),
            (links.c.b_tree, links.c.b_kind, links.c.b_key),
            (tags.c.tree, tags.c.kind, tags.c.target),
        ):
            transaction.execute(delete(tree.table).where(tree == GROVE, what == kind, target == key))
        transaction.execute(delete(_revisions).where(_revisions.c.document == key))
        transaction.execute(delete(_documents).where(_documents.c.key == key))
        scope.record(None, "delete-document", {"document": found.id}, {})


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


def require_free_title(scope: Scope, title: str) -> None:
    taken = scope.transaction.execute(
        select(_documents.c.key).where(
            func.lower(_documents.c.title) == title.lower(), _documents.c.archived_at.is_(None)
        )
    ).first()
    if taken is not None:
        raise ConflictError(f"there is a document {title!r} already", hint="choose another title")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteInDocument:
    """A new revision with one part changed, from whatever the document says now.

    With `revision` it must still be at that one: line numbers mean the text that was read.
    """

    verb: ClassVar[str] = "write"
    permission: ClassVar[Permission] = Permission.DOC_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR
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
