"""What an agent keeps in mind in a tree, read from the store and written to it."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

from sqlalchemy import select

from weft.context.agent_view.operational_memory import (
    Action,
    MemoryContents,
    Pin,
    PinnedDocument,
    PinnedNode,
    PinnedResult,
    StashedText,
)
from weft.errors import NotFoundError, PermissionDeniedError
from weft.provenance.fingerprints import SEAL, trace_seal
from weft.runtime.contexts.linked_documents import LinkedDocuments
from weft.runtime.contexts.loom_view import words_of
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.node_values import contents_of
from weft.runtime.operations.scope import dump_json
from weft.runtime.views.reader import Opened, Reader
from weft.store import schema
from weft.store.memory import (
    MemoryKind,
    MemoryRow,
    add_memory,
    forget_older,
    forget_results,
    latest_memory,
    live_memory,
    put_run,
)
from weft.store.rows import Flag, NodeRow
from weft.store.transaction import Transaction
from weft.tree.document import section_of, slug
from weft.tree.json import JsonValue
from weft.tree.json_names import from_microseconds

KEPT_ACTIONS = 1_000
"""Older actions are forgotten."""
_KEPT_RESULTS = 200
_LONGEST_RESULT = 100_000
"""Characters; longer results are not stored for another run."""
_SWEEP = 100
_SHOWN_ERROR = 500
_nodes = schema.nodes


@dataclass(frozen=True, slots=True)
class AgentMemory(Reader):
    """The acting agent's own memory. No other agent's can be read."""

    def memory(self, tree: str, *, turn: int, crossing: bool) -> MemoryContents:
        """All of it as a value, as a run sees it; documents are as they are now, if they may be read."""
        with self._tree(tree) as opened:
            session, place = opened.session, (opened.key, self.actor.agent)
            rows = live_memory(session, *place, [MemoryKind.PIN, MemoryKind.STASH, MemoryKind.RECALL])
            actions = latest_memory(session, *place, MemoryKind.ACTION, KEPT_ACTIONS)
            texts = _pinned_texts(opened, [_body(row) for row in rows if row.kind == MemoryKind.PIN])
        pins = [self._pin(tree, _body(row), texts, crossing=crossing) for row in _of(rows, MemoryKind.PIN)]
        stashes = [_stash(row) for row in _of(rows, MemoryKind.STASH)]
        known = {each.label for each in stashes}
        recalled = [
            (row.label or "", _number(_body(row), "turn") + 1) for row in _of(rows, MemoryKind.RECALL)
        ]
        memory = MemoryContents(
            pins=tuple(pin for pin in pins if pin is not None),
            stashes=tuple(stashes),
            recalled=tuple(each for each in recalled if each[0] in known),
            trace=tuple(action_of(row) for row in actions),
        )
        return memory.at_turn(turn)

    def thoughts(self, tree: str, limit: int) -> list[str]:
        """What was thought, oldest first."""
        with self._tree(tree) as opened:
            rows = latest_memory(opened.session, opened.key, self.actor.agent, MemoryKind.THOUGHT, limit)
            return [_text(_body(row), "text") for row in rows]

    def document_pin(self, tree: str, title: str, section: str | None) -> str | None:
        """The key of the pin on a document, also of one that is gone; by its title or id."""
        with self._tree(tree) as opened:
            rows = live_memory(opened.session, opened.key, self.actor.agent, [MemoryKind.PIN])
        wanted = title.casefold()
        slugs = {section or "", slug(section) if section else ""}
        for row in rows:
            body = _body(row)
            named = {_text(body, "title").casefold(), _text(body, "document").casefold()}
            if "document" in body and wanted in named and _text(body, "section") in slugs:
                return row.label
        return None

    def _pin(
        self, tree: str, body: Mapping[str, JsonValue], texts: Mapping[str, str], *, crossing: bool
    ) -> Pin | None:
        if "node" in body:
            name = _text(body, "node")
            return PinnedNode(node=name, text=texts.get(name))
        if "result" in body:
            return PinnedResult(
                number=_number(body, "result"), command=_text(body, "command"), text=_text(body, "text")
            )
        if "document" in body:
            return self._pinned_document(tree, body, crossing=crossing)
        return None

    def result(self, tree: str, number: int) -> PinnedResult | None:
        """The result that a handle of an earlier run names."""
        with self._tree(tree) as opened:
            place = opened.key, self.actor.agent
            rows = live_memory(opened.session, *place, [MemoryKind.RESULT, MemoryKind.PIN])
        bodies = [body for body in map(_body, rows) if _number(body, "result") == number]
        if not bodies:
            return None
        return PinnedResult(number=number, command=_text(bodies[0], "command"), text=_text(bodies[0], "text"))

    def _pinned_document(self, tree: str, body: Mapping[str, JsonValue], *, crossing: bool) -> PinnedDocument:
        title, section = _text(body, "title"), _text(body, "section") or None
        try:
            document, linked = LinkedDocuments(self.store, self.actor).document_here(
                tree, _text(body, "document")
            )
            text = body_text = document.content
            if section is not None:
                part = section_of(text, section)
                text = text[part.start : part.end]
                body_text = text.partition("\n")[2]
        except (NotFoundError, PermissionDeniedError):
            # Deleted, rewritten, or not to be read any more: the pin stays, and says what it was on.
            return PinnedDocument(title=title, section=section)
        shown = text if linked or crossing else ""
        return PinnedDocument(
            title=document.title, section=section, words=_count_words(body_text), text=shown
        )


class BegunRun(NamedTuple):
    """A run as the memory counts it."""

    number: int
    """One more than the last of the agent in the tree."""
    last: int
    """The highest handle in use: those of this run come after it."""


def begin_run(executor: Executor, place: tuple[int, int], run: str) -> BegunRun:
    """Count a run of (tree, agent), unless it is the last one that was counted. Bookkeeping: without an event."""

    def work(transaction: Transaction) -> BegunRun:
        tree, agent = place
        transaction.tree_state(tree)
        runs = live_memory(transaction, tree, agent, [MemoryKind.RUN])
        number, now = 1, executor.clock()
        if not runs:
            body = dump_json({"number": number})
            seal = partial(_sealed, transaction)
            add_memory(transaction, place, MemoryKind.RUN, body, now=now, label=run, seal=seal)
        else:
            number, before = _number(_body(runs[-1]), "number"), runs[-1].label or ""
            if before != run:
                number += 1
                body = dump_json({"number": number})
                put_run(
                    transaction,
                    _sealed(transaction, runs[-1]._replace(label=run, body=body, created_at=now)),
                )
                forget_results(transaction, tree, agent, but=before)
        handled = live_memory(transaction, tree, agent, [MemoryKind.PIN, MemoryKind.RESULT])
        return BegunRun(number, max((_number(_body(row), "result") for row in handled), default=0))

    return executor.store.write(work)


class CommandResult(NamedTuple):
    """The result of a command, stored until the next run is over."""

    run: str
    number: int
    command: str
    text: str

    @property
    def body(self) -> str:
        return dump_json({"result": self.number, "command": self.command, "text": self.text})


def note_actions(
    executor: Executor, place: tuple[int, int], actions: Sequence[Action], result: CommandResult | None = None
) -> None:
    """Add to the trace, and to the results that have a handle.

    Bookkeeping, and no operation of anybody's: without an event.
    """

    def work(transaction: Transaction) -> None:
        tree, agent = place
        transaction.tree_state(tree)
        seal = partial(_sealed, transaction)
        for action in actions:
            body = dump_json(_acted(action))
            row = add_memory(transaction, place, MemoryKind.ACTION, body, now=executor.clock(), seal=seal)
            if row.ordinal % _SWEEP == 0:
                forget_older(transaction, tree, agent, MemoryKind.ACTION, KEPT_ACTIONS)
                forget_older(transaction, tree, agent, MemoryKind.RESULT, _KEPT_RESULTS)
        if result is not None and len(result.text) <= _LONGEST_RESULT:
            now = executor.clock()
            add_memory(
                transaction, place, MemoryKind.RESULT, result.body, now=now, label=result.run, seal=seal
            )

    with contextlib.suppress(NotFoundError):
        # The tree was destroyed meanwhile: there is nothing to write to.
        executor.store.write(work)


def _sealed(transaction: Transaction, row: MemoryRow) -> MemoryRow:
    """The row with the hash that verify compares it with."""
    tree, agent = transaction.tree_state(row.tree).ulid, transaction.agent(row.agent).ulid
    body = {**_body(row), SEAL: trace_seal(row._asdict(), tree, agent)}
    return row._replace(body=dump_json(body))


def _acted(action: Action) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {"verb": action.verb, "noun": action.noun}
    fields |= {
        name: value
        for name, value in (
            ("target", action.target),
            ("detail", action.detail),
            ("error", action.error[:_SHOWN_ERROR]),
        )
        if value
    }
    return fields


def action_of(row: MemoryRow) -> Action:
    body = _body(row)
    return Action(
        verb=_text(body, "verb"),
        target=_text(body, "target"),
        noun=_text(body, "noun"),
        detail=_text(body, "detail"),
        error=_text(body, "error"),
        at=from_microseconds(row.created_at),
    )


def _stash(row: MemoryRow) -> StashedText:
    body = _body(row)
    return StashedText(label=row.label or "", text=_text(body, "text"), source=_text(body, "source"))


def _count_words(text: str) -> int:
    """Marks of headings and lists are no words."""
    return sum(any(map(str.isalnum, each)) for each in text.split())


def _pinned_texts(opened: Opened, pins: Sequence[Mapping[str, JsonValue]]) -> dict[str, str]:
    """By local id, of the nodes that are neither excluded nor pruned nor undone."""
    names = [_text(body, "node") for body in pins if "node" in body]
    if not names:
        return {}
    records = opened.session.execute(
        select(_nodes).where(
            _nodes.c.tree == opened.key, _nodes.c.local_id.in_(names), _nodes.c.hidden.is_(None)
        )
    )
    rows = [
        row for row in map(NodeRow._make, records) if row.pruned is None and not row.flags & Flag.EXCLUDED
    ]
    contents = contents_of(opened.session, opened.key, rows)
    return {row.local_id: words_of(contents[row.key][0]) for row in rows}


def _of(rows: Sequence[MemoryRow], kind: MemoryKind) -> list[MemoryRow]:
    return [row for row in rows if row.kind == kind]


def _body(row: MemoryRow) -> Mapping[str, JsonValue]:
    """What a row holds; of an imported one that cannot be read, nothing."""
    try:
        body = json.loads(row.body)
    except ValueError:
        return {}
    return cast("Mapping[str, JsonValue]", body) if isinstance(body, dict) else {}


def _text(body: Mapping[str, JsonValue], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _number(body: Mapping[str, JsonValue], name: str) -> int:
    value = body.get(name)
    return value if isinstance(value, int) else 0
