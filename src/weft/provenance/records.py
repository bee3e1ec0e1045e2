"""Records against what the grove's chain says of them."""

from weft.provenance.facts import record_fact
from weft.provenance.holdings import Inspection, vouch
from weft.provenance.rows import pages
from weft.store import schema

__all__ = ["check_records"]


def check_records(mine: Inspection) -> None:
    """Every record, in batches by key."""
    for page in pages(mine.session, mine.findings, schema.records, schema.records.c.key):
        for row in page:
            vouch(mine, "record", row.ulid, "place, id, time or document", record_fact(row._asdict()))
