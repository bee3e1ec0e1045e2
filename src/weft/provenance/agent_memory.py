"""What agents remember in a tree, against its events, and the trace of what they did against itself."""

import orjson
from sqlalchemy import select

from weft.provenance.facts import SEAL, memory_fact, trace_seal
from weft.provenance.holdings import Inspection, vouch
from weft.provenance.rows import pages, values_of
from weft.store import schema
from weft.store.memory import TRACE

__all__ = ["check_memory"]


def check_memory(inspection: Inspection) -> None:
    """Pins, stashes, recalls and thoughts by their events; actions, runs and results by their own hash."""
    session, findings, memory = inspection.session, inspection.findings, schema.memory
    mine = memory.c.tree == inspection.tree
    for key in values_of(session, select(memory.c.agent).where(mine).distinct(), int):
        agent = inspection.agents.ulids.get(key, str(key))
        for page in pages(session, findings, memory, memory.c.ordinal, mine, memory.c.agent == key):
            for row in page:
                name = f"{agent}/{row.ordinal}"
                if row.kind not in TRACE:
                    fact = memory_fact(row._asdict(), agent)
                    vouch(inspection, "memory", name, "kind, label, body or times", fact)
                elif not _is_sealed(row._asdict(), inspection.chain.ulid, agent):
                    findings.differs_in("memory", name, "kind, label, body or times")


def _is_sealed(row: dict[str, object], tree: str, agent: str) -> bool:
    try:
        value = orjson.loads(str(row["body"]))
        written = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
        return written == row["body"] and value[SEAL] == trace_seal(row, tree, agent)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        return False
