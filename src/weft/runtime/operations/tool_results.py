"""Results of tools that were too large for their turn: kept whole, and read on by their handle."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import func, select

from weft.errors import NotFoundError
from weft.provenance.fingerprints import tool_result_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope, dump_json
from weft.store import schema
from weft.store.packed_bodies import add_body, load_body
from weft.store.session import Session
from weft.tree.agent import Permission
from weft.tree.json import JsonValue

FIRST_HANDLE = 100_001
"""Results of → commands are numbered from 1 for every agent: a handle never means both."""
_results = schema.tool_results


class KeptResult(NamedTuple):
    """A result that was put aside."""

    number: int
    """Its handle."""
    size: int
    """Characters."""
    lines: int


class KeepResult(Editing, verb="keep-result", permission=Permission.LOOM_GENERATE):
    """Keep a result whole, with the turn that it was made for."""

    tree: str
    node: str
    tool: str
    arguments: Mapping[str, JsonValue]
    text: str

    def apply(self, scope: Scope) -> KeptResult:
        tree = scope.open_tree(self.tree)
        row = scope.node(tree, self.node)
        last = select(func.max(_results.c.number)).where(_results.c.tree == tree.key)
        newest = scope.transaction.execute(last).scalar()
        body = self.text.encode()
        kept = KeptResult(
            FIRST_HANDLE if newest is None else int(newest) + 1, len(self.text), self.text.count("\n") + 1
        )
        digest = hashlib.sha256(body).digest()
        values: dict[str, Any] = {
            "tree": tree.key,
            **kept._asdict(),
            "node": row.key,
            "agent": scope.agent.key,
            "tool": self.tool,
            "arguments": dump_json(self.arguments),
            "sha256": digest,
            "created_at": scope.now,
        }
        add_body(scope.transaction, tree.key, digest, body)
        scope.transaction.add(_results, values)
        scope.add_fingerprint(tool_result_fingerprint(values, row.ulid, scope.agent.ulid))
        scope.record(tree, self.verb, {"node": row.ulid, "result": kept.number, "tool": self.tool}, {})
        return kept


def load_result(session: Session, tree: int, number: int) -> str:
    """The whole text of a result."""
    named = select(_results.c.sha256).where(_results.c.tree == tree, _results.c.number == number)
    digest = session.execute(named).scalar_one_or_none() if 0 < number < 2**31 else None
    if digest is None:
        raise NotFoundError(
            f"there is no result {number}", hint="a result's number is shown where it was put aside"
        )
    return load_body(session, tree, digest).decode()
