"""Verify nodes, paths, trees and groves against their hashes and events.

A tree is read twice in key order, in batches: its light values first (they stay, some two
hundred bytes a node), then the texts. Its events are replayed in between, so that the metadata
they record can be compared with the stored metadata.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import func, select

from weft.errors import InvalidInputError, UnavailableError, WeftError
from weft.provenance.damaged_rows import fetch, pages, text_of, values_of
from weft.provenance.findings import Findings, Report
from weft.provenance.fingerprints import (
    choice_fingerprint,
    citations_fingerprint,
    grove_fingerprint,
    item_fingerprint,
    items_fingerprint,
    tree_fingerprints,
)
from weft.provenance.node_columns import Neighbours, NodeColumns, readable_nodes
from weft.provenance.nodes import (
    AgentTable,
    AttachedRows,
    Surroundings,
    attached_rows,
    check_node,
    names_to_find,
)
from weft.provenance.replay import Chain, NodeLabels, Replay, read_chain
from weft.provenance.table_checks import (
    Inspection,
    check_bodies,
    check_calls,
    check_entities,
    check_envelopes,
    check_labels,
    check_memory,
    check_packed,
    check_references,
    check_summary,
    check_tool_results,
    check_users,
    forget_document,
    report_missing_rows,
)
from weft.provenance.timestamps import CertifiedHeads, check_all_stamps, check_stamps_of, read_certified_heads
from weft.store import schema
from weft.store.base import Store
from weft.store.blobs import BlobStore
from weft.store.rows import MODES, Flag, NodeRow
from weft.store.session import Session, in_batches
from weft.store.transaction import GROVE
from weft.tree.content import Image, blob_refs
from weft.tree.item import about_item
from weft.tree.json import snake
from weft.tree.progress import Progress
from weft.tree.tree import Mode

_UNMARKED = NodeLabels()
_FLAGS = sum(bit for name, bit in vars(Flag).items() if name.isupper())


def verify_grove(
    session: Session, store: Store, progress: Progress | None = None, *, quick: bool = False
) -> Report:
    """Everything in the grove; unless `quick`, the database's indexes against its tables too."""
    findings, blobs = Findings(), store.blobs
    _check_indexes(session, store, findings, quick=quick)
    check = _Check(session, blobs, findings, _agents(session), read_certified_heads(session, findings))
    check.whole = True
    planted = check.grove()
    trees = fetch(session, findings, schema.trees)
    total = sum(row.nodes for row in trees)
    for row in trees:
        planted.discard(row.ulid)
        check.tree(row, _meter(progress, findings.nodes, total))
    findings.tree_id = None
    for ulid in sorted(planted):
        findings.missing("tree", ulid, "the tree that an event planted")
    return findings.report("grove")


def _check_indexes(session: Session, store: Store, findings: Findings, *, quick: bool) -> None:
    try:
        damage = [] if quick else store.find_damage(session)
    except UnavailableError as error:
        findings.unchecked.append(f"indexes against tables: {error.message}")
        return
    if quick:
        findings.unchecked.append("indexes against tables: skipped by quick")
    for line in damage:
        findings.differs_in("database", store.name, "integrity check", line)


def verify_tree(session: Session, blobs: BlobStore, tree: int, progress: Progress | None = None) -> Report:
    """One tree: its nodes, its events, and the rows that belong to them."""
    findings, aside = Findings(), Findings()
    # Damage in the grove's own rows is reported for the grove, not for this tree.
    check = _Check(session, blobs, findings, _agents(session), read_certified_heads(session, aside))
    for row in fetch(session, findings, schema.trees, schema.trees.c.key == tree):
        check.tree(row, _meter(progress, 0, row.nodes))
    return findings.report("tree")


def verify_nodes(
    session: Session, blobs: BlobStore, tree: int, keys: Iterable[int], progress: Progress | None = None
) -> Report:
    """Some nodes, each against its own hash and its neighbours; their metadata is not checked."""
    findings = Findings()
    check = _Check(session, blobs, findings, _agents(session), CertifiedHeads())
    wanted = sorted(set(keys))
    check.nodes(tree, wanted, progress)
    return findings.report("node" if len(wanted) == 1 else "path")


def _meter(progress: Progress | None, before: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, _: progress(min(before + done, total), total)


def _agents(session: Session) -> AgentTable:
    """Agents by key. One with another value damaged keeps its name, so that its own row is the finding."""
    agents = schema.agents
    rows = fetch(session, Findings(), agents)
    facts = AgentTable({row.key: row.ulid for row in rows}, {row.key: row.type for row in rows})
    for key in set(values_of(session, select(agents.c.key), int)) - facts.ulids.keys():
        ulid = text_of(session, select(agents.c.ulid).where(agents.c.key == key))
        if ulid is not None:
            facts.ulids[key] = ulid
        for known in values_of(session, select(agents.c.type).where(agents.c.key == key), int):
            facts.types[key] = known
    return facts


@dataclass(slots=True)
class _Check:
    """One verification under way."""

    session: Session
    blobs: BlobStore
    findings: Findings
    agents: AgentTable
    certified: CertifiedHeads
    _seen: set[str] = field(default_factory=set[str])
    """Blobs looked at already."""
    _hidden: dict[str, int | None] = field(default_factory=dict[str, "int | None"])
    """Trees whose planting was undone, and by which of the grove's events."""
    whole: bool = False
    """Whether the grove's own chain was read too."""

    def grove(self) -> set[str]:
        """The grove's own chain, agents, documents and projects; returns the trees that must be there."""
        session, findings = self.session, self.findings
        planted: set[str] = set()
        rows = fetch(session, findings, schema.grove)
        if not rows:
            findings.missing("grove", "?", "its row")
            return planted
        grove = rows[0]
        chain = Chain(grove.ulid)
        mine = Inspection(session, findings, GROVE, chain, self.agents)
        for event in read_chain(session, findings, GROVE, chain, self.agents.ulids):
            self.certified.check(findings, grove.ulid, event)
            ulid = event.payload.get("tree")
            if event.kind == "plant" and isinstance(ulid, str):
                planted.add(ulid)
            elif event.kind in {"undo", "redo"} and isinstance(ulid, str):
                self._hidden[ulid] = event.ordinal if event.kind == "undo" else None
            elif event.kind == "import" and isinstance(ulid, str):
                self._hidden[ulid] = event.payload.get("hidden")
            elif event.kind == "delete" and isinstance(ulid, str):
                planted.discard(ulid)
            elif event.kind == "delete-document":
                forget_document(chain, str(event.payload.get("document")))
        self.certified.report_missing(findings, grove.ulid, chain.count)
        findings.compare("grove", grove.ulid, "key", grove.key, GROVE)
        _check_end(findings, "grove", chain, grove)
        findings.compare("grove", grove.ulid, "updated at", grove.updated_at, chain.last)
        owner = self.agents.ulids.get(grove.owner, "")
        mine.compare(grove.ulid, grove_fingerprint(grove._asdict(), owner))
        check_entities(mine)
        check_users(mine)
        check_references(mine)
        check_all_stamps(mine, lambda _: None)
        report_missing_rows(mine)
        return planted

    def tree(self, tree: Any, progress: Progress | None) -> None:
        """A tree with all that belongs to it."""
        session, findings = self.session, self.findings
        findings.tree_id = tree.ulid
        columns = NodeColumns.load(session, findings, tree.key)
        buffer_mode = tree.mode == MODES.index(Mode.BUFFER)
        replay = Replay(columns, findings, buffer_mode)
        chain = Chain(tree.ulid)
        mine = Inspection(session, findings, tree.key, chain, self.agents, columns.name)
        for event in read_chain(session, findings, tree.key, chain, self.agents.ulids):
            self.certified.check(findings, tree.ulid, event)
            replay.apply(event)
        self.certified.report_missing(findings, tree.ulid, chain.count)
        for ulid in replay.unmade():
            findings.differs_in("node", ulid, "record", "no event created it")
        if self.whole:
            findings.compare("tree", tree.ulid, "hidden", tree.hidden, self._hidden.get(tree.ulid))
        _check_tree_row(mine, tree, replay)
        self._tree_nodes(mine, replay, progress)
        check_bodies(mine)
        check_calls(mine)
        check_tool_results(mine)
        check_envelopes(mine)
        check_labels(mine)
        check_memory(mine)
        check_references(mine)
        check_all_stamps(mine, columns.hash_of)
        report_missing_rows(mine)

    def _tree_nodes(self, mine: Inspection, replay: Replay, progress: Progress | None) -> None:
        columns, nodes = replay.columns, schema.nodes
        late = _late_attachments(self.session, mine.tree)
        around = Surroundings(mine.chain.ulid, columns, self.agents, late)
        done = 0
        # Rows that cannot be read were named when the light values were loaded.
        for page in pages(self.session, Findings(), nodes, nodes.c.key, nodes.c.tree == mine.tree):
            rows = [NodeRow._make(row) for row in page]
            attached = self._rows(mine.tree, rows, around)
            for row in rows:
                _check_marks(self.findings, row, replay)
                _check_items(mine, row, attached, replay)
                check_summary(mine, "node", row.ulid, attached.summaries.get(row.key))
            _check_shorter(mine, rows)
            done += len(rows)
            if progress is not None and rows:
                progress(done, len(columns))

    def nodes(self, tree: int, keys: list[int], progress: Progress | None) -> None:
        session, findings = self.session, self.findings
        ulid = session.execute(select(schema.trees.c.ulid).where(schema.trees.c.key == tree)).scalar_one()
        findings.tree_id = ulid
        lookup = Neighbours(session, tree)
        around = Surroundings(ulid, lookup, self.agents, _late_attachments(session, tree))
        bodies: set[bytes] = set()
        done = 0
        for some in in_batches(keys):
            rows = list(readable_nodes(session, findings, tree, some).values())
            for key in set(some) - {row.key for row in rows}:
                findings.missing("node", str(key), "the node")
            lookup.learn(rows)
            attached = self._rows(tree, rows, around)
            for row in rows:
                bodies.update(item.sha256 for item in attached.items.get(row.key, ()))
                choice = attached.choices.get(row.key)
                if choice is not None and choice.response in attached.responses:
                    bodies.add(attached.responses[choice.response].sha256)
            check_stamps_of(session, findings, tree, {row.ulid: row.hash for row in rows})
            done += len(some)
            if progress is not None:
                progress(done, len(keys))
        for digest in sorted(bodies):
            _check_body(session, findings, tree, digest)

    def _rows(self, tree: int, rows: Sequence[NodeRow], around: Surroundings) -> AttachedRows:
        """Nodes by themselves: hashes, places, and the media that they and their items show."""
        findings = self.findings
        if not rows:
            return AttachedRows()
        attached = attached_rows(self.session, findings, tree, [row.key for row in rows])
        for row in rows:
            content = check_node(findings, row, attached, around)
            if content is not None:
                self._refs(blob_refs(content), row)
            for item in attached.items.get(row.key, ()):
                try:
                    images = cast("tuple[Image, ...]", about_item(item.about).get("images", ()))
                except (WeftError, RecursionError):
                    findings.differs_in("attachment", f"{item.id} on {row.ulid}", "about", item.about)
                else:
                    self._refs((image.ref for image in images), row)
        return attached

    def _refs(self, refs: Iterable[str], row: NodeRow) -> None:
        for ref in refs:
            if ref in self._seen:
                continue
            self._seen.add(ref)
            self.findings.blobs += 1
            try:
                digest = self.blobs.digest(ref)
            except InvalidInputError:
                self.findings.differs_in("node", row.ulid, "blob ref", ref)
                continue
            if digest is None:
                self.findings.missing("blob", ref, f"the bytes that node {row.ulid} shows")
            else:
                self.findings.compare("blob", ref, "bytes", ref, digest)


def _check_end(findings: Findings, kind: str, chain: Chain, row: Any) -> None:
    name = chain.ulid
    findings.compare(kind, name, "count of events", row.events, chain.count)
    findings.compare(kind, name, "head", row.head, chain.head)


def _check_tree_row(mine: Inspection, tree: Any, replay: Replay) -> None:
    session, findings, chain, columns = mine.session, mine.findings, mine.chain, replay.columns
    _check_end(findings, "tree", chain, tree)
    for fingerprint in tree_fingerprints(tree._asdict()):
        field = snake(fingerprint.name.removeprefix("tree.")).replace("_", " ")
        mine.compare(tree.ulid, fingerprint, "tree", field)
    check_summary(mine, "tree", tree.ulid, tree.summary)
    roots = [
        at
        for at in range(len(columns))
        if columns.parent(at) is None and columns.keys[at] == columns.positions[at]
    ]
    if len(roots) == 1:
        findings.compare("tree", tree.ulid, "root", tree.root, columns.keys[roots[0]])
        findings.compare("tree", tree.ulid, "root ulid", tree.root_ulid, columns.ulids[roots[0]])
    else:
        findings.differs_in("tree", tree.ulid, "number of roots", len(roots), 1)
    nodes, branches, depth = replay.counters()
    known: dict[str, tuple[object, object]] = {
        "project": (_project(session, tree.project), replay.project),
        "count of nodes": (tree.nodes, nodes),
        "count of branches": (tree.branches, branches),
        "depth": (tree.depth, depth),
        "updated at": (tree.updated_at, max(chain.last, tree.created_at)),
    }
    if tree.hidden is None:
        # Undoing a planting puts the tree away too; that is recorded in the grove.
        known["archived at"] = tree.archived_at, replay.archived_at
    for name, (stored, computed) in known.items():
        findings.compare("tree", tree.ulid, name, stored, computed)
    highest = columns.keys[-1] if len(columns) else 0
    for table in (schema.attempts, schema.responses):
        last = select(func.max(table.c.key)).where(table.c.tree == tree.key)
        highest = max(highest, *values_of(session, last, int), 0)
    if tree.next_key <= highest:
        # Above it is nothing wrong: leases draw their tokens from the same count.
        findings.compare("tree", tree.ulid, "next key", tree.next_key, highest + 1)


def _project(session: Session, key: int | None) -> str | None:
    """The ULID of a project; its key where there is none."""
    if key is None:
        return None
    projects = schema.projects
    return text_of(session, select(projects.c.ulid).where(projects.c.key == key)) or str(key)


def _check_shorter(mine: Inspection, rows: Sequence[NodeRow]) -> None:
    """A local id is longer only where the shorter one was taken before."""
    nodes = schema.nodes
    shorter = {name: row for row in rows if (name := names_to_find(row)) is not None}
    for some in in_batches(shorter):
        here = nodes.c.tree == mine.tree, nodes.c.local_id.in_(some)
        keys = {row.local_id: row.key for row in fetch(mine.session, Findings(), nodes, *here)}
        for name in some:
            row = shorter[name]
            if keys.get(name, row.key) >= row.key:
                mine.findings.differs_in("node", row.ulid, "local id", row.local_id)


def _late_attachments(session: Session, tree: int) -> set[int]:
    """Positions where an item was attached after the node was created."""
    items, nodes = schema.attachments, schema.nodes
    same = (nodes.c.tree == items.c.tree) & (nodes.c.key == items.c.node)
    chosen = select(nodes.c.position).select_from(items).join(nodes, same)
    return set(values_of(session, chosen.where(items.c.tree == tree, items.c.attached_by.is_not(None)), int))


def _check_marks(findings: Findings, row: NodeRow, replay: Replay) -> None:
    at = replay.columns.index(row.key)
    if at is None or not replay.made[at]:
        return
    mark = replay.marks.get(at, _UNMARKED)
    for name, stored, computed in (
        ("excluded", bool(row.flags & Flag.EXCLUDED), mark.excluded),
        ("bookmarked", bool(row.flags & Flag.BOOKMARKED), mark.bookmarked),
        ("bookmark label", row.bookmark_label, mark.label),
        ("joined", bool(row.flags & Flag.JOINED), replay.is_joined(at) and row.edited_from is not None),
        ("pruned", row.pruned, mark.pruned),
        ("hidden", row.hidden, mark.hidden),
    ):
        findings.compare("node", row.ulid, name, stored, computed)
    if row.flags & ~_FLAGS:
        findings.differs_in("node", row.ulid, "flags", row.flags)
    version = bool(replay.is_version(at)) and row.edited_from is not None
    if version != (row.position != row.key):
        findings.differs_in("node", row.ulid, "position", row.position)


def _check_items(mine: Inspection, row: NodeRow, attached: AttachedRows, replay: Replay) -> None:
    findings, items = mine.findings, attached.items.get(row.key, ())
    made_with = [item._asdict() for item in items if item.attached_by is None]
    if made_with:
        mine.compare(row.ulid, items_fingerprint(row.ulid, made_with))
    for item in items:
        name = f"{item.id} on {row.ulid}"
        if item.attached_by is not None:
            mine.compare(name, item_fingerprint(row.ulid, item._asdict()))
        attached_by, detached_by = replay.items.get((row.ulid, item.ordinal), (None, None))
        findings.compare("attachment", name, "attached by", item.attached_by, attached_by)
        findings.compare("attachment", name, "detached by", item.detached_by, detached_by)
    if cited := [each._asdict() for each in attached.citations.get(row.key, ())]:
        mine.compare(row.ulid, citations_fingerprint(row.ulid, cited))
    choice = attached.choices.get(row.key)
    response = None if choice is None else attached.responses.get(choice.response)
    if choice is not None and response is not None:
        mine.compare(row.ulid, choice_fingerprint(row.ulid, response._asdict(), choice.choice))


def _check_body(session: Session, findings: Findings, tree: int, digest: bytes) -> None:
    bodies = schema.bodies
    rows = fetch(session, findings, bodies, bodies.c.tree == tree, bodies.c.sha256 == digest)
    if not rows:
        findings.missing("body", digest.hex(), "body")
        return
    findings.bodies += 1
    check_packed(findings, "body", digest.hex(), rows[0].gzip, digest)
