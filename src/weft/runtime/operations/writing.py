"""Changing a part of a document, in one transaction: what somebody else saved meanwhile is never overwritten."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from weft.errors import ConflictError
from weft.runtime.operations.documents import SaveDocument, load_document
from weft.runtime.scope import Scope
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.document import Document

__all__ = ["WriteInDocument"]


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
