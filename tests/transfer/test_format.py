"""The file format: recorded files hold it byte for byte, and no table or column is forgotten."""

import gzip
import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.statements import statements

import weft
from weft.runtime.transfer import exporter, record_specs
from weft.runtime.transfer.checked_fields import RecordSpec
from weft.runtime.transfer.record_specs import (
    DOCUMENT_REVISION,
    FILE_RECORDS,
    PROJECT_REVISION,
    TREE_RECORDS,
)
from weft.store import schema
from weft.store.packed_bodies import pack
from weft.store.transaction import Transaction

FILES = Path(__file__).parents[1] / "data" / "transfer"
"""A whole grove, and two of its trees: every kind of record, every field of each."""
SPECS = {spec.kind: spec for spec in (*FILE_RECORDS, *TREE_RECORDS, PROJECT_REVISION, DOCUMENT_REVISION)}
LEFT_OUT = {
    "users": "access",
    "tokens": "secrets",
    "memberships": "access",
    "vaults": "folders of this machine",
    "leases": "work under way",
    "idempotency": "work under way",
    "jobs": "work under way",
    "calls": "work under way",
    "pieces": "work under way",
    "runs": "work under way",
    "run_records": "work under way",
    "run_attempts": "work under way",
    "run_steps": "work under way",
    "kept_answers": "answers kept for a repeated key, for a day",
    "drafts": "typed at nodes and no node yet; backups and migrations copy it",
    "read_marks": "what a person has read here",
    "approvals": "work under way",
    "spending": "the limits of this grove",
    "provider_caches": "work under way",
    "imports": "reports of this grove",
    "imported_conversations": "reports of this grove",
    "proxy_sessions": "programs of this installation",
    "proxy_requests": "programs of this installation",
    "proxy_keys": "programs of this installation",
    "proxy_segments": "programs of this installation",
}
NOT_IN_A_RECORD = {
    "grove": {"key", "owner"},
    "tree": {"key", "root", "root_ulid", "next_key", "nodes", "branches", "depth", "leased_until"},
    "node": {
        *("tree", "key", "position", "parent", "depth", "jump", "written_after", "author_type", "kind"),
        *("narrow", "wide", "ruler", "near_attachments", "near_instruction", "flags"),
    },
    "agent": {"key"},
    "project": {"key"},
    "projectRevision": {"project"},
    "document": {"key"},
    "revision": {"document"},
    "event": {"tree", "ordinal", "number", "transaction", "previous"},
    "timestamp": {"tree"},
    "response": {"tree", "key"},
    "attempt": {"tree", "key"},
    "envelope": {"tree", "gzip"},
    "toolResult": {"tree"},
    "typing": {"tree"},
    "cursor": {"tree"},
    "selection": {"tree"},
    "buffer": {"tree"},
    "group": {"tree"},
    "memory": {"tree"},
    "link": {"key", "a_tree", "a_kind", "a_key", "b_tree", "b_kind", "b_key"},
    "tag": {"tree", "kind"},
    "record": {"key"},
    "groupEntry": set[str](),
}
"""Keys and chains, which follow from a record's place in the file, and columns that others stand for."""

RARE = {
    "body": {"offset"},
    "blob": {"missing"},
    "node": {"citations"},
    "toolResult": {field.name for field in SPECS["toolResult"].fields},
}
"""Fields that the recorded files do not have: of large bodies, of blobs that are lost, and what is newer."""


@covers("export.weft-json")
@pytest.mark.parametrize(("name", "trees"), [("grove", None), ("trees", ["Marie", "Story"])])
def test_a_file_of_an_earlier_weft_is_exported_again_byte_for_byte(
    tmp_path: Path, name: str, trees: list[str] | None
):
    source, copy = FILES / f"{name}.json.gz", io.BytesIO()
    with weft.open(tmp_path / "grove.db") as grove:
        grove.import_(source)
        grove.export(copy, trees)
    assert copy.getvalue() == gzip.decompress(source.read_bytes())


def test_the_recorded_file_has_every_field_of_every_record():
    fields: dict[str, set[str]] = defaultdict(set)
    for record in json.loads(gzip.decompress((FILES / "grove.json.gz").read_bytes()))["records"]:
        fields[record["record"]].update(record)
    for kind, spec in SPECS.items():
        missing = {field.name for field in spec.fields} - fields[kind]
        assert missing == RARE.get(kind, set()), kind


def test_every_table_is_exported_or_left_out_for_a_reason():
    source = "".join(Path(str(module.__file__)).read_text() for module in (exporter, record_specs))
    for table in schema.metadata.sorted_tables:
        assert (f"schema.{table.name}" in source) != (table.name in LEFT_OUT), table.name


@pytest.mark.parametrize("spec", [spec for spec in SPECS.values() if spec.table is not None])
def test_every_column_has_a_field_or_follows_from_others(spec: RecordSpec):
    columns: set[Any] = {field.column for field in spec.fields}
    assert spec.table is not None
    assert set(spec.table.c.keys()) - columns == NOT_IN_A_RECORD[spec.kind]


def test_the_number_of_queries_does_not_grow_with_the_rows(tmp_path: Path):
    with weft.open(tmp_path / "grove.db") as grove:
        tree = grove.plant("Marie", "root")

        def queries(rows: range) -> int:
            for number in rows:
                grove.create_project(f"project {number}")
                grove.tag(tree.root, f"tag {number}")
                grove.link(tree.root, grove.write_document(f"document {number}", "text").save("more"))
                grove.read.store.write(lambda transaction, key=100 + number: add_attempt(transaction, key))
            with statements(grove.read.store) as sent:
                grove.export(io.BytesIO())
            return len(sent)

        assert queries(range(2)) == queries(range(2, 9))


def add_attempt(transaction: Transaction, key: int) -> None:
    """A call of a model in the first tree, with its manifest."""
    attempt = dict.fromkeys(schema.attempts.c.keys()) | {"tree": 1, "key": key, "ulid": f"{key:026}"}
    attempt |= {"agent": 1, "parent": 1, "outcome": 0, "started_at": 0}
    transaction.add(schema.attempts, attempt)
    manifest = {"tree": 1, "attempt": key, "sha256": bytes(32), "gzip": pack(b"{}")}
    transaction.add(schema.manifests, manifest)
