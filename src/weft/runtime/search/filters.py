"""Search filters: what was asked, checked, and as conditions on the rows that are shown."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table, and_, false, or_, select

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.operations.permissions import (
    Actor,
    agent_for,
    permissions_of,
    require_access,
    require_permission,
    tree_for,
    trees_allowed,
)
from weft.runtime.operations.references import KINDS
from weft.runtime.search.options import Moment, SearchOptions
from weft.runtime.search.results import HitKind
from weft.store import schema
from weft.store.rows import AGENT_TYPES, MODES, Flag
from weft.store.session import Reach, Session
from weft.store.text_index import DOCUMENT, NODE, TAG, TREE, reach_of_tree
from weft.tree.access import MemberRole
from weft.tree.agent import AgentType, Permission
from weft.tree.json_names import to_microseconds
from weft.tree.tree import Mode

NUMBERS = {HitKind.NODE: NODE, HitKind.TREE: TREE, HitKind.DOCUMENT: DOCUMENT, HitKind.TAG: TAG}
"""How the index numbers the kinds."""

_nodes, _trees, _tags = schema.nodes, schema.trees, schema.tags
_documents, _revisions = schema.documents, schema.revisions
TAGGED, NOTED = _nodes.alias("tagged"), _documents.alias("noted")
"""What a tag is on."""


class SearchFilters(NamedTuple):
    """The filters of a search, checked."""

    asked: SearchOptions
    kinds: frozenset[HitKind]
    author_type: AgentType | None
    mode: Mode | None
    after: int | None
    before: int | None

    @classmethod
    def of(cls, asked: SearchOptions) -> "SearchFilters":
        given = {asked.kinds} if isinstance(asked.kinds, str) else (asked.kinds or ())
        kinds = frozenset(_choice(HitKind, kind, "a kind of thing") for kind in given)
        return cls(
            asked,
            kinds or frozenset(HitKind),
            _choice(AgentType, asked.author_type, "a kind of author"),
            _choice(Mode, asked.mode, "a mode"),
            _moment(asked.after, "after"),
            _moment(asked.before, "before"),
        )


def _choice(kind: Any, value: str | None, what: str) -> Any:
    if value is None:
        return None
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidInputError(f"{value!r} is not {what}", hint=f"use one of {known}") from None


def _moment(value: Moment | None, what: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InvalidInputError(
                f"{what} {value!r} is not a date", hint="write it as 2026-01-31 or 2026-01-31T18:30"
            ) from None
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    return to_microseconds(value if value.tzinfo is not None else value.replace(tzinfo=UTC))


class Conditions(NamedTuple):
    """Where to search, and what a result must fulfil to be shown."""

    reach: Reach
    tests: Mapping[int, ColumnElement[bool]]
    """By kind; kinds that cannot be meant are left out."""
    trees: set[int] | None
    """The trees that may be read; None: all."""
    selective: bool
    """True if most of what has the words may still be left out."""


def conditions_of(session: Session, actor: Actor, filters: SearchFilters) -> Conditions:
    """The filters as conditions; nothing is found that the agent may not read."""
    asked = filters.asked
    require_permission(session, actor, Permission.LOOM_AWARE, "search")
    trees = trees_allowed(session, actor)
    if trees == set():
        require_access(session, actor, MemberRole.READER)
    if filters.kinds == frozenset((HitKind.DOCUMENT,)):
        require_permission(session, actor, Permission.DOC_READ, "search documents")
        require_access(session, actor, MemberRole.READER)
    documents = trees is None and Permission.DOC_READ in permissions_of(session, actor)
    reach = Reach()
    if asked.tree is not None:
        tree = tree_for(session, actor, asked.tree)
        reach, trees = reach_of_tree(tree), None
    tester = _Tester(session, filters, _authors(session, actor, asked), documents)
    tests = {NUMBERS[kind]: tester.test(kind) for kind in HitKind if tester.is_meant(kind)}
    limits = (trees, asked.kinds, filters.mode, filters.after, filters.before)
    selective = asked.bookmarked or tester.by_author or any(limit is not None for limit in limits)
    return Conditions(reach, tests, trees, selective)


def _authors(session: Session, actor: Actor, asked: SearchOptions) -> list[int] | None:
    """Keys of the agents that are meant; None: all."""
    if asked.author is None and asked.model is None:
        return None
    named = None if asked.author is None else agent_for(session, actor, asked.author)
    if asked.model is None:
        return [] if named is None else [named]
    agents = schema.agents
    models = session.execute(select(agents.c.key, agents.c.model_ref).where(agents.c.model_ref.is_not(None)))
    keys = [row.key for row in models if _is_model(row.model_ref, asked.model)]
    if not keys:
        raise NotFoundError(f"no agent has the model {asked.model[:60]!r}", hint=Hint(HintKind.LIST_AGENTS))
    return [key for key in keys if named in {None, key}]


def _is_model(known: str, wanted: str) -> bool:
    """By its whole name, or without its provider."""
    return wanted.strip().lower() in {known.lower(), known.lower().partition(":")[2]}


class _Tester(NamedTuple):
    """Makes the condition for each kind of result."""

    session: Session
    filters: SearchFilters
    authors: list[int] | None
    documents: bool
    """True if documents may be read."""

    @property
    def by_author(self) -> bool:
        return self.authors is not None or self.filters.author_type is not None

    def is_meant(self, kind: HitKind) -> bool:
        """Only nodes have bookmarks; titles and tags have no author; documents are in no tree."""
        asked = self.filters.asked
        if kind not in self.filters.kinds or (asked.bookmarked and kind is not HitKind.NODE):
            return False
        match kind:
            case HitKind.NODE:
                return True
            case HitKind.TREE | HitKind.TAG:
                return not self.by_author
            case HitKind.DOCUMENT:
                return self.documents and asked.tree is None and self.filters.mode is None

    def test(self, kind: HitKind) -> ColumnElement[bool]:
        match kind:
            case HitKind.NODE:
                table, tests = _nodes, self._node()
            case HitKind.TREE:
                table, tests = _trees, list[ColumnElement[bool]]((_trees.c.key.is_not(None),))
            case HitKind.DOCUMENT:
                table, tests = _revisions, self._document()
            case HitKind.TAG:
                table, tests = _tags, self._tag()
        _, _, _, mode, after, before = self.filters
        if not self.filters.asked.everything:
            tests.append(_trees.c.archived_at.is_(None))
        if mode is not None:
            tests.append(_trees.c.mode == MODES.index(mode))
        if after is not None:
            tests.append(table.c.created_at >= after)
        if before is not None:
            tests.append(table.c.created_at < before)
        return and_(*tests)

    def _node(self) -> list[ColumnElement[bool]]:
        tests = [_nodes.c.key.is_not(None), *self._written_by(_nodes)]
        if not self.filters.asked.everything:
            tests.append(_is_seen(_nodes))
        if self.filters.author_type is not None:
            tests.append(_nodes.c.author_type == AGENT_TYPES.index(self.filters.author_type))
        if self.filters.asked.bookmarked:
            tests.append(_nodes.c.flags.bitwise_and(Flag.BOOKMARKED) != 0)
        return tests

    def _document(self) -> list[ColumnElement[bool]]:
        tests = [_documents.c.key.is_not(None), *self._written_by(_revisions)]
        if not self.filters.asked.everything:
            tests.append(_documents.c.archived_at.is_(None))
        if self.filters.author_type is not None:
            agents = schema.agents
            of_type = agents.c.type == AGENT_TYPES.index(self.filters.author_type)
            tests.append(_revisions.c.author.in_(select(agents.c.key).where(of_type)))
        return tests

    def _written_by(self, table: Table) -> list[ColumnElement[bool]]:
        return [] if self.authors is None else [self.session.dialect.among(table.c.author, self.authors)]

    def _tag(self) -> list[ColumnElement[bool]]:
        """A tag is shown where its target would be."""
        node, tree, document = (_tags.c.kind == KINDS.index(kind) for kind in KINDS)
        noted = document if self.documents else false()
        if not self.filters.asked.everything:
            node, noted = and_(node, _is_seen(TAGGED)), and_(noted, NOTED.c.archived_at.is_(None))
        return [_tags.c.key.is_not(None), _tags.c.removed.is_(None), or_(node, tree, noted)]


def _is_seen(nodes: Any) -> ColumnElement[bool]:
    excluded = nodes.c.flags.bitwise_and(Flag.EXCLUDED)
    return and_(nodes.c.pruned.is_(None), nodes.c.hidden.is_(None), excluded == 0)
