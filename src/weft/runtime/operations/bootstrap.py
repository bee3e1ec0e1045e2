"""A grove's first row and its owner, made by whoever opens it first."""

from sqlalchemy import select, update

from weft.errors import StorageError
from weft.ids import new_ulid
from weft.provenance.fingerprints import agent_fingerprint, grove_fingerprint
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.rows import AGENT_TYPES, permission_bits
from weft.store.transaction import GROVE, Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import ALL_PERMISSIONS, AgentType

_OWNER = "human"


def owner_of(executor: Executor) -> int:
    """The key of the grove's owner; the grove is made if it is not there."""
    with executor.store.read() as session:
        table = schema.grove
        found = session.execute(select(table.c.owner, table.c.ulid, table.c.events)).one_or_none()
    if found is not None and found.owner is None and found.events:
        # Making another owner would write over what the chain of events says.
        raise StorageError("the grove's row names no owner", hint="the grove is damaged: restore a backup")
    if found is None or found.owner is None:
        return executor.store.write(lambda transaction: _found(executor, transaction))
    executor.store.blobs.grove = found.ulid
    return found.owner


def _found(executor: Executor, transaction: Transaction) -> int:
    """Make the grove's row and its owner, once, whoever comes first."""
    now = executor.clock()
    transaction.add_missing(
        schema.grove,
        ("key",),
        {
            "key": GROVE,
            "ulid": new_ulid(now, executor.entropy),
            "owner": None,
            "preferences": "{}",
            "created_at": now,
            "updated_at": now,
            "events": 0,
            "head": None,
        },
    )
    # Waits for whoever made the row, should that be somebody else at this moment.
    owner = transaction.grove_state().owner
    executor.store.blobs.grove = transaction.grove_state().ulid
    if owner is not None:
        return owner
    ulid = new_ulid(now, executor.entropy)
    owner = transaction.insert(
        schema.agents,
        {
            "ulid": ulid,
            "name": _OWNER,
            "type": AGENT_TYPES.index(AgentType.HUMAN),
            "model_ref": None,
            "configuration": "{}",
            "permissions": permission_bits(ALL_PERMISSIONS),
            "created_at": now,
            "archived_at": None,
        },
    )
    transaction.execute(update(schema.grove).values(owner=owner))
    transaction.grove_state().owner = owner
    scope = Scope(
        transaction,
        Actor(owner),
        MemberRole.OWNER,
        executor.clock,
        executor.entropy,
        executor.store.blobs,
        True,
    )
    scope.open_grove()
    founded = transaction.execute(select(schema.grove)).mappings().one()
    scope.add_fingerprint(
        grove_fingerprint(founded, ulid), agent_fingerprint(transaction.agent(owner)._asdict())
    )
    scope.record(None, "found", {"owner": ulid}, {})
    return owner
