"""Any byte of any stored value, changed behind Weft's back, is found and named."""

import os
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select
from tests.covers import covers
from tests.provenance.damage import Place, Vandal, flipped, places
from tests.provenance.openssl import Authority
from tests.provenance.small import fill

import weft
from weft.errors import StorageError
from weft.provenance.findings import Findings, Report
from weft.provenance.replay import Chain, read_chain
from weft.provenance.timestamps import read_certified_heads
from weft.provenance.verify import _agents, _Check, _check_end
from weft.store import schema
from weft.store.session import Session

PROVE = bool(os.environ.get("WEFT_PROVE"))


def ulid_at(session: Session, table: Any, *where: Any) -> str:
    return str(session.execute(select(table.c.ulid).where(*where)).scalar_one())


def name_of(session: Session, place: Place) -> str:
    """What a finding about the row must mention."""
    key, tables = dict(zip(place.table.primary_key.columns.keys(), place.key, strict=True)), schema
    match place.table.name:
        case "texts" | "attachments" | "citations" | "node_responses" | "sources" | "envelopes":
            node = key.get("node") or key.get("target")
            return ulid_at(
                session, tables.nodes, tables.nodes.c.tree == key["tree"], tables.nodes.c.key == node
            )
        case "requests" | "manifests":
            attempts = tables.attempts
            return ulid_at(
                session, attempts, attempts.c.tree == key["tree"], attempts.c.key == key["attempt"]
            )
        case "revisions":
            return ulid_at(session, tables.documents, tables.documents.c.key == key["document"])
        case "project_revisions":
            return ulid_at(session, tables.projects, tables.projects.c.key == key["project"])
        case "events" | "typings":
            chain = tables.trees if key["tree"] else tables.grove
            return f"{ulid_at(session, chain, chain.c.key == key['tree'])}/{key['ordinal']}"
        case "bodies":
            return place.key[1].hex()
        case "memory":
            return f"/{key['ordinal']}:"
        case "memberships":
            return ulid_at(session, tables.users, tables.users.c.key == key["user"])
        case "tags" | "tool_results":
            return {"tags": "tag ", "tool_results": "tool result "}[place.table.name]
        case _:
            row = [place.table.c[name] == value for name, value in key.items()]
            found = session.execute(select(place.table).where(*row)).one()._mapping
            return found.get("ulid") or found["sha256"].hex()


def verify(grove: weft.Grove, place: Place) -> Report:
    """What verifying the grove finds, by the part of it that looks at the row: the rest would find no less."""
    store = grove.caller.executor.store
    names = place.table.primary_key.columns.keys()
    if names[0] != "tree" or place.column == "tree":
        return grove.verify(quick=True)
    tree = place.key[0]
    with store.read() as session:
        if place.table is schema.events:
            return verify_chain(session, tree)
        if tree == 0:
            findings = Findings()
            agents, certified = _agents(session), read_certified_heads(session, findings)
            _Check(session, store.blobs, findings, agents, certified).grove()
            return findings.report("grove")
        ulid = ulid_at(session, schema.trees, schema.trees.c.key == tree)
    return grove.evidence.verify_tree(ulid)


def verify_chain(session: Session, tree: int) -> Report:
    findings, table = Findings(), schema.trees if tree else schema.grove
    row = session.execute(select(table).where(table.c.key == tree)).one()
    chain = Chain(row.ulid)
    for _ in read_chain(session, findings, tree, chain, _agents(session).ulids):
        pass
    _check_end(findings, table.name, chain, row)
    return findings.report("chain")


@pytest.mark.long
@covers("proof.every-byte-flipped", "verify.finds-any-change", "verify.invalid-names-the-difference")
def test_any_byte_changed_in_the_database_is_found_and_named(
    address: str, tsa: Authority, figure: Callable[[str, str], None]
) -> None:
    chance = random.Random(2026)
    with weft.open(address) as grove:
        fill(grove)
        grove.set_authorities({tsa.url: tsa.certificate})
        grove.tree("A talk").root.timestamp()
        grove.timestamp()
        grove.fetch_timestamps(everything=True)
        grove.tree("Text").root.timestamp()
        assert grove.verify(quick=True).findings == ()
        by_column: dict[tuple[str, str], list[Place]] = defaultdict(list)
        for place in places(grove):
            by_column[place.table.name, place.column].append(place)
        assert len(by_column) > 170
        vandal = Vandal(address)
        tried = 0
        for listed in by_column.values():
            for place in listed if PROVE else chance.sample(listed, 1):
                with grove.caller.executor.store.read() as session:
                    name = name_of(session, place)
                with vandal.change(place, flipped(place, chance)) as changed:
                    if not changed:
                        continue
                    if PROVE:
                        report = verify(grove, place)
                    else:
                        # As a person would who has just heard of it.
                        try:
                            with weft.open(address) as again:
                                report = again.verify(quick=True)
                        except StorageError as error:
                            # The grove's own name cannot even be read: opening it says so.
                            if place.table is not schema.grove or place.column not in error.message:
                                raise
                            tried += 1
                            continue
                tried += 1
                assert report.findings, f"not found: {place}"
                key = {*place.table.primary_key.columns.keys(), "ulid", "label", "sha256"}
                told = [str(finding) for finding in report.findings]
                assert place.column in key or any(name in line for line in told), (str(place), name, told)
        vandal.close()
        assert tried > len(by_column) * 0.8
        figure("changed bytes not found", f"0 of {tried:,} in {len(by_column)} columns")
        assert grove.verify(quick=True).findings == ()
