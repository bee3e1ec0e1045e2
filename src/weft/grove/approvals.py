"""Approvals in Python: `for each in loom.approvals: loom.approvals.allow(each.id)`."""

from collections.abc import Iterator
from dataclasses import dataclass

from weft.errors import InvalidInputError
from weft.runtime.operations.approvals import AllowApproval, DenyApproval, list_approvals, read_approval
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.grants import Grant, tree_grants
from weft.runtime.operations.permissions import require_access
from weft.store.lookup import find_tree
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.approval import Approval, ApprovalSubject, TreeGrants
from weft.tree.node import Identified


@dataclass(frozen=True, slots=True)
class Approvals:
    """What agents wait for a person to allow, in any process that uses the grove."""

    caller: Caller

    def __iter__(self) -> Iterator[Approval]:
        return iter(self.all())

    def __getitem__(self, approval: str) -> Approval:
        return read_approval(self.caller, approval)

    def all(self, tree: Identified | str | None = None, *, decided: bool = False) -> list[Approval]:
        """Those that wait, the oldest first; with `decided`, also those of the last day."""
        return list_approvals(self.caller, None if tree is None else _id(tree), decided=decided)

    def allow(self, approval: Approval | str, *, in_tree: bool = False) -> Approval:
        """Allow it once, or always in its tree."""
        return self.caller.perform(AllowApproval(approval=_id(approval), in_tree=in_tree))

    def deny(self, approval: Approval | str) -> Approval:
        return self.caller.perform(DenyApproval(approval=_id(approval)))

    def grants(self, tree: Identified | str) -> list[TreeGrants]:
        """What agents may do in a tree without being asked."""
        with self.caller.reading() as session:
            key = find_tree(session, _id(tree))
            require_access(session, self.caller.actor, MemberRole.READER, key)
            return tree_grants(session, key)

    def grant(
        self,
        tree: Identified | str,
        agent: Identified | str,
        *,
        tool: str | None = None,
        permission: Permission | str | None = None,
        allowed: bool = True,
    ) -> list[TreeGrants]:
        """Let an agent use a tool, or have a permission, in one tree; with `allowed` false, no longer."""
        subject = ApprovalSubject.PERMISSION if tool is None else ApprovalSubject.TOOL
        name = permission if tool is None else tool
        if name is None or (tool is not None and permission is not None):
            raise InvalidInputError("name a tool or a permission", hint="one of them")
        return self.caller.perform(
            Grant(tree=_id(tree), agent=_id(agent), subject=subject, name=name, allowed=allowed)
        )


def _id(given: Identified | str) -> str:
    return given if isinstance(given, str) else given.id
