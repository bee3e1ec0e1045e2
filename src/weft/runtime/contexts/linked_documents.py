"""The documents within a tree's reach: those linked to it or to its nodes."""

import contextlib
from collections.abc import Generator, Iterable
from dataclasses import dataclass

from sqlalchemy import and_, or_, select

from weft.errors import NotFoundError, PermissionDeniedError
from weft.runtime.operations.documents import load_document
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor, agent_row, require_access
from weft.runtime.operations.references import KINDS
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_document
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.agent import AgentType, Permission
from weft.tree.document import Document
from weft.tree.reference import TargetKind

_LISTED = 21
_MOST_NAMED = 20
_NAME = 80
_links = schema.links
_DOCUMENT = KINDS.index(TargetKind.DOCUMENT)


@dataclass(frozen=True, slots=True)
class LinkedDocuments(Reader):
    """Documents, for an agent at work in a tree. Reading one needs `doc_read`, and nothing of the tree's."""

    def document_here(self, tree: str, reference: str) -> tuple[Document, bool]:
        """A document by title or id, and whether it is linked to the tree or to a node of it."""
        with self._session(Permission.DOC_READ) as session:
            # Documents are the grove's: who was let into one tree alone does not come to them by way of it.
            require_access(session, self.actor, MemberRole.READER)
            document = load_document(session, reference)
            key = self._tree_row(session, tree).key
            return document, is_linked(session, key, find_document(session, document.id))

    def document_anywhere(self, reference: str) -> Document:
        """A document outside of any tree: one that some tree is linked to, unless all of the grove may be seen."""
        with self._session(Permission.DOC_READ) as session:
            require_access(session, self.actor, MemberRole.READER)
            document = load_document(session, reference)
            if not (
                is_linked(session, None, find_document(session, document.id))
                or may_cross(session, self.actor)
            ):
                raise not_crossing("link it to a tree, or ask the human to let you leave yours")
            return document

    def title_here(self, tree: str, reference: str) -> tuple[str, str, bool]:
        """Id and title of a document, and whether it is linked: for who refers to it without reading it."""
        with self._session() as session:
            require_access(session, self.actor, MemberRole.READER)
            row = self._tree_row(session, tree)
            key = find_document(session, reference)
            documents = schema.documents
            named = select(documents.c.ulid, documents.c.title).where(documents.c.key == key)
            named_row = session.execute(named).one()
            return named_row.ulid, named_row.title, is_linked(session, row.key, key)

    @contextlib.contextmanager
    def telling_titles(self, tree: str) -> Generator[None]:
        """Where no document is called so, say what those within the tree's reach are called."""
        try:
            yield
        except NotFoundError as error:
            hint = names_hint(self._titles(tree), "no document is linked to this tree")
            raise NotFoundError(error.message, hint=hint) from None

    def _titles(self, tree: str) -> list[str]:
        documents = schema.documents
        with self._session() as session:
            key = self._tree_row(session, tree).key
            linked = [
                select(_links.c[f"{one}_key"]).where(
                    _links.c[f"{one}_tree"] == GROVE,
                    _links.c[f"{one}_kind"] == _DOCUMENT,
                    _links.c[f"{other}_tree"] == key,
                    _links.c.removed.is_(None),
                )
                for one, other in (("a", "b"), ("b", "a"))
            ]
            statement = (
                select(documents.c.title)
                .where(documents.c.key.in_(linked[0].union(linked[1])), documents.c.hidden.is_(None))
                .order_by(documents.c.title)
                .limit(_LISTED)
            )
            return list(session.execute(statement).scalars())


def is_linked(session: Session, tree: int | None, document: int) -> bool:
    """Whether a link leads from a document to a tree or to a node of it; None for any tree."""
    ends = [
        and_(
            _links.c[f"{one}_tree"] == GROVE,
            _links.c[f"{one}_kind"] == _DOCUMENT,
            _links.c[f"{one}_key"] == document,
            _links.c[f"{other}_tree"] != GROVE if tree is None else _links.c[f"{other}_tree"] == tree,
        )
        for one, other in (("a", "b"), ("b", "a"))
    ]
    there = select(_links.c.key).where(or_(*ends), _links.c.removed.is_(None)).limit(1)
    return session.execute(there).first() is not None


CROSS_TREE = "crossTree"
"""The setting of a model's agent that lets it leave its tree. People always may."""


def may_cross(session: Session, actor: Actor) -> bool:
    """Whether every agent in the chain may leave the tree it works in."""
    for link in actor.chain():
        agent = agent_value(agent_row(session, link.agent))
        if agent.type is not AgentType.HUMAN and agent.configuration.custom.get(CROSS_TREE) is not True:
            return False
    return True


def not_crossing(hint: str) -> PermissionDeniedError:
    return PermissionDeniedError("crossTree not enabled", hint=hint)


def names_hint(names: Iterable[str], otherwise: str) -> str:
    """The names that there are, as a hint; of a long one its beginning, by which it is found too."""
    known = list(names)
    if not known:
        return otherwise
    shown = ", ".join(f'"{name[:_NAME].rstrip()}"' for name in known[:_MOST_NAMED])
    return f"there are {shown}" + (", and more" if len(known) > _MOST_NAMED else "")
