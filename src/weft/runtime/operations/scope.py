"""The scope of an operation: one transaction, the acting agent, the time.

Operations reach the tables only through it: opening a tree or the grove checks the
acting user's role, and every change must be recorded as an event.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, NotFoundError, UnavailableError
from weft.ids import Clock, Entropy, new_ulid, normalise_reference
from weft.provenance.chain import event_hash
from weft.provenance.fingerprints import Fingerprint
from weft.runtime.operations.permissions import Actor, require_access, tree_for
from weft.store.blobs import BlobStore
from weft.store.leases import LeaseRow, check_fencing_token, lease_at, lease_taken
from weft.store.rows import AgentRow, NodeRow, TreeState
from weft.store.transaction import GROVE, GroveState, Transaction
from weft.store.tree_queries import find_node
from weft.tree.access import MemberRole
from weft.tree.event_kinds import EventKind
from weft.tree.json import JsonObject, JsonValue
from weft.tree.json_names import iso_moment

_TOLERANCE = 5 * 60 * 1_000_000
"""How far a clock may lag behind the last write, as after an adjustment."""


def next_moment(clock: Clock, last: int, *, accept_clock: bool) -> int:
    """Now, but later than the last write.

    If the clock lags a little, the next microsecond after the last write is used. A clock that
    went back further is refused: times are hashed, and a wrong one could not be corrected.
    """
    now = clock()
    if now > last:
        return now
    if now < last - _TOLERANCE and not accept_clock:
        raise UnavailableError(
            f"the clock says {iso_moment(now)}, but the last change here was written at {iso_moment(last)}",
            hint=Hint(HintKind.ACCEPT_CLOCK),
        )
    return now if now < last - _TOLERANCE else last + 1


@dataclass(slots=True)
class Scope:
    """One operation under way."""

    transaction: Transaction
    actor: Actor
    access: MemberRole
    """What the operation asks of the acting user."""
    clock: Clock
    entropy: Entropy
    blobs: BlobStore
    accept_clock: bool = False
    events: int = field(default=0, init=False)
    """How many events it has recorded."""
    _fingerprints: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue], init=False)
    _leased: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]], init=False)
    """Positions that it may extend by the lease it has shown."""
    _now: int | None = field(default=None, init=False)
    _stamp: str | None = field(default=None, init=False)

    @property
    def agent(self) -> AgentRow:
        return self.transaction.agent(self.actor.agent)

    def open_tree(self, reference: str, *, archived: bool = False) -> TreeState:
        """A tree to change, locked; archived ones only where the operation says so."""
        keys = self.transaction.cache.keys
        key = keys.get(reference)
        if key is None:
            key = tree_for(self.transaction, self.actor, reference, self.access)
        else:
            require_access(self.transaction, self.actor, self.access, key)
        state = self.transaction.tree_state(key)
        keys[state.ulid] = key
        if state.archived_at is not None and not archived:
            raise ConflictError("the tree is archived", hint=Hint(HintKind.UNARCHIVE))
        self._set_time(state.updated_at)
        return state

    def open_grove(self) -> GroveState:
        require_access(self.transaction, self.actor, self.access)
        state = self.transaction.grove_state()
        self._set_time(state.updated_at)
        return state

    def _set_time(self, last: int) -> None:
        self._now = next_moment(self.clock, last, accept_clock=self.accept_clock)
        self._stamp = None

    @property
    def now(self) -> int:
        if self._now is None:
            raise RuntimeError("open a tree or the grove before asking for the time")
        return self._now

    @property
    def stamp(self) -> str:
        """Now, as it is hashed."""
        if self._stamp is None:
            self._stamp = iso_moment(self.now)
        return self._stamp

    def new_ulid(self) -> str:
        return new_ulid(self.now, self.entropy)

    def node(self, tree: TreeState, reference: str) -> NodeRow:
        """The node a reference names."""
        known = self.transaction.known(tree.key).names
        name = reference if len(reference) == 26 else normalise_reference(reference)
        key = known.get(name)
        if key is None:
            return self.transaction.remember(find_node(self.transaction, tree.key, reference))
        row = self.transaction.node(tree.key, key)
        if row.hidden is not None:
            raise NotFoundError(f"node [{row.local_id}] was undone", hint="redo brings it back")
        return row

    def live_node(self, tree: TreeState, reference: str, verb: str) -> NodeRow:
        """The same, refused if it is pruned."""
        row = self.node(tree, reference)
        if row.pruned is not None:
            raise ConflictError(
                f"[{row.local_id}] is pruned: cannot {verb} it", hint=f"restore {row.local_id} first"
            )
        return row

    def add_fingerprint(self, *fingerprints: Fingerprint) -> None:
        """Add fingerprints of values that no hash covers to the next event."""
        self._fingerprints.update(fingerprints)

    def record(self, tree: TreeState | None, kind: str, payload: JsonObject, inverse: JsonObject) -> None:
        """Append the operation's event to its chain, with the fingerprints added since the last one.

        Raises `ValueError` for a kind that `EventKind` does not have.
        """
        transaction, kind = self.transaction, EventKind(kind).value
        if self._fingerprints:
            payload, self._fingerprints = {**payload, "facts": self._fingerprints}, {}
        state = transaction.grove_state() if tree is None else tree
        agent = self.agent
        state.events += 1
        digest = event_hash(
            previous=state.head,
            tree=state.ulid,
            ordinal=state.events,
            kind=kind,
            agent_id=agent.ulid,
            created_at=self.stamp,
            payload=payload,
            inverse=inverse,
        )
        transaction.add_event(
            tree=GROVE if tree is None else tree.key,
            ordinal=state.events,
            kind=kind,
            agent=agent.key,
            payload=dump_json(payload),
            inverse=dump_json(inverse),
            created_at=self.now,
            previous=state.head,
            digest=digest,
        )
        self.events += 1
        state.head = digest
        state.updated_at = max(state.updated_at, self.now)
        state.changed = True

    def ulid_of(self, tree: TreeState, key: int | None) -> str | None:
        return None if key is None else self.transaction.node(tree.key, key).ulid

    def refuse_if_leased(self, tree: TreeState, position: int) -> None:
        """Refuse to write under a position that another run is extending, or to edit what is there."""
        if tree.leased_until is None or tree.leased_until <= self.now or (tree.key, position) in self._leased:
            return
        held = lease_at(self.transaction, tree.key, position, self.now)
        if held is not None and not self.is_own(held):
            raise lease_taken(self.transaction, held)

    def is_own(self, held: LeaseRow) -> bool:
        """Whether the run that holds it is the one that acts."""
        return held.run == self.actor.run

    def require_lease(self, tree: TreeState, position: int, run: str, token: int) -> None:
        """Refuse unless the run still holds the position by its token: now, in the transaction that writes."""
        check_fencing_token(self.transaction, tree.key, position, self.now, (run, token))
        self._leased.add((tree.key, position))


def digest_of(value: JsonValue) -> str:
    """A value that an event does not tell, but must know again."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def dump_json(value: Mapping[str, JsonValue] | Sequence[JsonValue]) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
