"""Targets of an import: a dry run, which checks only, and the grove."""

import orjson
from sqlalchemy import Table, and_, delete, func, or_, select, update

from weft.errors import ConflictError, InvalidInputError
from weft.provenance.fingerprints import (
    DOCUMENT,
    INSTALLATION,
    PROJECT,
    Fingerprint,
    RevisedKind,
    agent_fingerprint,
    link_fingerprint,
    record_fingerprint,
    summary_fingerprint,
    tag_fingerprint,
)
from weft.runtime.operations.due_summaries import queue_imported
from weft.runtime.operations.permissions import require_access
from weft.runtime.operations.references import TargetAddress
from weft.runtime.operations.scope import Scope
from weft.runtime.transfer.checked_fields import Row
from weft.store import schema
from weft.store.blobs import BlobStore, IncomingBlob
from weft.store.schema.records import PLACE
from weft.store.transaction import GROVE, Transaction
from weft.store.tree_statements import count_live
from weft.tree.access import MemberRole
from weft.tree.json import JsonObject, JsonValue

_BATCH = 1_000
_MOST_SUMMARIES = 1_000
"""Nodes of one import that are summarised in the background; the others when they are needed."""
_COUNT_LIVE = count_live()


class DryRun:
    """Writes nothing: checks a file before anything is locked."""

    def __init__(self, blobs: BlobStore) -> None:
        self.notes: list[str] = []
        self._blobs = blobs
        self._keys = 0

    def _next(self, row: Row) -> int:
        del row
        self._keys += 1
        return self._keys

    agent = document = tree = _next

    def project(self, row: Row) -> tuple[int, bool]:
        return self._next(row), True

    def adopt(self, row: Row, owner: str) -> bool:
        del row, owner
        return True

    def end_tree(self, tree: int, root_ulid: str, moved: dict[int, int]) -> None: ...
    def add(self, table: Table, row: Row) -> None: ...
    def add_event(self, row: Row) -> None: ...
    def blob(self, ref: str) -> IncomingBlob | None:
        del ref

    def has_blob(self, ref: str) -> bool:
        return ref in self._blobs

    def node(self, tree: int, ulid: str) -> int | None:
        del tree, ulid
        return 1

    def link(self, row: Row, ends: tuple[TargetAddress, TargetAddress]) -> None: ...
    def tag(self, row: Row) -> None: ...
    def record(self, row: Row) -> None: ...


class GroveTarget:
    """The grove, within one transaction."""

    def __init__(self, scope: Scope) -> None:
        self.notes: list[str] = []
        self._scope = scope
        self._transaction: Transaction = scope.transaction
        self._unflushed = 0
        self._adopting: str | None = None
        self._keeps_tag_numbers: bool | None = None
        self._fingerprints = 0
        self._agents: dict[int, str] = {}
        self._documents: dict[int, str] = {}
        self._projects: dict[int, str] = {}
        """ULIDs by key, of what was imported."""
        self._replacements: dict[int, tuple[str, str]] = {}
        """Projects of this grove that replace the file's, by key: the ids of both."""
        self._existing_records = 0
        self._queued = 0
        self._installation: dict[str, str | None] = {}
        """Fingerprints of users, tokens, roles and vaults in an adopted chain: their rows are not in the file."""
        self._moved: dict[int, int] = {}
        """Trees that belong to another project than their chain says: the project's key, by the tree's."""

    def adopt(self, row: Row, owner: str) -> bool:
        """Take the identity and the chain of the file's grove, if this one is empty."""
        transaction = self._transaction
        require_access(transaction, self._scope.actor, MemberRole.OWNER)
        if not is_pristine(transaction):
            self.notes.append("this grove has a history of its own: the file's trees and documents join it")
            return False
        # A number is never given twice, even when the event with the highest one is deleted.
        number = transaction.last_event_number() if transaction.dialect.counts_events else None
        transaction.flush()
        transaction.execute(delete(schema.events).where(schema.events.c.tree == GROVE))
        transaction.execute(update(schema.grove).values(**row))
        transaction.forget()
        transaction.cache.event_number = number
        self._scope.blobs.take_name(row["ulid"])
        self._adopting = owner
        # The imported chain is what this operation records.
        self._scope.events += 1
        return True

    def agent(self, row: Row) -> int:
        agents, transaction = schema.agents, self._transaction
        if row["ulid"] == self._adopting:
            key = transaction.grove_state().owner
            transaction.execute(update(agents).where(agents.c.key == key).values(**row))
            transaction.cache.agents.clear()
            return int(key or 0)
        known = transaction.execute(agents.select().where(agents.c.ulid == row["ulid"])).one_or_none()
        if known is None:
            same = select(agents.c.key).where(agents.c.name == row["name"]).limit(1)
            if transaction.execute(same).first() is not None:
                self.notes.append(
                    f"the file's agent {row['name']!r} is not the one that you have under that name: "
                    f"it was added as {row['ulid']}"
                )
            key = transaction.insert(agents, row)
            self._add_fingerprint(agent_fingerprint(row))
            self._agents[key] = row["ulid"]
            return key
        self._agents[known.key] = known.ulid
        if known.type != row["type"]:
            raise ConflictError(f"agent {row['ulid']} is a person in one place and a model in the other")
        return known.key

    def project(self, row: Row) -> tuple[int, bool]:
        """The project's key, and whether it is new here."""
        projects, transaction = schema.projects, self._transaction
        columns = select(projects.c.key, projects.c.ulid, projects.c.name)
        known = transaction.execute(columns.where(projects.c.ulid == row["ulid"])).one_or_none()
        if known is not None:
            return known.key, False
        if row["hidden"] is None:
            same = columns.where(
                func.lower(projects.c.name) == row["name"].lower(), projects.c.hidden.is_(None)
            )
            known = transaction.execute(same).first()
        if known is not None:
            self.notes.append(f"project {known.name!r} is there already: the file's trees were added to it")
            self._replacements[known.key] = row["ulid"], known.ulid
            return known.key, False
        key = transaction.insert(projects, row)
        self._projects[key] = row["ulid"]
        self._add_fingerprint(PROJECT.fingerprint(row))
        return key, True

    def document(self, row: Row) -> int:
        documents = schema.documents
        self._refuse_known(schema.documents, row["ulid"], "document")
        if row["archived_at"] is None:
            same = select(documents.c.ulid).where(
                func.lower(documents.c.title) == row["title"].lower(), documents.c.archived_at.is_(None)
            )
            if self._transaction.execute(same).first() is not None:
                raise ConflictError(
                    f"there is another document called {row['title']!r} here",
                    hint="rename or archive one of the two; nothing was imported",
                )
        key = self._transaction.insert(documents, row)
        self._documents[key] = row["ulid"]
        self._add_fingerprint(DOCUMENT.fingerprint(row))
        if row["summary"] is not None:
            self._add_fingerprint(summary_fingerprint(row["ulid"], row["summary"]))
        self._record({"document": row["ulid"]}, {"archiveDocument": row["ulid"]})
        return key

    def tree(self, row: Row) -> int:
        self._refuse_known(schema.trees, row["ulid"], "tree")
        key = self._transaction.insert(schema.trees, row)
        if row["project"] in self._replacements:
            self._moved[key] = row["project"]
        payload: dict[str, JsonValue] = {"tree": row["ulid"]}
        if row["hidden"] is not None:
            # Its planting was undone in a chain that is not imported.
            payload["hidden"] = row["hidden"]
        self._record(payload, {"archive": row["ulid"]})
        return key

    def _refuse_known(self, table: Table, ulid: str, what: str) -> None:
        if self._transaction.execute(select(table.c.key).where(table.c.ulid == ulid)).first() is not None:
            raise ConflictError(
                f"{what} {ulid} is in this grove already",
                hint=f"nothing was imported; delete the {what} here first, or import into another grove",
            )

    def _record(self, payload: JsonObject, inverse: JsonObject) -> None:
        if self._adopting is None:
            self._scope.record(None, "import", payload, inverse)
            self._fingerprints = 0

    def _add_fingerprint(self, fact: Fingerprint) -> None:
        """Fingerprint what no hash covers: where a file joins another grove, its own chain is not imported."""
        if self._adopting is None:
            self._scope.add_fingerprint(fact)
            self._fingerprints += 1
            if self._fingerprints >= _BATCH:
                self.finish()

    def finish(self) -> None:
        """Record the fingerprints noted since the last event, and what an adopted grove left behind."""
        if self._fingerprints:
            self._record({}, {})
        left = [Fingerprint(name, None) for name, digest in self._installation.items() if digest is not None]
        if left:
            self._scope.open_grove()
            self._scope.add_fingerprint(*left)
            self._scope.record(None, "import", {}, {})

    def end_tree(self, tree: int, root_ulid: str, moved: dict[int, int]) -> None:
        transaction, nodes, trees = self._transaction, schema.nodes, schema.trees
        transaction.flush_rows()
        for key, near in moved.items():
            here = (nodes.c.tree == tree, nodes.c.key == key)
            transaction.execute(update(nodes).where(*here).values(near_attachments=near))
        live = transaction.execute(_COUNT_LIVE, {"in_tree": tree}).one()
        counters = {"nodes": live.nodes, "branches": live.branches, "depth": live.depth}
        transaction.execute(update(trees).where(trees.c.key == tree).values(root_ulid=root_ulid, **counters))
        most = _MOST_SUMMARIES - self._queued
        self._queued += queue_imported(transaction, tree, now=self._scope.clock(), limit=most)
        if tree in self._moved:
            self.finish()
            theirs, ours = self._replacements[self._moved[tree]]
            self._scope.record(transaction.tree_state(tree), "assign", {"project": ours}, {"project": theirs})

    def add(self, table: Table, row: Row) -> None:
        self._transaction.add(table, row)
        if table is schema.revisions:
            self._add_revision_fingerprint(DOCUMENT, self._documents, row)
        elif table is schema.project_revisions:
            self._add_revision_fingerprint(PROJECT, self._projects, row)
        self._unflushed += 1
        if self._unflushed >= _BATCH:
            self._transaction.flush_rows()
            self._unflushed = 0

    def _add_revision_fingerprint(self, kind: RevisedKind, names: dict[int, str], row: Row) -> None:
        if self._adopting is None:
            author = self._agents[row["author"]]
            self._add_fingerprint(kind.revision_fingerprint(names[row[kind.name]], row, author))

    def add_event(self, row: Row) -> None:
        """Numbered at import: for subscribers it happens now."""
        if row["tree"] == GROVE:
            facts = orjson.loads(row["payload"]).get("facts", {})
            own = {name: digest for name, digest in facts.items() if name.partition(":")[0] in INSTALLATION}
            self._installation.update(own)
        if self._transaction.dialect.counts_events:
            row = {**row, "number": self._transaction.next_event_number(), "transaction": 0}
        self.add(schema.events, row)

    def blob(self, ref: str) -> IncomingBlob | None:
        """Where the bytes are written; None if the grove has them."""
        return self._scope.blobs.receive(ref)

    def has_blob(self, ref: str) -> bool:
        return ref in self._scope.blobs

    def node(self, tree: int, ulid: str) -> int | None:
        nodes = schema.nodes
        statement = select(nodes.c.key).where(nodes.c.tree == tree, nodes.c.ulid == ulid)
        return self._transaction.execute(statement).scalar_one_or_none()

    def link(self, row: Row, ends: tuple[TargetAddress, TargetAddress]) -> None:
        self._refuse_known(schema.links, row["ulid"], "link")
        a, b = sorted(ends)
        names = ("a_tree", "a_kind", "a_key", "b_tree", "b_kind", "b_key")
        places = dict(zip(names, (*a, *b), strict=True))
        where = [schema.links.c[name] == value for name, value in places.items()]
        live = schema.links.c.removed.is_(None)
        there = self._transaction.execute(select(schema.links.c.key).where(*where, live)).first()
        if row["removed"] is None and there is not None:
            raise InvalidInputError(f"link {row['ulid']} joins two targets that are linked already")
        self._transaction.insert(schema.links, {**row, **places})
        if a[0] == b[0] == GROVE and self._adopting is None:
            named = [self._documents[end[2]] for end in (a, b)]
            self._add_fingerprint(link_fingerprint(row, named, self._agents[row["author"]]))

    def tag(self, row: Row) -> None:
        """Events name tags by number, so the number is kept wherever it is free."""
        tags, transaction = schema.tags, self._transaction
        same = [tags.c[name] == row[name] for name in ("tree", "kind", "target", "label")]
        if transaction.execute(select(tags.c.key).where(*same)).first() is not None:
            raise InvalidInputError(f"tag {row['label']!r} is on its target twice")
        if self._keeps_tag_numbers is None:
            self._keeps_tag_numbers = row["key"] > transaction.dialect.last_key(transaction, tags)
        if self._keeps_tag_numbers:
            transaction.dialect.reserve_keys(transaction, tags, row["key"])
        else:
            row = {name: value for name, value in row.items() if name != "key"}
        transaction.execute(tags.insert(), row)
        if row["tree"] == GROVE and self._adopting is None:
            self._add_fingerprint(tag_fingerprint(row, self._documents[row["target"]]))

    def record(self, row: Row) -> None:
        """Add a record, unless this grove has one in its place."""
        records = schema.records
        if self._adopting is None:
            same = [records.c[name] == row[name] for name in (*PLACE, "id")]
            there = or_(and_(*same), records.c.ulid == row["ulid"])
            if self._transaction.execute(select(records.c.key).where(there).limit(1)).first() is not None:
                self._note_existing()
                return
            if row["hidden"] is not None:
                # Undone in a chain that is not imported: redo could not bring it back.
                return
        self.add(records, row)
        self._add_fingerprint(record_fingerprint(row))

    def _note_existing(self) -> None:
        note = "{:,} records are there already, and were not changed"
        if self._existing_records:
            self.notes.remove(note.format(self._existing_records))
        self._existing_records += 1
        self.notes.append(note.format(self._existing_records))


ImportTarget = DryRun | GroveTarget


def is_pristine(transaction: Transaction) -> bool:
    """True if a grove has only its owner, and no operation was ever performed in it."""
    if transaction.grove_state().events > 1:
        return False
    tables = (schema.trees, schema.documents, schema.projects, schema.users, schema.records, schema.tags)
    for table in tables:
        if transaction.execute(select(table.c.key).limit(1)).first() is not None:
            return False
    return len(transaction.execute(select(schema.agents.c.key).limit(2)).all()) == 1
