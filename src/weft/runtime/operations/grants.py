"""Grants: what an agent may do in one tree without being asked, beyond its own rights and policies.

They are part of the grove's preferences, so that they are verified and undone like them, and no file that is
imported brings any.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.operations.agents import require_person
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_values import heading_of
from weft.runtime.operations.permissions import agent_row
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import load_settings, record_change
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.rows import TreeState
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.approval import ApprovalSubject, TreeGrants
from weft.tree.content import check_text

GRANTS = "grants"
"""The preference with all of this: tree → agent → subject → names."""
_LONGEST_NAME = 200
_MOST_NAMES = 1_000


_Grants = Mapping[str, Mapping[str, Sequence[str]]]


def load_grants(session: Session, tree: int) -> _Grants:
    """The grants in a tree, by agent and subject."""
    every: Mapping[str, _Grants] = load_settings(session).get(GRANTS) or {}
    return every.get(heading_of(session, tree).ulid) or {} if every else {}


def granted(session: Session, tree: int, agent: str, subject: ApprovalSubject) -> frozenset[str]:
    """What an agent was granted in a tree."""
    return frozenset(load_grants(session, tree).get(agent, {}).get(subject.value, ()))


def tree_grants(session: Session, tree: int) -> list[TreeGrants]:
    """The grants in a tree, with the names of the agents."""
    named = session.execute(select(schema.agents.c.ulid, schema.agents.c.name))
    names = {str(row.ulid): str(row.name) for row in named}
    return [
        TreeGrants(
            agent_id=agent,
            agent=names.get(agent, ""),
            tools=tuple(given.get(ApprovalSubject.TOOL.value, ())),
            permissions=tuple(given.get(ApprovalSubject.PERMISSION.value, ())),
        )
        for agent, given in load_grants(session, tree).items()
    ]


def put_grant(
    scope: Scope, tree: TreeState, agent: str, subject: ApprovalSubject, name: str, *, allowed: bool
) -> bool:
    """Add a grant or remove it; False if it was so already."""
    # Locked first: grants in two trees at once change one value.
    scope.transaction.grove_state()
    before = load_settings(scope.transaction)
    every: Mapping[str, _Grants] = before.get(GRANTS) or {}
    here = every.get(tree.ulid) or {}
    own = here.get(agent) or {}
    names = {*own.get(subject.value, ())}
    if (name in names) == allowed:
        return False
    names = names | {name} if allowed else names - {name}
    if len(names) > _MOST_NAMES:
        raise InvalidInputError(f"an agent has at most {_MOST_NAMES:,} grants in a tree")
    after = _put(every, tree.ulid, _put(here, agent, _put(own, subject.value, sorted(names))))
    record_change(scope, before, _put(before, GRANTS, after), [GRANTS])
    return True


def _put(values: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """With a value of that name; without one that is empty."""
    rest = {each: old for each, old in values.items() if each != name}
    return {**rest, name: value} if value else rest


class Grant(Editing, verb="grant", access=MemberRole.OWNER):
    """Let an agent use a tool, or have a permission, in one tree; with `allowed` false, no longer.

    Only a person grants. A tool that a policy denies stays denied.
    """

    tree: str
    agent: str
    subject: ApprovalSubject
    name: str
    allowed: bool = True

    def apply(self, scope: Scope) -> list[TreeGrants]:
        require_person(scope, self.verb)
        tree = scope.open_tree(self.tree)
        agent = agent_row(scope.transaction, find_agent(scope.transaction, self.agent)).ulid
        name = check_text(self.name, what="name", limit=_LONGEST_NAME).strip()
        if not name:
            raise InvalidInputError("name the tool or the permission", path="name")
        if self.subject is ApprovalSubject.PERMISSION and name not in list(Permission):
            known = ", ".join(Permission)
            raise InvalidInputError(f"{name!r} is not a permission", hint=f"use one of {known}", path="name")
        if not put_grant(scope, tree, agent, self.subject, name, allowed=self.allowed) and not self.allowed:
            raise NotFoundError(f"{name} is not granted here")
        return tree_grants(scope.transaction, tree.key)
