"""Writing summaries: not a step of anybody's work, so undo passes over it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import select, update

from weft.provenance.fingerprints import summary_fingerprint
from weft.runtime.generation.start_call import EndedCall, save_ended_call
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_document
from weft.store.rows import NodeRow, TreeState
from weft.tree.content import check_text
from weft.tree.json import JsonObject, JsonValue

_LIMIT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SummariseNode(Editing):
    """Keep a node's summary; identity and hash stay."""

    verb: ClassVar[str] = "summarise"
    tree: str
    node: str
    summary: str
    calls: Sequence[EndedCall] = ()
    """What models were asked for it."""
    manifest: bytes = b"{}"
    """And what they were shown."""

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        row = scope.node(tree, self.node)
        texts = schema.texts
        kept = check_text(self.summary, what="summary", limit=_LIMIT)
        here = texts.c.tree == tree.key, texts.c.node == row.key
        scope.transaction.execute(update(texts).where(*here).values(summary=kept))
        scope.add_fingerprint(summary_fingerprint(row.ulid, kept))
        scope.record(tree, self.verb, {"node": row.ulid, **_kept(scope, tree, row, self)}, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class SummariseTree(Editing):
    verb: ClassVar[str] = "summarise"
    tree: str
    summary: str
    calls: Sequence[EndedCall] = ()
    manifest: bytes = b"{}"

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        trees = schema.trees
        kept = check_text(self.summary, what="summary", limit=_LIMIT)
        scope.transaction.execute(update(trees).where(trees.c.key == tree.key).values(summary=kept))
        scope.add_fingerprint(summary_fingerprint(tree.ulid, kept))
        root = scope.transaction.node(tree.key, tree.root)
        scope.record(tree, self.verb, {"tree": tree.ulid, **_kept(scope, tree, root, self)}, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class SummariseDocument(Editing):
    verb: ClassVar[str] = "summarise"
    document: str
    summary: str

    def apply(self, scope: Scope) -> None:
        scope.open_grove()
        documents = schema.documents
        key = find_document(scope.transaction, self.document)
        kept = check_text(self.summary, what="summary", limit=_LIMIT)
        ulid = scope.transaction.execute(select(documents.c.ulid).where(documents.c.key == key)).scalar_one()
        scope.transaction.execute(update(documents).where(documents.c.key == key).values(summary=kept))
        scope.add_fingerprint(summary_fingerprint(ulid, kept))
        scope.record(None, self.verb, {"document": ulid}, {})


def _kept(scope: Scope, tree: TreeState, row: NodeRow, made: SummariseNode | SummariseTree) -> JsonObject:
    """Every call of a model leaves its evidence, a summary's too."""
    agent = scope.transaction.agent(scope.actor.agent).ulid
    attempts: list[JsonValue] = [
        save_ended_call(scope, tree, row, agent, call, manifest=made.manifest) for call in made.calls
    ]
    return {"attempts": attempts} if attempts else {}
