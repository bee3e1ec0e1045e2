"""The handle of a document."""

from typing import TYPE_CHECKING

from weft.argument_checks import checks_arguments
from weft.grove.handle import Handle
from weft.runtime.operations.documents import ArchiveDocument, DeleteDocument, SaveDocument
from weft.tree.document import Document, Revision, section_of, with_section

if TYPE_CHECKING:
    pass


@checks_arguments
class DocumentHandle(Handle[Document]):
    """One document at one revision."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Document {self.title!r} revision {self.revision}>"

    @property
    def title(self) -> str:
        return self.value.title

    @property
    def text(self) -> str:
        return self.value.content

    @property
    def revision(self) -> int:
        return self.value.revision

    def section(self, name: str) -> str:
        """A heading with what follows it, by slug or heading."""
        part = section_of(self.text, name)
        return self.text[part.start : part.end]

    def save(self, content: str | None = None, *, title: str | None = None) -> "DocumentHandle":
        """A new revision; a conflict if a newer revision was saved."""
        operation = SaveDocument(document=self.id, revision=self.revision, content=content, title=title)
        return DocumentHandle(self._grove, self._grove.perform(operation))

    def save_section(self, name: str, content: str) -> "DocumentHandle":
        """Replace one section; its heading stays, unless the text has one."""
        return self.save(with_section(self.text, name, content))

    def revisions(self) -> list[Revision]:
        """Every save, the latest first."""
        return self._grove.read.revisions(self.id)

    def at(self, revision: int) -> "DocumentHandle":
        """As it was at a revision; saving from there is a conflict, unless it is the latest."""
        return DocumentHandle(self._grove, self._grove.read.document(self.id, revision))

    def archive(self) -> None:
        self._grove.perform(ArchiveDocument(document=self.id))

    def unarchive(self) -> None:
        self._grove.perform(ArchiveDocument(document=self.id, restore=True))

    def delete(self, *, confirm: str) -> None:
        self._grove.perform(DeleteDocument(document=self.id, confirm=confirm))

    def summarise(self, *, refresh: bool = False) -> str:
        """One sentence; made and kept, where there is none yet."""
        return self._grove.summaries.document(self.value.id, refresh=refresh)

    def close(self) -> None:
        """You are done editing: it is summarised again in the background."""
        self._grove.summaries.close_document(self.value.id)
