"""Records against what the grove's chain says of them."""

from sqlalchemy import select

from weft.provenance.facts import record_fact
from weft.provenance.holdings import Inspection, vouch
from weft.provenance.rows import BATCH, fetch
from weft.store import schema

__all__ = ["check_records"]


def check_records(mine: Inspection) -> None:
    """Every record, in batches by key."""
    key = schema.records.c.key
    after = None
    while True:
        bounds = select(key).order_by(key).limit(BATCH)
        numbers = list(mine.session.execute(bounds if after is None else bounds.where(key > after)).scalars())
        if not numbers:
            return
        after = numbers[-1]
        for row in fetch(mine.session, mine.findings, schema.records, key >= numbers[0], key <= after):
            vouch(mine, "record", row.ulid, "place, id, time or document", record_fact(row._asdict()))
