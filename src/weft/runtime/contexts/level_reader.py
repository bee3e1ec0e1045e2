"""Rows of a tree as levels of a path: what each says and weighs, what is beside it, and why it is left out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.context.rows import (
    SPOKEN,
    Annotations,
    Candidate,
    ExtraSource,
    Instead,
    Reason,
    ToolTraffic,
    least_of_content,
    reason_to_leave_out,
    tokens_of_content,
)
from weft.context.system import Instruction
from weft.context.tokens import Estimator
from weft.context.tool_pairs import tools_of
from weft.runtime.contexts.collapsed_path import PathFolds
from weft.runtime.contexts.known_path import Level
from weft.runtime.contexts.tree_facts import TreeFacts
from weft.runtime.operations.node_values import ContentCache, further_sources_of
from weft.runtime.operations.permissions import agent_row
from weft.runtime.views.reader import Opened
from weft.store.lookup import find_agent
from weft.store.path_queries import (
    ancestor_at_depth,
    instructing,
    instructing_versions,
    notes_on,
)
from weft.store.rows import EDGE_TYPES, KINDS, ROLES, Flag, LightRow, NodeRow, tuple_maker
from weft.store.tree_queries import Selections, node_rows, resolve
from weft.tree.content import Content, Mixed, Text, holds_results, makes_calls, plain_text, spoken_text
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.measure import MEDIA_TOKENS
from weft.tree.node import Metadata, Role
from weft.tree.tree import Mode

_ANNOTATION = EDGE_TYPES.index(EdgeType.ANNOTATION)
_SYSTEM = ROLES.index(Role.SYSTEM)
_SPEAKERS = frozenset({ROLES.index(Role.USER), ROLES.index(Role.ASSISTANT)})
_ROLE_NAMES = tuple((Role.USER if role is Role.SYSTEM else role).value for role in ROLES)
_UNMARKED = (0, None, None, EDGE_TYPES.index(EdgeType.CONTINUATION))
"""What nearly all rows are: in, with nothing to look up."""
_EXCLUDED, _BLANK = int(Flag.EXCLUDED), int(Flag.BLANK)
_SPECIAL = Flag.EXCLUDED | Flag.BLANK | Flag.HAS_SOURCES
_PLAIN = (KINDS.index("text"), *_UNMARKED)
_CANDIDATE, _LEVEL = tuple_maker(Candidate), tuple_maker(Level)
_NOTHING_BESIDE = Candidate("", "", "", 0, 0)[7:]
_MEDIA = frozenset({"image", "audio"})
_TOOLS = frozenset({"tool_call", "tool_result"})
_TOOLS_AT_ONCE = 500
"""Of a long path's tools never more than this many are held at a time."""


@dataclass(slots=True, kw_only=True)
class LevelReader:
    """Reads levels of the path to one node, as one agent sees it."""

    tree: Opened
    end: NodeRow
    selections: Selections
    cache: ContentCache
    estimator: Estimator
    annotations: Annotations = False
    folds: PathFolds = field(default_factory=PathFolds)
    seen: dict[str, LightRow] = field(default_factory=dict[str, LightRow])
    """What was read, by id: contents are asked for by rows."""
    words_from: int = 0
    """From this depth on, every level that was read is the words of one node, with nothing beside them."""

    @property
    def dialogue(self) -> bool:
        return self.tree.mode is Mode.DIALOGUE

    def instructions(self) -> tuple[Instruction, ...]:
        """What instructs along the path: sources of its edges, and the system messages of histories."""
        marked = self.end.near_instruction is not None
        if self.dialogue and not marked:
            return ()
        rows = instructing(self.tree.session, self.tree.key, self.end.position) if marked else []
        if not self.dialogue:
            rows = self._resolved([*rows, *self._instructed_by_versions({row.key for row in rows})])
            rows.sort(key=lambda row: row.depth)
        edges = further_sources_of(self.tree.session, self.tree.key, rows)
        pairs = [
            (key, row.ulid) for row in rows for key in self._instructing_keys(row, edges.get(row.key, ()))
        ]
        return self.instructions_from(pairs)

    def _instructing_keys(self, row: LightRow, sources: Iterable[tuple[int, SourceRole]]) -> list[int]:
        keys = [key for key, role in sources if role is SourceRole.INSTRUCTION]
        own = self.dialogue and row.role == _SYSTEM
        return [*keys, row.key] if own else keys

    def _instructed_by_versions(self, known: set[int]) -> list[LightRow]:
        """Places on the path whose later versions brought instructions that the first had not."""
        session, tree, end = self.tree.session, self.tree.key, self.end
        positions = [
            position
            for position, depth in instructing_versions(session, tree)
            if position not in known
            and depth <= end.depth
            and ancestor_at_depth(session, tree, end.position, depth) == position
        ]
        return list(node_rows(session, tree, positions).values())

    def instructions_from(self, pairs: Sequence[tuple[int, str]]) -> tuple[Instruction, ...]:
        """(key of an instructing node, id of the edge it instructs) with their texts."""
        session, tree = self.tree.session, self.tree.key
        rows = node_rows(session, tree, [key for key, _ in pairs])
        contents = self.cache.contents(session, tree, rows.values())
        return tuple(
            Instruction(
                id=rows[key].ulid,
                local_id=rows[key].local_id,
                text=plain_text(contents[key]),
                edge=edge,
                left_out=self._reason(rows[key]),
            )
            for key, edge in pairs
        )

    def extra_sources(self, pairs: Sequence[tuple[int, SourceRole]]) -> tuple[ExtraSource, ...]:
        """Nodes beside the path, as planning sees them."""
        rows = node_rows(self.tree.session, self.tree.key, [key for key, _ in pairs])
        sizes = self._sizes(list(rows.values()))
        return tuple(self._extra(rows[key], role, sizes[key]) for key, role in pairs)

    def _extra(self, row: LightRow, role: SourceRole, size: "_Size") -> ExtraSource:
        self.seen[row.ulid] = row
        return ExtraSource(
            row.ulid, row.local_id, role, size.tokens, KINDS[row.kind], self._reason(row), size.least
        )

    def _why(self, row: LightRow) -> Reason | None:
        """The reason that a node itself gives to leave it out."""
        blank = row.flags & Flag.BLANK and (self.dialogue or not row.narrow + row.wide)
        return self._reason(row) or self._of_no_use(row) or (Reason.EMPTY if blank else None)

    def _resolved(self, rows: Sequence[LightRow]) -> list[LightRow]:
        """Positions as the versions that are seen; the end as the one that was asked for."""
        if self.dialogue:
            return list(rows)
        seen = resolve(self.tree.session, self.tree.key, rows, self.selections)
        return [self.end if row.position == self.end.position else row for row in seen]

    def _levels(self, rows: Sequence[LightRow]) -> list[Level]:
        seen = self._resolved(rows)
        self.seen |= {row.ulid: row for row in seen}
        authors = {key: self._author(key) for key in {row.author for row in seen}}
        of_counts, special = self.estimator.of_counts or _of_no_counts, seen
        if self.dialogue and self.estimator.of_counts and not TreeFacts.of(self.tree).has_notes:
            special = [row for row in seen if not _is_plain(row)]
        made: dict[int, Candidate] = {}
        if special:
            made = self._special_candidates(special, authors)
            self.words_from = max(self.words_from, special[-1].depth + 1)
        candidates = [
            made.get(row.key)
            or _CANDIDATE(
                (
                    row.ulid,
                    row.local_id,
                    _ROLE_NAMES[row.role],
                    # Words are never free.
                    of_counts(row.narrow, row.wide) or 1,
                    row.ruler,
                    "text",
                    authors[row.author],
                    *_NOTHING_BESIDE,
                )
            )
            for row in seen
        ]
        levels = list(map(_LEVEL, zip(seen, candidates, strict=True)))
        return [self._folded(level) for level in levels] if self.folds.ranges else levels

    def _special_candidates(
        self, rows: Sequence[LightRow], authors: Mapping[int, str]
    ) -> dict[int, Candidate]:
        """Levels that are not just the words of one node: by key, with all that is beside them."""
        session, tree = self.tree.session, self.tree.key
        beside = further_sources_of(session, tree, rows)
        extras = {key: _extra_keys(listed) for key, listed in beside.items()}
        others = node_rows(session, tree, [key for listed in extras.values() for key, _ in listed])
        notes = (
            notes_on(session, tree, [row.position for row in rows])
            if self.dialogue and TreeFacts.of(self.tree).has_notes
            else {}
        )
        others |= {note.key: note for listed in notes.values() for note in listed}
        if self.dialogue:
            sizes = beside_sizes = self._sizes([*rows, *others.values()])
        else:
            sizes, beside_sizes = self._sizes(rows, words=True), self._sizes(list(others.values()))
        return {
            row.key: Candidate(
                row.ulid,
                row.local_id,
                _ROLE_NAMES[row.role],
                size.tokens,
                row.ruler,
                KINDS[row.kind],
                authors[row.author],
                self._reason(row) or self._of_no_use(row),
                tuple(
                    self._extra(others[key], role, beside_sizes[key]) for key, role in extras.get(row.key, ())
                ),
                tuple(
                    self._extra(note, SourceRole.CONTEXT, beside_sizes[note.key])
                    for note in notes.get(row.position, ())
                ),
                least=size.least,
                asks=size.asks,
                answers=size.answers,
                tools=size.tools,
            )
            for row in rows
            for size in [sizes[row.key]]
        }

    def agent_key(self, agent: str) -> int:
        """The key of an agent."""
        session, head = self.tree.session, TreeFacts.of(self.tree).grove_head
        return self.cache.of_grove(head, (find_agent, agent), lambda: find_agent(session, agent))

    def _author(self, key: int) -> str:
        """The id of an agent."""
        session, head = self.tree.session, TreeFacts.of(self.tree).grove_head
        return self.cache.of_grove(head, (LevelReader, key), lambda: agent_row(session, key).ulid)

    def _folded(self, level: Level) -> Level:
        """A level of a folded range: one of them speaks for all, the others are left out."""
        fold = self.folds.at(level.row.depth)
        if fold is None:
            return level
        text = self.folds.stand_in(level.row, fold, self.tree.mode)
        tokens = level.candidate.tokens if text is None else self.estimator.of_text(text)
        folded = level.candidate._replace(
            role=Role.USER.value,
            kind="text",
            tokens=tokens,
            left_out=Reason.COLLAPSED if text is None else None,
            sources=(),
            notes=(),
            least=None,
            instead=None if text is None else Instead(fold.name, level.candidate.tokens),
            tools=None,
        )
        return Level(level.row, folded)

    def _of_no_use(self, row: LightRow) -> Reason | None:
        """Why what is there is not said as a part of the path."""
        if self.tree.mode is Mode.DIALOGUE:
            return Reason.IN_SYSTEM if row.role == _SYSTEM else None
        return Reason.NO_WORDS if KINDS[row.kind] not in SPOKEN else None

    def _reason(self, row: LightRow) -> Reason | None:
        if (row.flags & _EXCLUDED, row.pruned, row.hidden, row.edge_type) == _UNMARKED:
            return None
        return reason_to_leave_out(
            Metadata(
                excluded=bool(row.flags & _EXCLUDED),
                pruned=row.pruned is not None,
                hidden=row.hidden is not None,
            ),
            annotation=row.edge_type == _ANNOTATION,
            node=row.ulid,
            annotations=self.annotations,
        )

    def _sizes(self, rows: Sequence[LightRow], *, words: bool = False) -> dict[int, "_Size"]:
        """From the counts that nodes carry; contents are read only for what counts cannot say.

        Of a document's own nodes only the `words` count.
        """
        of_counts = self.estimator.of_counts
        sizes: dict[int, _Size] = {}
        unsaid: list[LightRow] = []
        for row in rows:
            kind = KINDS[row.kind]
            if kind not in SPOKEN if words else row.flags & _BLANK:
                sizes[row.key] = _Size(0)
            elif of_counts is None or kind == "mixed":
                unsaid.append(row)
            else:
                tokens = (of_counts(row.narrow, row.wide) or 1) if row.narrow or row.wide else 0
                sizes[row.key] = _Size(tokens + MEDIA_TOKENS if kind in _MEDIA else tokens)
        if unsaid:
            contents = self.cache.contents(self.tree.session, self.tree.key, unsaid)
            sizes |= {key: self._size(content, words=words) for key, content in contents.items()}
        return sizes if words else sizes | self._with_tools(rows, sizes)

    def _with_tools(self, rows: Sequence[LightRow], sizes: Mapping[int, "_Size"]) -> dict[int, "_Size"]:
        """Calls and results with their ids: only contents tell which belong together, so these are read."""
        with_tools: dict[int, _Size] = {}
        tools = [row for row in rows if KINDS[row.kind] in _TOOLS and sizes[row.key].tools is None]
        for start in range(0, len(tools), _TOOLS_AT_ONCE):
            part = tools[start : start + _TOOLS_AT_ONCE]
            for key, content in self.cache.contents(self.tree.session, self.tree.key, part).items():
                with_tools[key] = sizes[key]._replace(tools=tools_of(content))
        return with_tools

    def _size(self, content: Content, *, words: bool) -> "_Size":
        if words:
            return _Size(tokens_of_content(Text(spoken_text(content)), self.estimator))
        tokens = tokens_of_content(content, self.estimator)
        if not isinstance(content, Mixed):
            return _Size(tokens, tools=tools_of(content))
        least = least_of_content(content, self.estimator)
        return _Size(tokens, least, makes_calls(content), holds_results(content), tools_of(content))


class _Size(NamedTuple):
    tokens: int
    least: int | None = None
    """What a content of several parts can be brought down to."""
    asks: bool | None = None
    answers: bool | None = None
    tools: ToolTraffic | None = None


def _is_plain(row: LightRow) -> bool:
    """Whether a row is what nearly all of a dialogue are: words with nothing beside them, which are said."""
    return (
        (row.kind, row.flags & _SPECIAL, row.pruned, row.hidden, row.edge_type) == _PLAIN
        and row.role in _SPEAKERS
        and row.narrow + row.wide > 0
    )


def _of_no_counts(narrow: int, wide: int) -> int:
    """Where counts say nothing, every level is special, and this is not asked."""
    raise RuntimeError(f"{narrow} and {wide} characters cannot be counted")


def _extra_keys(sources: Sequence[tuple[int, SourceRole]]) -> list[tuple[int, SourceRole]]:
    """Context, then the primaries of a merge beyond the first, each in the order they were given."""
    context = [pair for pair in sources if pair[1] is SourceRole.CONTEXT]
    primaries = [pair for pair in sources if pair[1] is SourceRole.PRIMARY]
    return context + primaries[1:]
