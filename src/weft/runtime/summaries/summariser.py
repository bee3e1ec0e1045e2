"""Summaries of nodes, trees and documents: what each is made from, and where it is saved."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import orjson
from sqlalchemy import func, select, update

from weft.context.manifest import Facts, Manifest
from weft.context.manifest_entries import EntryKind, Outcome, Run
from weft.context.tokens import DEFAULT, NO_LIMIT
from weft.errors import WeftError
from weft.provenance.fingerprints import summary_fingerprint
from weft.runtime.contexts.model_agents import registry_of
from weft.runtime.generation.start_call import EndedCall, save_ended_call
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import load_settings
from weft.runtime.summaries.jobs import is_enabled
from weft.runtime.summaries.summary_models import SummaryResult, request_summary, summary_models
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_document, find_tree
from weft.store.rows import EDGE_TYPES
from weft.store.tree_queries import node_rows
from weft.tree.content import check_text, plain_text
from weft.tree.edge import EdgeType
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Node
from weft.tree.progress import Progress, silent
from weft.tree.snippet import EXTRACT, extract, is_extract

T = TypeVar("T")

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

DOCUMENT = """\
Summarize the following document in ONE sentence (max 30 words).
Capture the key point, action, or decision. Be specific, not generic.

Document: {content}"""

START = "(start)"
"""What comes before a root."""
_LIMIT = 2_000
"""Characters of a summary that is saved."""
_SHORT = 50
"""Tokens below which a node says too little without its grandparent."""
_PATH_HEAD, _PATH_TAIL = 10, 30
"""How many nodes of a long path a tree's summary is made from, at its beginning and at its end."""
_BRANCH_POINTS = 20
_SLOT = 4_000
"""Characters of a node in the prompt of another."""


@dataclass(frozen=True, slots=True)
class Summariser:
    """Makes and stores summaries, as one actor."""

    executor: Executor
    actor: Actor
    unattended: bool = False
    last_try: bool = True
    is_stopped: Callable[[], bool] = lambda: False
    """Whether the process is about to end: no new summary is begun."""

    @property
    def _read(self) -> Reader:
        return Reader(self.executor.store, self.actor)

    def node(self, tree: str, node: str, *, refresh: bool = False) -> str:
        """The summary of a node; made and stored if there is none. An excluded node is sent: it was named."""
        value = self._read.node(tree, node)
        if value.summary is not None and not refresh:
            return value.summary
        text = plain_text(value.content)
        if not text.strip():
            return ""
        near = self._read.path(tree, node, tail=3).nodes[:-1]
        before = [each for each in (near if DEFAULT.of_text(text) < _SHORT else near[-1:]) if _is_sent(each)]
        previous = "\n".join(filter(None, map(_in_prompt, before))) or START
        prompt = NODE.format(title=self._read.tree(tree).title, previous=previous, content=text)
        made = self._request(prompt, text, tree)
        self.executor.perform(
            self.actor,
            SaveSummary(
                tree=value.tree_id,
                node=value.id,
                summary=made.text,
                calls=made.calls,
                manifest=_manifest("node", prompt, [*before, value]),
            ),
        )
        return made.text

    def nodes(self, tree: str, nodes: Sequence[Node], progress: Progress = silent) -> list[Node]:
        """The nodes with their summaries; missing ones are made and stored, but excluded nodes are not sent.

        Once no model answers, the others stay without: requesting each would take long, and a model
        that is back makes better ones than their first sentences.
        """
        with self.executor.store.read() as session:
            has_model = bool(summary_models(load_settings(session), registry_of(self.executor)))
        summarised: list[Node] = []
        is_silent = False
        for number, node in enumerate(nodes):
            progress(number, len(nodes) + 1)
            summary = node.summary
            if summary is None and not is_silent and not self.is_stopped() and _is_sent(node):
                summary = self.node(tree, node.id) or None
                is_silent = has_model and summary is not None and is_extract(summary)
            summarised.append(replace(node, summary=summary))
        return summarised

    def tree(self, tree: str, *, refresh: bool = False, progress: Progress = silent) -> str:
        """The summary of a tree: from the summaries along the path and at branch points."""
        value = self._read.tree(tree)
        if value.summary is not None and not refresh:
            return value.summary
        path = self._path(value.id)
        branches, points = self._branch_points(value.id)
        nodes = {node.id: node for node in (*path, *points) if _is_sent(node)}
        shown = self.nodes(value.id, list(nodes.values()), progress)
        listed = [line for line in dict.fromkeys(_brief(node) for node in shown) if line]
        prompt = TREE.format(
            description=value.description,
            node_summaries="\n".join(listed) or START,
            branch_count=branches,
        )
        made = self._request(prompt, listed[0] if listed else value.title, value.id)
        self.executor.perform(
            self.actor,
            SaveSummary(
                tree=value.id,
                summary=made.text,
                calls=made.calls,
                manifest=_manifest("tree", prompt, shown),
            ),
        )
        return made.text

    def _path(self, tree: str) -> list[Node]:
        head, tail = self._read.path(tree, head=_PATH_HEAD), self._read.path(tree, tail=_PATH_TAIL)
        return list({node.id: node for node in (*head.nodes, *tail.nodes)}.values())

    def _branch_points(self, tree: str) -> tuple[int, list[Node]]:
        """How many there are, and the latest of them."""
        nodes = schema.nodes
        with self.executor.store.read() as session:
            key = find_tree(session, tree)
            parents = session.execute(
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
            points = parents.all()
            latest = node_rows(session, key, points[-_BRANCH_POINTS:])
        return len(points), [self._read.node(tree, row.ulid) for row in latest.values()]

    def document(self, document: str, *, refresh: bool = False) -> str:
        value = self._read.document(document)
        if value.summary is not None and not refresh:
            return value.summary
        if not value.content.strip():
            return ""
        # Calls are stored with a tree, and a document belongs to none.
        summary = self._request(DOCUMENT.format(content=value.content), value.content, None).text
        self.executor.perform(
            self.actor, SaveSummary(document=value.id, revision=value.revision, summary=summary)
        )
        return summary

    def _request(self, prompt: str, text: str, tree: str | None) -> SummaryResult:
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


def on_demand(executor: Executor, make: Callable[[Summariser], T]) -> T | None:
    """What a command needs, made as in the background, for the grove's owner: readers may not write.

    None where summaries are off, or it fails: then the first sentence is shown.
    """
    if not is_enabled(executor.store):
        return None
    with executor.store.read() as session:
        owner = session.execute(select(schema.grove.c.owner)).scalar_one()
    try:
        return make(Summariser(executor, Actor(owner), unattended=True))
    except WeftError:
        return None


def _is_sent(node: Node) -> bool:
    """False for a node that is excluded or pruned: no summariser sees it unless it is named."""
    return not (node.metadata.excluded or node.metadata.pruned)


def _in_prompt(node: Node) -> str:
    """A node in the prompt of another: its summary, else its text."""
    return (node.summary or plain_text(node.content)[:_SLOT]).removeprefix(EXTRACT)


def _brief(node: Node) -> str:
    summary = node.summary or extract(plain_text(node.content))
    return summary.removeprefix(EXTRACT)


def _manifest(of: str, prompt: str, shown: Sequence[Node]) -> bytes:
    """What a summary's model was shown, stored with every call."""
    nodes = {node.id: DEFAULT.of_text(_in_prompt(node)) for node in shown}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveSummary(Editing):
    """Store the summary of a document, of a tree, or of a node of a tree. Hashes stay; undo skips it."""

    verb: ClassVar[str] = "summarise"
    summary: str
    document: str | None = None
    revision: int = 0
    """Of the document, that the summary is made from."""
    tree: str = ""
    node: str | None = None
    calls: Sequence[EndedCall] = ()
    """The model calls that were made for it: each leaves its evidence."""
    manifest: bytes = b"{}"
    """What the models were shown."""

    def apply(self, scope: Scope) -> None:
        transaction = scope.transaction
        summary = check_text(self.summary, what="summary", limit=_LIMIT)
        if self.document is not None:
            scope.open_grove()
            tree, table = None, schema.documents
            here = [table.c.key == find_document(transaction, self.document)]
            ulid = transaction.execute(select(table.c.ulid).where(*here)).scalar_one()
            payload: JsonObject = {"document": ulid, "revision": self.revision}
        else:
            tree = scope.open_tree(self.tree, archived=True)
            row = transaction.node(tree.key, tree.root) if self.node is None else scope.node(tree, self.node)
            if self.node is None:
                table, ulid, payload = schema.trees, tree.ulid, {"tree": tree.ulid}
                here = [table.c.key == tree.key]
            else:
                table, ulid, payload = schema.texts, row.ulid, {"node": row.ulid}
                here = [table.c.tree == tree.key, table.c.node == row.key]
            agent = transaction.agent(scope.actor.agent).ulid
            calls: list[JsonValue] = [
                save_ended_call(scope, tree, row, agent, call, manifest=self.manifest) for call in self.calls
            ]
            payload |= {"attempts": calls} if calls else {}
        transaction.execute(update(table).where(*here).values(summary=summary))
        scope.add_fingerprint(summary_fingerprint(ulid, summary))
        scope.record(tree, self.verb, payload, {})
