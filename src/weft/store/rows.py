"""Light rows as the database keeps them, and how a child's follow from its parent's."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from weft.tree.agent import AgentType, Permission
from weft.tree.attempt import AttemptOutcome
from weft.tree.content import Content, Text, content_from_wire, content_to_wire
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.measure import Measure
from weft.tree.node import Role, Status
from weft.tree.tree import Mode, jump_depth

T = TypeVar("T")
EDGE_TYPES = (EdgeType.CONTINUATION, EdgeType.ANNOTATION)
SOURCE_ROLES = (SourceRole.PRIMARY, SourceRole.CONTEXT, SourceRole.INSTRUCTION)
ROLES = (Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.TOOL)
STATUSES = (Status.COMPLETE, Status.INTERRUPTED)
AGENT_TYPES = (AgentType.HUMAN, AgentType.MODEL)
MODES = (Mode.DIALOGUE, Mode.BUFFER)
OUTCOMES = (
    AttemptOutcome.RUNNING,
    AttemptOutcome.COMPLETE,
    AttemptOutcome.INTERRUPTED,
    AttemptOutcome.FAILED,
)
KINDS = ("text", "image", "audio", "tool_call", "tool_result", "thinking", "mixed")
"""Stored as their index: append only."""
TEXT_KIND = KINDS.index("text")

_PERMISSIONS = (
    Permission.LOOM_AWARE,
    Permission.LOOM_WRITE,
    Permission.LOOM_GENERATE,
    Permission.DOC_READ,
    Permission.DOC_WRITE,
)


def permission_bits(permissions: frozenset[Permission]) -> int:
    return sum(1 << _PERMISSIONS.index(permission) for permission in permissions)


@cache
def permissions_from(bits: int) -> frozenset[Permission]:
    return frozenset(p for index, p in enumerate(_PERMISSIONS) if bits >> index & 1)


class Flag:
    """Bits of `nodes.flags`. The first two are metadata, the rest say which tables to look in."""

    EXCLUDED = 1
    BOOKMARKED = 2
    HAS_SOURCES = 4
    HAS_ATTACHMENTS = 8
    HAS_RESPONSE = 16
    JOINED = 32
    """Made of two nodes: the event that made it names the second."""
    BLANK = 64
    """White space and nothing else: a part of documents, not of dialogues."""
    HAS_CITATIONS = 128


class NodeRow(NamedTuple):
    """One row of `nodes`, in the table's column order."""

    tree: int
    key: int
    ulid: str
    local_id: str
    position: int
    parent: int | None
    depth: int
    jump: int
    written_after: int | None
    edge_type: int
    edited_from: int | None
    author: int
    author_type: int
    role: int
    kind: int
    status: int
    narrow: int
    wide: int
    ruler: int
    near_attachments: int | None
    near_instruction: int | None
    flags: int
    pruned: int | None
    hidden: int | None
    bookmark_label: str | None
    hash: bytes
    created_at: int

    @property
    def live(self) -> bool:
        return self.pruned is None and self.hidden is None

    @property
    def parent_node(self) -> int | None:
        """The version of the parent that this node was written after."""
        return self.parent if self.written_after is None else self.written_after


def tuple_maker(kind: type[T]) -> Callable[[tuple[Any, ...]], T]:
    """A named tuple's `_make`, in C: for what a path has hundreds of."""
    return partial(tuple.__new__, cast("Any", kind))  # pyright: ignore[reportUnknownMemberType] - of what, `kind` says


class PathRow(NamedTuple):
    """One row of `nodes` as far as a context is planned by it."""

    key: int
    ulid: str
    local_id: str
    position: int
    parent: int | None
    depth: int
    edge_type: int
    author: int
    role: int
    kind: int
    narrow: int
    wide: int
    ruler: int
    flags: int
    pruned: int | None
    hidden: int | None

    @property
    def live(self) -> bool:
        return self.pruned is None and self.hidden is None


LightRow: TypeAlias = NodeRow | PathRow


class PositionRow(NamedTuple):
    """What a position fixes for every node at it."""

    position: int
    parent: int | None
    depth: int
    jump: int
    ruler: int
    near_attachments: int | None
    near_instruction: int | None


def place_of_root(key: int, size: Measure, *, attachments: bool, instructs: bool = False) -> PositionRow:
    return PositionRow(
        key, None, 0, key, size.tokens, key if attachments else None, key if instructs else None
    )


def place_below(
    parent: NodeRow | PositionRow,
    jump_of_jump: int,
    key: int,
    size: Measure,
    *,
    attachments: bool,
    instructs: bool,
) -> PositionRow:
    """The place of a new position below another.

    `jump_of_jump` is where the parent's jump target jumps to. Where a jump leads
    follows from the depth alone; its key is either the parent's or that one. A node
    instructs if its edge has instruction sources, or if it is a system message itself.
    """
    depth = parent.depth + 1
    return PositionRow(
        position=key,
        parent=parent.position,
        depth=depth,
        jump=parent.position if jump_depth(depth) == parent.depth else jump_of_jump,
        ruler=parent.ruler + size.tokens,
        near_attachments=key if attachments else parent.near_attachments,
        near_instruction=key if instructs else parent.near_instruction,
    )


@dataclass(slots=True)
class TreeState:
    """A tree's row while it is being written to; the counters are written back once."""

    key: int
    ulid: str
    mode: Mode
    root: int
    archived_at: int | None
    updated_at: int
    next_key: int
    nodes: int
    branches: int
    depth: int
    events: int
    head: bytes | None
    leased_until: int | None = None
    """Until when some place in it may be leased; so that writers need not look."""
    changed: bool = False


class AgentRow(NamedTuple):
    key: int
    ulid: str
    name: str
    type: int
    model_ref: str | None
    configuration: str
    permissions: int
    created_at: int
    archived_at: int | None
    hidden: int | None = None


def dump_content(content: Content) -> str:
    if isinstance(content, Text):
        return content.text
    return json.dumps(content_to_wire(content), separators=(",", ":"), ensure_ascii=False)


def load_content(kind: int, stored: str) -> Content:
    return Text(stored) if kind == TEXT_KIND else content_from_wire(json.loads(stored))
