"""Where a generation starts, and which agents answer: read with the rights that it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from weft.context.result import Context
from weft.errors import ConflictError
from weft.runtime.contexts.layers import Contexts
from weft.runtime.contexts.model_agents import AnsweringAgent
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.operations.cursors import CommitBuffer
from weft.runtime.operations.drafts import CommitDraft
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.nodes import refuse_annotation
from weft.runtime.operations.permissions import agent_row, require_access, require_permission
from weft.runtime.views.reader import Opened, Reader
from weft.store.drafts import draft_at
from weft.store.leases import lease_at
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json_names import iso_moment
from weft.tree.node import Node
from weft.tree.tree import Mode

TurnContext: TypeAlias = Callable[[Contexts, Opened, ContextOptions, AnsweringAgent], Context]
"""Makes the context of a run's next turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlace:
    """Where a generation starts, and what the agent that requests it adds."""

    tree: str
    node: str | None
    """None: where the caller stands."""
    chain: tuple[str, ...] = ()
    """Ids of the agents that led here, one through another: none of them is asked again."""
    moves: bool = True
    """Whether the caller's cursor moves to the first continuation."""
    as_subjects: bool = False
    """Whether the agents are shown nothing of the loom, even if they are loom-aware."""
    turn: TurnContext | None = None
    """For a turn of a run: what its agent is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPoint:
    """A place that can be continued now."""

    tree: int
    tree_id: str
    node_id: str
    typed: str
    """The uncommitted text."""
    typed_here: bool
    """Whether that is at the end of just this path."""
    mode: Mode
    cursor: str | None
    """The caller's; None: it has never moved from the root."""

    def commit_typed(self, caller: Caller) -> Node | None:
        """Make a node of the uncommitted text."""
        if self.mode is Mode.BUFFER:
            return caller.perform(CommitBuffer(tree=self.tree_id))
        return caller.perform(CommitDraft(tree=self.tree_id, node=self.node_id))


@dataclass(frozen=True, slots=True)
class StartPointReader(Reader):
    """Reads start points, with the rights that generating needs."""

    def here(self, tree: str, node: str | None, now: int, *, remarks: bool = False) -> StartPoint:
        """The start point at a node, or at the cursor; `remarks`: an annotation of a document may be answered."""
        with self._tree(tree) as opened:
            session = opened.session
            require_permission(session, self.actor, Permission.LOOM_GENERATE, "generate")
            require_access(session, self.actor, MemberRole.EDITOR, opened.key)
            at = self._cursor_row(opened)
            row = at if node is None else self._row(opened, node)
            if not remarks or opened.mode is Mode.DIALOGUE:
                refuse_annotation(row)
            held = lease_at(session, opened.key, row.position, now)
            if held is not None and held.run != self.actor.run:
                who = agent_row(session, held.agent).name
                raise ConflictError(
                    f"[{row.local_id}] is being extended by {who!r} until {iso_moment(held.expires_at)}",
                    hint="wait for it, or go on from another node",
                )
            typed = self._typed(opened) if opened.mode is Mode.BUFFER else ""
            is_draft = opened.is_dialogue and self.actor.run is None
            if is_draft:
                typed = draft_at(session, opened.key, self.actor.agent, row.key)
            return StartPoint(
                tree=opened.key,
                tree_id=opened.ulid,
                node_id=row.ulid,
                typed=typed,
                typed_here=bool(typed) and (is_draft or at.position == row.position),
                mode=opened.mode,
                cursor=self._cursor_id(opened),
            )

    def _cursor_id(self, opened: Opened) -> str | None:
        row = self._row_at_cursor(opened)
        return None if row is None else row.ulid
