"""What an agent keeps in mind in a tree: pins, stashes, what it recalls and thinks. Events hold no words of it."""

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from weft.provenance.fingerprints import memory_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope, dump_json
from weft.store.memory import MemoryKind, MemoryRow, add_memory, live_memory, mark_memory
from weft.store.rows import TreeState
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import check_text
from weft.tree.json import JsonObject

_MOST = 1_000
"""Pins, and stashes, of one agent in one tree."""
_LABEL_LIMIT = 200


class _Remembering(Editing, permission=Permission.LOOM_AWARE, access=MemberRole.READER):
    """One's own memory: who may look may keep in mind what it saw."""


_STASH = Hint(HintKind.COMMAND, line='stash "label" "text"', use="")


def check_label(label: str) -> str:
    cleaned = check_text(label, what="label", limit=_LABEL_LIMIT).strip()
    if not cleaned:
        raise InvalidInputError("a stash needs a label", hint=_STASH)
    return cleaned


class KeepPin(_Remembering, verb="pin"):
    """Keep something in the memory block even if its source is pruned. A second pin updates it."""

    tree: str
    label: str
    """What is pinned: `node:a7x2`, `doc:ULID§motivation`, `result:3`."""
    body: JsonObject

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        before = _one(scope, tree, MemoryKind.PIN, self.label)
        if before is not None:
            if before.body == dump_json(self.body):
                return
            mark(scope, before, scope.now)
        else:
            _require_room(scope, tree, MemoryKind.PIN, "pins", "pin:…")
        ordinal = _add(scope, tree, MemoryKind.PIN, self.label, self.body)
        scope.record(
            tree,
            self.verb,
            {"memory": ordinal},
            {"remove": ordinal, "restore": None if before is None else before.ordinal},
        )


class Unpin(_Remembering, verb="unpin"):
    """Let a pin go."""

    tree: str
    label: str
    shown: str
    """What to call it where it is not pinned."""

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        row = _one(scope, tree, MemoryKind.PIN, self.label)
        if row is None:
            raise NotFoundError(
                f"{self.shown} is not pinned",
                hint=Hint(HintKind.COMMAND, line="memory", use=" shows your pins"),
            )
        _let_go(scope, tree, self.verb, row)


class KeepStash(_Remembering, verb="stash"):
    """Keep a text for later, out of the context. A label names one stash."""

    tree: str
    label: str
    text: str
    source: str = ""
    """`content-of:a7x2`, `summary-of:r001-a7x2`; empty for a text of the agent's own."""

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        label, text = check_label(self.label), check_text(self.text)
        if not text.strip():
            raise InvalidInputError("the text to stash is empty", hint=_STASH)
        if _one(scope, tree, MemoryKind.STASH, label) is not None:
            # Another text under the same label would lose the first.
            raise ConflictError(
                f'there is a stash "{label}" already',
                hint=Hint(HintKind.COMMAND, line=f'drop stash:"{label}"', use=" first"),
            )
        _require_room(scope, tree, MemoryKind.STASH, "stashes", 'stash:"…"')
        ordinal = _add(scope, tree, MemoryKind.STASH, label, {"text": text, "source": self.source})
        scope.record(tree, self.verb, {"memory": ordinal}, {"remove": ordinal, "restore": None})


class DropStash(_Remembering, verb="unstash"):
    """Let a stash go."""

    tree: str
    label: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        _let_go(scope, tree, self.verb, _stash(scope, tree, self.label))


class RecallStash(_Remembering, verb="recall"):
    """Bring a stash into the memory block, for the rest of a run and the next one. No step that undo knows."""

    tree: str
    label: str
    turn: int
    """The number of the run."""

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        stash = _stash(scope, tree, self.label)
        for before in live_memory(
            scope.transaction, tree.key, scope.actor.agent, [MemoryKind.RECALL], stash.label
        ):
            mark(scope, before, scope.now)
        ordinal = _add(scope, tree, MemoryKind.RECALL, stash.label, {"turn": self.turn})
        scope.record(tree, self.verb, {"memory": ordinal}, {})


class KeepThought(_Remembering, verb="think"):
    """Keep a private thought. No step that undo knows."""

    tree: str
    text: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        ordinal = _add(scope, tree, MemoryKind.THOUGHT, None, {"text": check_text(self.text)})
        scope.record(tree, self.verb, {"memory": ordinal}, {})


def _add(scope: Scope, tree: TreeState, kind: MemoryKind, label: str | None, body: JsonObject) -> int:
    place = tree.key, scope.actor.agent
    row = add_memory(scope.transaction, place, kind, dump_json(body), now=scope.now, label=label)
    scope.add_fingerprint(memory_fingerprint(row._asdict(), scope.agent.ulid))
    return row.ordinal


def mark(scope: Scope, row: MemoryRow, removed: int | None) -> None:
    """Remove a row from the acting agent's memory, or restore it."""
    mark_memory(scope.transaction, row, removed)
    scope.add_fingerprint(memory_fingerprint(row._replace(removed=removed)._asdict(), scope.agent.ulid))


def _one(scope: Scope, tree: TreeState, kind: MemoryKind, label: str) -> MemoryRow | None:
    rows = live_memory(scope.transaction, tree.key, scope.actor.agent, [kind], label)
    return rows[-1] if rows else None


def _stash(scope: Scope, tree: TreeState, label: str) -> MemoryRow:
    row = _one(scope, tree, MemoryKind.STASH, check_label(label))
    if row is None:
        known = live_memory(scope.transaction, tree.key, scope.actor.agent, [MemoryKind.STASH])
        names = ", ".join(f'"{each.label}"' for each in known[:20])
        raise NotFoundError(
            f'stash "{label.strip()[:_LABEL_LIMIT]}" does not exist',
            hint=f"there are {names}" if names else "nothing is stashed",
        )
    return row


def _let_go(scope: Scope, tree: TreeState, verb: str, row: MemoryRow) -> None:
    mark(scope, row, scope.now)
    scope.record(tree, verb, {"memory": row.ordinal}, {"remove": None, "restore": row.ordinal})


def _require_room(scope: Scope, tree: TreeState, kind: MemoryKind, what: str, pattern: str) -> None:
    if len(live_memory(scope.transaction, tree.key, scope.actor.agent, [kind])) >= _MOST:
        hint = Hint(HintKind.COMMAND, line=f"drop {pattern}", use=" lets one go")
        raise LimitExceededError(f"max {what} in one tree is {_MOST:,}", hint=hint)
