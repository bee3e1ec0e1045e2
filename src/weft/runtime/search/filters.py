"""What a search is narrowed to: read from what was asked, and put as conditions on what is shown."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, false, or_, select

from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.operations.permissions import (
    Actor,
    permissions_of,
    require_access,
    require_permission,
    trees_allowed,
)
from weft.runtime.operations.references import KINDS
from weft.runtime.search.results import HitKind
from weft.store import schema
from weft.store.lookup import find_agent, find_tree
from weft.store.rows import AGENT_TYPES, MODES, Flag
from weft.store.session import Reach, Session
from weft.store.text_index import DOCUMENT, NODE, TAG, TREE, reach_of_tree
from weft.tree.access import MemberRole
from weft.tree.agent import AgentType, Permission
from weft.tree.json_names import to_microseconds
from weft.tree.tree import Mode

Moment = datetime | date | str
"""A time, or a day or time in ISO 8601. Without a zone it is UTC."""

NUMBERS = {HitKind.NODE: NODE, HitKind.TREE: TREE, HitKind.DOCUMENT: DOCUMENT, HitKind.TAG: TAG}
"""How the index numbers the kinds."""

_nodes, _trees, _tags = schema.nodes, schema.trees, schema.tags
_documents, _revisions = schema.documents, schema.revisions
TAGGED, NOTED = _nodes.alias("tagged"), _documents.alias("noted")
"""What a tag is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is asked for, and what it is narrowed to."""

    query: str
    tree: str | None = None
    author: str | None = None
    author_type: AgentType | str | None = None
    model: str | None = None
    after: Moment | None = None
    before: Moment | None = None
    bookmarked: bool = False
    kinds: Collection[HitKind | str] | None = None
    mode: Mode | str | None = None
    everything: bool = False
    """Also what is excluded, pruned, undone or archived."""
    limit: int = 20
    offset: int = 0


class Narrowing(NamedTuple):
    """The filters, read."""

    kinds: frozenset[HitKind]
    named_kinds: bool
    author_type: AgentType | None
    mode: Mode | None
    after: int | None
    before: int | None

    @classmethod
    def of(cls, asked: Search) -> "Narrowing":
        named = asked.kinds is not None
        given = {asked.kinds} if isinstance(asked.kinds, str) else (asked.kinds or ())
        kinds = frozenset(_choice(HitKind, kind, "a kind of thing") for kind in given)
        author_type = asked.author_type
        mode = asked.mode
        return cls(
            kinds or frozenset(HitKind),
            named,
            None if author_type is None else _choice(AgentType, author_type, "a kind of author"),
            None if mode is None else _choice(Mode, mode, "a mode"),
            _moment(asked.after, "after"),
            _moment(asked.before, "before"),
        )


def _choice(kind: Any, value: str, what: str) -> Any:
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


class Allowed(NamedTuple):
    trees: set[int] | None
    """None: all."""
    documents: bool


def require_right(session: Session, actor: Actor, narrowing: Narrowing) -> Allowed:
    """Searching is looking: nothing is found that the agent may not read."""
    require_permission(session, actor, Permission.LOOM_AWARE, "search")
    trees = trees_allowed(session, actor)
    if trees == set():
        require_access(session, actor, MemberRole.READER)
    if narrowing.kinds == frozenset((HitKind.DOCUMENT,)):
        require_permission(session, actor, Permission.DOC_READ, "search documents")
        require_access(session, actor, MemberRole.READER)
    may_read = Permission.DOC_READ in permissions_of(session, actor)
    return Allowed(trees, may_read and trees is None)


class Conditions(NamedTuple):
    """Where to look, and what a thing must be like to be shown."""

    reach: Reach
    tests: Mapping[int, ColumnElement[bool]]
    """Kind → its condition; kinds that cannot be meant are not there."""
    trees: set[int] | None
    selective: bool
    """Whether most of what has the words may still be left out."""

    @classmethod
    def of(
        cls, session: Session, actor: Actor, asked: Search, narrowing: Narrowing, allowed: Allowed
    ) -> "Conditions":
        reach, trees = Reach(), allowed.trees
        if asked.tree is not None:
            tree = find_tree(session, asked.tree)
            require_access(session, actor, MemberRole.READER, tree)
            reach, trees = reach_of_tree(tree), None
        tester = _Tester(session, asked, narrowing, _authors(session, asked), allowed)
        tests = {NUMBERS[kind]: tester.test(kind) for kind in HitKind if tester.is_meant(kind)}
        selective = (
            trees is not None
            or asked.bookmarked
            or narrowing.named_kinds
            or tester.by_author
            or any(value is not None for value in (narrowing.mode, narrowing.after, narrowing.before))
        )
        return cls(reach, tests, trees, selective)


def _authors(session: Session, asked: Search) -> list[int] | None:
    """Keys of the agents that are meant; None: anybody."""
    if asked.author is None and asked.model is None:
        return None
    named = None if asked.author is None else find_agent(session, asked.author)
    if asked.model is None:
        return [] if named is None else [named]
    agents = schema.agents
    models = session.execute(select(agents.c.key, agents.c.model_ref).where(agents.c.model_ref.is_not(None)))
    keys = [row.key for row in models if _is_model(row.model_ref, asked.model)]
    if not keys:
        raise NotFoundError(f"no agent speaks for model {asked.model[:60]!r}", hint="list the agents to see")
    return [key for key in keys if named in {None, key}]


def _is_model(known: str, wanted: str) -> bool:
    """By its whole name, or without the provider's."""
    return wanted.strip().lower() in {known.lower(), known.lower().partition(":")[2]}


@dataclass(frozen=True, slots=True)
class _Tester:
    """Puts what was asked as a condition on each kind of thing."""

    session: Session
    asked: Search
    narrowing: Narrowing
    authors: list[int] | None
    allowed: Allowed

    @property
    def by_author(self) -> bool:
        return self.authors is not None or self.narrowing.author_type is not None

    def is_meant(self, kind: HitKind) -> bool:
        """Only nodes have bookmarks; titles and tags have no author; documents are in no tree."""
        if kind not in self.narrowing.kinds or (self.asked.bookmarked and kind is not HitKind.NODE):
            return False
        match kind:
            case HitKind.NODE:
                return True
            case HitKind.TREE | HitKind.TAG:
                return not self.by_author
            case HitKind.DOCUMENT:
                inside = self.asked.tree is not None or self.narrowing.mode is not None
                return self.allowed.documents and not inside

    def test(self, kind: HitKind) -> ColumnElement[bool]:
        match kind:
            case HitKind.NODE:
                moment, tests = _nodes.c.created_at, self._node()
            case HitKind.TREE:
                moment, tests = _trees.c.created_at, list[ColumnElement[bool]]((_trees.c.key.is_not(None),))
            case HitKind.DOCUMENT:
                moment, tests = _revisions.c.created_at, self._document()
            case HitKind.TAG:
                moment, tests = _tags.c.created_at, self._tag()
        after, before, mode = self.narrowing.after, self.narrowing.before, self.narrowing.mode
        if not self.asked.everything:
            tests.append(_trees.c.archived_at.is_(None))
        if mode is not None:
            tests.append(_trees.c.mode == MODES.index(mode))
        if after is not None:
            tests.append(moment >= after)
        if before is not None:
            tests.append(moment < before)
        return and_(*tests)

    def _node(self) -> list[ColumnElement[bool]]:
        tests: list[ColumnElement[bool]] = [_nodes.c.key.is_not(None)]
        if not self.asked.everything:
            tests.append(_is_seen(_nodes))
        if self.authors is not None:
            tests.append(self.session.dialect.among(_nodes.c.author, self.authors))
        if self.narrowing.author_type is not None:
            tests.append(_nodes.c.author_type == AGENT_TYPES.index(self.narrowing.author_type))
        if self.asked.bookmarked:
            tests.append(_nodes.c.flags.bitwise_and(Flag.BOOKMARKED) != 0)
        return tests

    def _document(self) -> list[ColumnElement[bool]]:
        tests: list[ColumnElement[bool]] = [_documents.c.key.is_not(None)]
        if not self.asked.everything:
            tests.append(_documents.c.archived_at.is_(None))
        if self.authors is not None:
            tests.append(self.session.dialect.among(_revisions.c.author, self.authors))
        if self.narrowing.author_type is not None:
            agents = schema.agents
            of_type = agents.c.type == AGENT_TYPES.index(self.narrowing.author_type)
            tests.append(_revisions.c.author.in_(select(agents.c.key).where(of_type)))
        return tests

    def _tag(self) -> list[ColumnElement[bool]]:
        """A tag is found where what it is on would be."""
        node, tree, document = (_tags.c.kind == KINDS.index(kind) for kind in KINDS)
        noted = document if self.allowed.documents else false()
        if not self.asked.everything:
            node, noted = and_(node, _is_seen(TAGGED)), and_(noted, NOTED.c.archived_at.is_(None))
        return [_tags.c.key.is_not(None), _tags.c.removed.is_(None), or_(node, tree, noted)]


def _is_seen(nodes: Any) -> ColumnElement[bool]:
    excluded = nodes.c.flags.bitwise_and(Flag.EXCLUDED)
    return and_(nodes.c.pruned.is_(None), nodes.c.hidden.is_(None), excluded == 0)
