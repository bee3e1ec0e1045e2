"""Approvals: a run asks, a person decides once, and the decision outlives both processes.

The row is what waits; the events say who asked for what and who decided. Of two people who decide at
once the first counts: the other gets a conflict, unless both decided the same.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import delete, select, update

from weft.errors import ConflictError, NotFoundError
from weft.ids import is_ulid
from weft.runtime.operations.agents import require_person
from weft.runtime.operations.executor import Caller, Editing
from weft.runtime.operations.grants import put_grant
from weft.runtime.operations.permissions import Actor, agent_row, require_access, trees_allowed
from weft.runtime.operations.scope import Scope, dump_json
from weft.store import schema
from weft.store.lookup import find_agent, find_tree
from weft.store.model_calls import run_row
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.approval import Approval, ApprovalState, ApprovalSubject
from weft.tree.json import JsonValue
from weft.tree.json_names import from_microseconds

_approvals = schema.approvals
_STATES: tuple[ApprovalState, ...] = tuple(ApprovalState)
_PENDING = _STATES.index(ApprovalState.PENDING)
_SECOND = 1_000_000
_KEPT = 24 * 3_600 * _SECOND
_MOST_LISTED = 1_000


class AskApproval(Editing, verb="ask-approval", permission=Permission.LOOM_GENERATE):
    """Ask a person to allow a call of a tool, or a permission for a command; the run waits."""

    tree: str
    node: str
    run: str
    agent: str
    subject: ApprovalSubject
    name: str
    description: str
    call: str
    arguments: Mapping[str, JsonValue]
    seconds: float

    def apply(self, scope: Scope) -> Approval:
        tree, transaction = scope.open_tree(self.tree), scope.transaction
        if run_row(transaction, tree.key, self.run) is None:
            raise ConflictError("the run has ended")
        old = _approvals.c.tree == tree.key, _approvals.c.state != _PENDING
        transaction.execute(delete(_approvals).where(*old, _approvals.c.created_at < scope.now - _KEPT))
        node = scope.node(tree, self.node)
        row: dict[str, Any] = {
            "tree": tree.key,
            "ulid": scope.new_ulid(),
            "run": self.run,
            "node": node.key,
            "agent": find_agent(transaction, self.agent),
            "asker": scope.agent.key,
            "subject": self.subject.value,
            "name": self.name,
            "description": self.description,
            "call": self.call,
            "arguments": dump_json(self.arguments),
            "state": _PENDING,
            "decided_by": None,
            "decided_at": None,
            "expires_at": scope.now + round(self.seconds * _SECOND),
            "created_at": scope.now,
        }
        transaction.add(_approvals, row)
        payload: dict[str, JsonValue] = {
            "approval": row["ulid"],
            "node": node.ulid,
            "run": self.run,
            "agent": self.agent,
            "subject": self.subject.value,
            "name": self.name,
        }
        scope.record(tree, self.verb, payload, {})
        transaction.flush()
        return _load(transaction, row["ulid"])


class _Decision(Editing):
    """Base of decisions about a request."""

    approval: str

    def decide(self, scope: Scope, state: ApprovalState) -> Approval:
        row = _row(scope.transaction, scope.actor, self.approval)
        tree = scope.open_tree(_tree_id(scope.transaction, row.tree))
        row = _row(scope.transaction, scope.actor, self.approval)
        decided = _STATES[int(row.state)]
        if decided is state:
            return _load(scope.transaction, row.ulid)
        if decided is not ApprovalState.PENDING:
            raise ConflictError(f"it is {decided.value.replace('_', ' ')} already")
        self.check(scope, row)
        scope.transaction.execute(
            update(_approvals)
            .where(_approvals.c.tree == row.tree, _approvals.c.ulid == row.ulid)
            .values(state=_STATES.index(state), decided_by=self.person(scope), decided_at=scope.now)
        )
        scope.record(tree, "decide-approval", {"approval": row.ulid, "state": state.value}, {})
        if state is ApprovalState.ALLOWED_IN_TREE:
            agent = agent_row(scope.transaction, row.agent).ulid
            put_grant(scope, tree, agent, ApprovalSubject(row.subject), row.name, allowed=True)
        scope.transaction.flush()
        return _load(scope.transaction, row.ulid)

    def person(self, scope: Scope) -> int | None:
        """Who decides."""
        return scope.agent.key

    def check(self, scope: Scope, row: Any) -> None:
        """Refuse what cannot be decided any more."""
        if row.expires_at <= scope.now:
            raise ConflictError("no person decided in time: the run went on without it")
        if run_row(scope.transaction, row.tree, row.run) is None:
            raise ConflictError("the run has ended", hint="ask the agent again")


class AllowApproval(_Decision, verb="allow what an agent asks for"):
    """Allow what an agent asks for: once, or always in this tree. An owner allows permissions and trees."""

    approval: str
    in_tree: bool = False

    def apply(self, scope: Scope) -> Approval:
        require_person(scope, self.verb)
        state = ApprovalState.ALLOWED_IN_TREE if self.in_tree else ApprovalState.ALLOWED
        return self.decide(scope, state)

    def check(self, scope: Scope, row: Any) -> None:
        if self.in_tree or row.subject == ApprovalSubject.PERMISSION.value:
            require_access(scope.transaction, scope.actor, MemberRole.OWNER, row.tree)
        super().check(scope, row)


class DenyApproval(_Decision, verb="deny what an agent asks for"):
    """Deny what an agent asks for: its run goes on without it."""

    approval: str

    def apply(self, scope: Scope) -> Approval:
        require_person(scope, self.verb)
        return self.decide(scope, ApprovalState.DENIED)


class CloseApproval(_Decision, verb="close an approval", permission=Permission.LOOM_GENERATE):
    """End a request that no person decided, because time is over or its run is; a decision stays."""

    approval: str
    state: ApprovalState

    def apply(self, scope: Scope) -> Approval:
        current = _load(scope.transaction, self.approval)
        return current if current.state is not ApprovalState.PENDING else self.decide(scope, self.state)

    def person(self, scope: Scope) -> None:
        """No person did."""

    def check(self, scope: Scope, row: Any) -> None:
        """It is closed because it cannot be decided."""


def read_approval(caller: Caller, approval: str) -> Approval:
    """One request, as far as the caller may read its tree."""
    with caller.reading() as session:
        return _load(session, _row(session, caller.actor, approval).ulid)


def list_approvals(caller: Caller, tree: str | None = None, *, decided: bool = False) -> list[Approval]:
    """Requests that wait for a person, the oldest first; with `decided`, also those of the last day."""
    with caller.reading() as session:
        statement = select(_approvals).order_by(_approvals.c.created_at, _approvals.c.ulid)
        if not decided:
            statement = statement.where(_approvals.c.state == _PENDING)
        if tree is not None:
            key = find_tree(session, tree)
            require_access(session, caller.actor, MemberRole.READER, key)
            statement = statement.where(_approvals.c.tree == key)
        allowed = trees_allowed(session, caller.actor)
        if allowed is not None:
            statement = statement.where(_approvals.c.tree.in_(allowed))
        rows = session.execute(statement.limit(_MOST_LISTED)).all()
        return [_value(session, row) for row in rows]


def waiting_calls(session: Session, tree: int, run: str) -> dict[str, str]:
    """Call → id of the request, for calls of a run that were asked for and not allowed: they did not run."""
    allows = [index for index, state in enumerate(_STATES) if state.allows]
    rows = session.execute(
        select(_approvals.c.call, _approvals.c.ulid).where(
            _approvals.c.tree == tree, _approvals.c.run == run, _approvals.c.state.not_in(allows)
        )
    )
    return {row.call: row.ulid for row in rows}


def _row(session: Session, actor: Actor, approval: str) -> Any:
    wanted = approval.strip().upper()
    row = None
    if is_ulid(wanted):
        row = session.execute(select(_approvals).where(_approvals.c.ulid == wanted)).one_or_none()
    allowed = trees_allowed(session, actor)
    if row is None or (allowed is not None and row.tree not in allowed):
        raise NotFoundError(f"there is no approval {approval[:60]!r}", hint="weft approvals lists them")
    return row


def _load(session: Session, ulid: str) -> Approval:
    row = session.execute(select(_approvals).where(_approvals.c.ulid == ulid)).one_or_none()
    if row is None:
        raise NotFoundError("the request is gone, and its tree with it")
    return _value(session, row)


def _tree_id(session: Session, key: int) -> str:
    return session.execute(select(schema.trees.c.ulid).where(schema.trees.c.key == key)).scalar_one()


def _value(session: Session, row: Any) -> Approval:
    nodes, agent = schema.nodes, agent_row(session, row.agent)
    here = nodes.c.tree == row.tree, nodes.c.key == row.node
    return Approval(
        id=row.ulid,
        tree_id=_tree_id(session, row.tree),
        node_id=session.execute(select(nodes.c.ulid).where(*here)).scalar_one(),
        run=row.run,
        agent_id=agent.ulid,
        agent=agent.name,
        subject=ApprovalSubject(row.subject),
        name=row.name,
        description=row.description,
        arguments=orjson.loads(row.arguments),
        state=_STATES[int(row.state)],
        asked_at=from_microseconds(row.created_at),
        expires_at=from_microseconds(row.expires_at),
        decided_by=None if row.decided_by is None else agent_row(session, row.decided_by).ulid,
        decided_at=None if row.decided_at is None else from_microseconds(row.decided_at),
    )
