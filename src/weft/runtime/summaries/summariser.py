"""Summaries of nodes, trees and documents: what each is made from, and where it is saved."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import orjson
from sqlalchemy import func, select, update

from weft.context.manifest import NO_LIMIT, EntryKind, Facts, Manifest, Outcome, Run
from weft.context.tokens import DEFAULT
from weft.provenance.fingerprints import summary_fingerprint
from weft.runtime.generation.start_call import EndedCall, save_ended_call
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import load_settings
from weft.runtime.summaries.model_request import SummaryResult, registry_of, request_summary, summary_models
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_document, find_tree
from weft.store.rows import EDGE_TYPES, NodeRow, TreeState
from weft.store.tree_queries import node_rows
from weft.tree.content import check_text, plain_text
from weft.tree.edge import EdgeType
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Node
from weft.tree.path import Path
from weft.tree.progress import Progress, silent
from weft.tree.snippet import EXTRACT, extract, is_extract

_SHORT = 50
"""Tokens below which a node says too little without its grandparent."""
_PATH_HEAD, _PATH_TAIL = 10, 30
"""How many nodes of a long path a tree's summary is made from, at its beginning and at its end."""
_BRANCH_POINTS = 20
_SLOT = 4_000
"""Characters of a node that stands in another's prompt."""


@dataclass(frozen=True, slots=True)
class Summariser:
    """Makes and keeps summaries, for whoever acts."""

    executor: Executor
    actor: Actor
    unattended: bool = False
    last_try: bool = True
    is_stopped: Callable[[], bool] = lambda: False
    """Whether whoever runs this is about to end: no more is made than what is under way."""

    @property
    def _read(self) -> Reader:
        return Reader(self.executor.store, self.actor)

    def node(self, tree: str, node: str, *, anew: bool = False) -> str:
        """The summary of a node; made and kept, if there is none."""
        value = self._read.node(tree, node)
        if value.summary is not None and not anew:
            return value.summary
        text = plain_text(value.content)
        if not text.strip():
            return ""
        whole = self._read.tree(tree)
        near = self._read.path(tree, node, tail=3).nodes
        before = near[:-1] if DEFAULT.of_text(text) < _SHORT else near[-2:-1]
        prompt = node_prompt(title=whole.title, previous=[_said(each) for each in before], content=text)
        made = self._ask(prompt, text, tree)
        self.executor.perform(
            self.actor,
            SummariseNode(
                tree=value.tree_id,
                node=value.id,
                summary=made.text,
                calls=made.calls,
                manifest=_account("node", prompt, [*before, value]),
            ),
        )
        return made.text

    def tree(self, tree: str, *, anew: bool = False, progress: Progress = silent) -> str:
        """The summary of a tree: from the summaries along the path and at branch points."""
        value = self._read.tree(tree)
        if value.summary is not None and not anew:
            return value.summary
        path = self._path(value.id)
        branches, points = self._branch_points(value.id)
        nodes = list({node.id: node for node in (*path, *points)}.values())
        shown = self._summarised(value.id, nodes, progress)
        listed = [line for line in dict.fromkeys(_brief(node) for node in shown) if line]
        prompt = tree_prompt(description=value.description, summaries=listed, branches=branches)
        made = self._ask(prompt, listed[0] if listed else value.title, value.id)
        self.executor.perform(
            self.actor,
            SummariseTree(
                tree=value.id,
                summary=made.text,
                calls=made.calls,
                manifest=_account("tree", prompt, shown),
            ),
        )
        return made.text

    def _summarised(self, tree: str, nodes: Sequence[Node], progress: Progress) -> list[Node]:
        """The nodes with their summaries; those that are missing are made and kept.

        Once no model answers, the rest is made do with its first sentences, which are not kept: asking
        for each of them would take long, and a model that comes back makes better ones.
        """
        with self.executor.store.read() as session:
            has_model = bool(summary_models(load_settings(session), registry_of(self.executor)))
        found: list[Node] = []
        unheard = False
        for number, node in enumerate(nodes):
            progress(number, len(nodes) + 1)
            if node.summary is None and not unheard and not self.is_stopped():
                made = self.node(tree, node.id)
                unheard = has_model and is_extract(made)
                found.append(replace(node, summary=made or None))
            else:
                found.append(node)
        return found

    def _path(self, tree: str) -> list[Node]:
        head: Path = self._read.path(tree, head=_PATH_HEAD)
        tail: Path = self._read.path(tree, tail=_PATH_TAIL)
        found = {node.id: node for node in (*head.nodes, *tail.nodes)}
        return list(found.values())

    def _branch_points(self, tree: str) -> tuple[int, list[Node]]:
        """How many there are, and the latest of them."""
        nodes = schema.nodes
        with self.executor.store.read() as session:
            key = find_tree(session, tree)
            positions = session.execute(
                select(nodes.c.parent)
                .where(
                    nodes.c.tree == key,
                    nodes.c.edge_type == EDGE_TYPES.index(EdgeType.CONTINUATION),
                    nodes.c.parent.is_not(None),
                    nodes.c.pruned.is_(None),
                    nodes.c.hidden.is_(None),
                )
                .group_by(nodes.c.parent)
                .having(func.count(nodes.c.position.distinct()) > 1)
                .order_by(nodes.c.parent)
            ).scalars()
            found = positions.all()
            latest = node_rows(session, key, found[-_BRANCH_POINTS:])
        return len(found), [self._read.node(tree, row.ulid) for row in latest.values()]

    def document(self, document: str, *, anew: bool = False) -> str:
        value = self._read.document(document)
        if value.summary is not None and not anew:
            return value.summary
        if not value.content.strip():
            return ""
        # Calls are kept with a tree, and a document belongs to none.
        summary = self._ask(document_prompt(value.content), value.content, None).text
        self.executor.perform(self.actor, SummariseDocument(document=value.id, summary=summary))
        return summary

    def _ask(self, prompt: str, text: str, tree: str | None) -> SummaryResult:
        with self.executor.store.read() as session:
            key = 0 if tree is None else find_tree(session, tree)
        return request_summary(
            self.executor,
            prompt,
            text,
            tree=key,
            agent=self.actor.agent,
            unattended=self.unattended,
            last_try=self.last_try,
        )


def _said(node: Node) -> str:
    """A node as it stands in another's prompt: its summary, else its words."""
    return (node.summary or plain_text(node.content)[:_SLOT]).removeprefix(EXTRACT)


def _brief(node: Node) -> str:
    summary = node.summary or extract(plain_text(node.content))
    return summary.removeprefix(EXTRACT)


def _account(of: str, prompt: str, shown: Sequence[Node]) -> bytes:
    """What a summary's model was shown, as every call keeps it."""
    nodes = {node.id: DEFAULT.of_text(_said(node)) for node in shown}
    reason = "shown for a summary"
    run = Run(
        kind=EntryKind.NODE,
        outcome=Outcome.KEPT,
        reason=reason,
        ids=tuple(nodes),
        sizes=tuple(nodes.values()),
    )
    facts = Facts(
        budget=NO_LIMIT,
        settings={"summaryOf": of},
        hash=hashlib.sha256(prompt.encode()).hexdigest(),
    )
    return orjson.dumps(Manifest(facts, [run]).stored(), option=orjson.OPT_SORT_KEYS)


NODE = """\
Given this conversation context:
---
Tree: {title}
Previous: {previous}
---

Summarize the following message in ONE sentence (max 30 words).
Capture the key point, action, or decision. Be specific, not generic.

Message: {content}"""

TREE = """\
This is a branching conversation tree. The user describes it as:
"{description}"

Key node summaries from the main path:
{node_summaries}

Branch points explored: {branch_count}

Summarize this tree's purpose and main themes in 2 sentences."""

_DOCUMENT = """\
Summarize the following document in ONE sentence (max 30 words).
Capture the key point, action, or decision. Be specific, not generic.

Document: {content}"""

START = "(start)"
"""What stands before a root."""


def node_prompt(*, title: str, previous: Sequence[str], content: str) -> str:
    """`previous` is the parent's summary or words, after the grandparent's where that is due."""
    before = "\n".join(each for each in previous if each) or START
    return NODE.format(title=title, previous=before, content=content)


def tree_prompt(*, description: str, summaries: Sequence[str], branches: int) -> str:
    return TREE.format(
        description=description, node_summaries="\n".join(summaries) or START, branch_count=branches
    )


def document_prompt(content: str) -> str:
    return _DOCUMENT.format(content=content)


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
