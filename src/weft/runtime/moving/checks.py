"""Whether what a grove says about itself agrees: heads, counters, chains."""

from collections.abc import Iterator

from sqlalchemy import and_, func, select

from weft.interop.weft_json import JsonLine
from weft.runtime.transfer.exporter import Exporter
from weft.runtime.transfer.import_target import DryRun
from weft.runtime.transfer.importer import FileImporter, Imported
from weft.store import schema
from weft.store.blobs import BlobStore
from weft.store.session import Session
from weft.store.statements import count_live
from weft.store.transaction import GROVE
from weft.tree.progress import Progress, silent

__all__ = ["broken_chains", "check_all", "wrong_counters"]

_COUNT_LIVE = count_live()


def broken_chains(session: Session) -> Iterator[str]:
    """Chains whose head is not their last event, or that miss some: by number and hash, without recomputing."""
    events, trees = schema.events, schema.trees
    counts = {
        row.tree: (int(row.there), int(row.last))
        for row in session.execute(
            select(
                events.c.tree, func.count().label("there"), func.max(events.c.ordinal).label("last")
            ).group_by(events.c.tree)
        )
    }
    last = and_(events.c.tree == trees.c.key, events.c.ordinal == trees.c.events)
    listed = select(trees.c.key, trees.c.ulid, trees.c.events, trees.c.head, events.c.hash)
    for row in session.execute(listed.join(events, last, isouter=True).order_by(trees.c.key)):
        if counts.get(row.key, (0, 0)) != (row.events, row.events) or row.head != row.hash:
            yield f"the event chain of tree {row.ulid} does not end where it should"
    own = session.execute(schema.grove.select()).one_or_none()
    if own is None:
        return
    at_end = (events.c.tree == GROVE, events.c.ordinal == own.events)
    head = session.execute(select(events.c.hash).where(*at_end)).scalar_one_or_none()
    if counts.get(GROVE, (0, 0)) != (own.events, own.events) or own.head != head:
        yield "the grove's own event chain does not end where it should"


def wrong_counters(session: Session) -> Iterator[tuple[int, str, dict[str, int]]]:
    """Trees whose counters are not what counting gives: key, id, and the true ones."""
    trees = schema.trees
    for row in session.execute(trees.select().order_by(trees.c.key)).all():
        found = session.execute(_COUNT_LIVE, {"in_tree": row.key}).one()
        if (found.nodes, found.branches, found.depth) != (row.nodes, row.branches, row.depth):
            yield row.key, row.ulid, {"nodes": found.nodes, "branches": found.branches, "depth": found.depth}


def check_all(session: Session, blobs: BlobStore, progress: Progress = silent) -> Imported:
    """Every hash of every node and event, recomputed, as an import into another grove would."""
    exporter = Exporter(session, blobs, None, progress)
    importer = FileImporter(exporter.scope, DryRun(blobs))
    for number, record in enumerate(exporter.records(), 2):
        importer.add(JsonLine(number, record))
    return importer.end()
