"""What the grove keeps in revisions: documents and projects, each as it is and as it ever was."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import Table

from weft.provenance.events import Chain
from weft.provenance.facts import (
    Fact,
    Row,
    document_fact,
    project_fact,
    project_revision_fact,
    revision_fact,
)
from weft.provenance.holdings import Inspection, check_summary, vouch
from weft.provenance.rows import fetch
from weft.store import schema

__all__ = ["DOCUMENT", "PROJECT", "Revised", "check_revised", "forget_document"]


class Revised(NamedTuple):
    """One kind of thing that has revisions."""

    name: str
    table: Table
    revisions: Table
    fact: Callable[[Row], Fact]
    revision_fact: Callable[[str, Row, str], Fact]
    told: str
    """What the fact of the whole covers."""
    told_of_revision: str


DOCUMENT = Revised(
    "document",
    schema.documents,
    schema.revisions,
    document_fact,
    revision_fact,
    "title, revision or times",
    "title, content, author or time",
)
PROJECT = Revised(
    "project",
    schema.projects,
    schema.project_revisions,
    project_fact,
    project_revision_fact,
    "name, prompt, context, revision or times",
    "name, prompt, context, author or time",
)


def check_revised(mine: Inspection) -> None:
    """Every document and project, and every revision of them, against what the grove's chain says."""
    for kind in (DOCUMENT, PROJECT):
        for row in fetch(mine.session, mine.findings, kind.table):
            vouch(mine, kind.name, row.ulid, kind.told, kind.fact(row._asdict()))
            if "summary" in kind.table.c:
                check_summary(mine, kind.name, row.ulid, row.summary)
            _check_revisions(mine, kind, row)


def _check_revisions(mine: Inspection, kind: Revised, row: Any) -> None:
    agents = mine.agents.ulids
    whole = kind.revisions.c[kind.name]
    for revision in fetch(mine.session, mine.findings, kind.revisions, whole == row.key):
        fact = kind.revision_fact(row.ulid, revision._asdict(), agents.get(revision.author, ""))
        name = f"{row.ulid} revision {revision.revision}"
        vouch(mine, kind.name, name, kind.told_of_revision, fact)


def forget_document(chain: Chain, ulid: str) -> None:
    """It was deleted: what was said of it is not looked for."""
    whole = {f"document:{ulid}", f"summary:{ulid}"}
    gone = [name for name in chain.facts if name in whole or name.startswith(f"revision:{ulid}:")]
    for name in gone:
        del chain.facts[name]
