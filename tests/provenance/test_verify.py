"""Verifying: what is found, how it is named, and what each scope looks at."""

import contextlib
import hashlib
import shutil
import sqlite3
from pathlib import Path

import psycopg
import pytest
from tests.cli.desk import Desk
from tests.covers import covers
from tests.growing import grow
from tests.provenance.small import answer, fill, plant_dialogue, remember

import weft
from weft.provenance.findings import Problem, Report, Verdict
from weft.store import schema
from weft.store.memory import MemoryKind
from weft.store.packed_bodies import pack
from weft.tree.item import Item


def tell(report: Report) -> list[str]:
    return [str(finding) for finding in report.findings]


def damage(grove: weft.Grove, address: str, statement: str, *values: object) -> None:
    """What somebody with the file or the password could do; then look again as a stranger would."""
    if address.startswith("postgresql"):
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            assert connection.execute(statement.replace("?", "%s"), values).rowcount > 0
        return
    with sqlite3.connect(address) as connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


@covers("verify.scopes")
def test_nodes_paths_trees_and_groves_are_valid_as_they_were_written(fresh_loom: weft.Grove) -> None:
    fill(fresh_loom)
    tree = fresh_loom.tree("A talk")
    leaf = tree.root.children[-1]
    for report, scope in (
        (leaf.verify(), "node"),
        (leaf.verify(path=True), "path"),
        (tree.verify(), "tree"),
        (fresh_loom.verify(), "grove"),
    ):
        assert (report.scope, report.verdict, report.findings) == (scope, Verdict.VALID, ())
    assert leaf.verify().nodes == 1
    assert leaf.verify(path=True).nodes == 2
    whole = fresh_loom.verify()
    assert whole.nodes > tree.verify().nodes > 10
    assert (whole.blobs, whole.bodies) == (1, 14)


@covers("verify.scopes")
def test_a_path_is_verified_with_the_bodies_of_its_own_nodes_alone(fresh_loom: weft.Grove) -> None:
    tree = fresh_loom.plant("T", "one")
    own = tree.root.say("two", attachments=[Item(id="a.md", type="note", content="Warp.")])
    tree.root.say("beside", attachments=[Item(id="b.md", type="note", content="Weft.")])
    leaf = own.say("three")
    assert leaf.verify(path=True).bodies == 1
    assert tree.verify().bodies == 2


@covers("verify.invalid-names-the-difference")
def test_a_changed_text_is_named_with_both_hashes_wherever_one_looks(
    fresh_loom: weft.Grove, address: str
) -> None:
    tree = fresh_loom.plant("T", "one")
    second = tree.root.say("two")
    third = second.say("three")
    damage(fresh_loom, address, "UPDATE texts SET content = ? WHERE content = ?", "2wo", "two")
    for report in (fresh_loom.verify(), tree.verify(), third.verify(path=True), second.verify()):
        (found,) = report.findings
        assert report.verdict is Verdict.INVALID
        assert (found.kind, found.id, found.tree_id, found.input) == ("node", second.id, tree.id, "hash")
        assert found.stored == second.value.content_hash
        assert found.computed not in {None, found.stored}
    assert third.verify().valid


def test_a_source_that_was_exchanged_is_found_at_both_ends(fresh_loom: weft.Grove, address: str) -> None:
    tree = fresh_loom.plant("T", "one")
    second = tree.root.say("two")
    third = second.say("three")
    forged = hashlib.sha256(b"forged").digest()
    damage(fresh_loom, address, "UPDATE nodes SET hash = ? WHERE ulid = ?", forged, second.id)
    found = {(finding.id, finding.input) for finding in third.verify(path=True).findings}
    assert found == {(second.id, "hash"), (third.id, "hash")}


@pytest.mark.outer
@covers("verify.incomplete-names-what-is-missing")
def test_what_is_missing_is_named_and_makes_it_incomplete(fresh_loom: weft.Grove, address: str) -> None:
    fresh_loom.add_agent("sage", model_ref="local:sample")
    tree = plant_dialogue(fresh_loom)
    body = hashlib.sha256(answer().body).digest()
    damage(fresh_loom, address, "DELETE FROM bodies WHERE sha256 = ?", body)
    said = next(node for node in tree.root.children[0].children if node.value.author_type == "model")
    for report in (tree.verify(), said.verify()):
        assert report.verdict is Verdict.INCOMPLETE
        assert all(finding.problem is Problem.MISSING for finding in report.findings)
        assert any(body.hex() in line and "missing" in line for line in tell(report))


@pytest.mark.long
def test_a_blob_that_is_gone_or_damaged_is_named(fresh_loom: weft.Grove) -> None:
    fill(fresh_loom)
    blobs = fresh_loom.caller.executor.store.blobs
    (path,) = blobs.folder.glob("[0-9a-f][0-9a-f]/*")
    ref = path.parent.name + path.name
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"!")
    report = fresh_loom.verify()
    assert report.verdict is Verdict.INVALID
    assert [(finding.kind, finding.id) for finding in report.findings] == [("blob", ref)]
    path.unlink()
    assert fresh_loom.verify().verdict is Verdict.INCOMPLETE
    path.write_bytes(whole)
    assert fresh_loom.verify().valid


def test_events_cannot_be_thinned_out_and_rows_cannot_be_slipped_in(
    fresh_loom: weft.Grove, address: str
) -> None:
    tree = fresh_loom.plant("T", "one")
    tree.root.say("two").exclude()
    document = fresh_loom.write_document("D", "text")
    assert fresh_loom.verify().valid
    damage(fresh_loom, address, "DELETE FROM events WHERE kind = 'exclude'")
    inputs = {(finding.kind, finding.input) for finding in tree.verify().findings}
    assert {("tree", "count of events"), ("tree", "head"), ("node", "excluded")} <= inputs
    damage(
        fresh_loom,
        address,
        "INSERT INTO revisions (document, revision, title, content, author, created_at) "
        "SELECT document, 7, title, content, author, created_at FROM revisions",
    )
    assert any(f"{document.id} revision 7" in line for line in tell(fresh_loom.verify()))


def test_a_tree_or_a_tag_that_vanished_is_missed(fresh_loom: weft.Grove, address: str) -> None:
    tree, kept = fresh_loom.plant("T", "one"), fresh_loom.plant("K", "two")
    fresh_loom.tag(kept, "blue")
    deleted = fresh_loom.plant("D", "three")
    fresh_loom.link(kept, deleted)
    document = fresh_loom.write_document("Doc")
    fresh_loom.tag(document, "red")
    document.delete(confirm=document.id)
    deleted.delete(confirm=deleted.id)
    assert fresh_loom.verify().findings == ()
    damage(fresh_loom, address, "DELETE FROM tags")
    damage(fresh_loom, address, "DELETE FROM trees WHERE ulid = ?", tree.id)
    told = tell(fresh_loom.verify())
    assert any(tree.id in line for line in told)
    assert any(kept.id in line and line.startswith("tag") for line in told)


@covers("verify.finds-any-change")
@pytest.mark.parametrize(
    ("table", "kind"),
    [("tokens", "token"), ("memberships", "role"), ("users", "user"), ("vaults", "vault")],
)
def test_a_deleted_user_token_role_or_vault_is_missed(
    fresh_loom: weft.Grove, address: str, tmp_path: Path, table: str, kind: str
) -> None:
    tree = fresh_loom.plant("Marie")
    fresh_loom.users.add("Ann", role="reader")
    fresh_loom.users.set_role("Ann", "editor", tree=tree.id)
    fresh_loom.users.issue("Ann")
    fresh_loom.vaults.mount(tmp_path)
    for name in ("tokens", "memberships", "users", "vaults"):
        # Those that point at what is deleted go with it.
        if name == table or (table == "users" and name != "vaults"):
            damage(fresh_loom, address, f"DELETE FROM {name}")
    report = fresh_loom.verify()
    assert report.verdict is Verdict.INCOMPLETE
    assert kind in {finding.kind for finding in report.findings}


@covers("verify.finds-any-change")
def test_roles_end_with_their_tree_and_with_being_taken_away(fresh_loom: weft.Grove) -> None:
    tree, other = fresh_loom.plant("Marie"), fresh_loom.plant("Other")
    fresh_loom.users.add("Ann", role="reader")
    for each in (tree, other):
        fresh_loom.users.set_role("Ann", "editor", tree=each.id)
    fresh_loom.users.set_role("Ann", None, tree=other.id)
    tree.delete(confirm=tree.id)
    assert fresh_loom.verify().valid


@covers("verify.finds-any-change", "export.weft-json")
def test_users_and_vaults_that_no_export_has_are_not_missed_where_it_is_imported(
    fresh_loom: weft.Grove, tmp_path: Path
) -> None:
    fresh_loom.plant("Marie", "Once")
    fresh_loom.users.add("Ann", role="reader")
    fresh_loom.users.issue("Ann")
    fresh_loom.vaults.mount(tmp_path)
    fresh_loom.export(tmp_path / "grove.json")
    with weft.open(str(tmp_path / "other.db")) as other:
        other.import_(tmp_path / "grove.json")
        assert other.verify().valid
        other.users.add("Ben", role="reader")
        assert other.verify().valid
        damage(other, str(tmp_path / "other.db"), "DELETE FROM memberships")
        assert [finding.kind for finding in other.verify().findings] == ["role"]


@pytest.mark.outer
def test_a_list_of_findings_is_bounded_and_says_how_many_more(fresh_loom: weft.Grove, address: str) -> None:
    tree = fresh_loom.plant("T", "one")
    with fresh_loom.caller.executor.store.read() as session:
        key = session.execute(schema.trees.select()).one().key
        root = schema.nodes.select().where(schema.nodes.c.tree == key)
        from weft.store.rows import NodeRow

        row = NodeRow._make(session.execute(root).one())
    grow(fresh_loom.caller.executor.store, key, row, 1_500)
    seen: list[tuple[int, int]] = []
    report = tree.verify(lambda done, total: seen.append((done, total)))
    assert (len(report.findings), report.more > 1_000, report.verdict) == (1_000, True, Verdict.INVALID)
    assert seen[-1] == (1_501, 1_501)
    assert seen == sorted(seen)


def test_every_operation_leaves_a_valid_grove_that_can_be_damaged_in_compressed_bytes(
    fresh_loom: weft.Grove, address: str
) -> None:
    tree = fresh_loom.plant("T", "one")
    item = Item(id="n", type="note", content="words " * 50)
    tree.root.say("two", attachments=[item])
    packed = bytearray(pack(item.content.encode()))
    packed[4] ^= 1
    damage(fresh_loom, address, "UPDATE bodies SET gzip = ?", bytes(packed))
    assert any("gzip header" in line for line in tell(tree.verify()))


@covers("verify.finds-any-change")
def test_a_change_of_what_an_agent_remembers_or_did_is_found(fresh_loom: weft.Grove, address: str) -> None:
    tree = fresh_loom.plant("T", "one")
    remember(fresh_loom, tree.id)
    assert tree.verify().findings == ()
    for kind in MemoryKind:
        row = f"kind = {kind.value} AND ordinal = (SELECT max(ordinal) FROM memory WHERE kind = {kind.value})"
        damage(fresh_loom, address, f"UPDATE memory SET body = replace(body, '{{', '{{ ') WHERE {row}")
        assert any(line.startswith("memory") for line in tell(tree.verify())), kind
        damage(fresh_loom, address, f"UPDATE memory SET body = replace(body, '{{ ', '{{') WHERE {row}")
    assert tree.verify().valid
    damage(fresh_loom, address, "DELETE FROM memory WHERE kind = 1")
    assert any("the row that an event records is missing" in line for line in tell(tree.verify()))


@covers("verify.indexes-agree-with-tables")
def test_an_index_that_disagrees_with_its_table_is_found_unless_quick_skips_it(
    tmp_path: Path, empty_tables: Path
) -> None:
    path = shutil.copy(empty_tables, tmp_path / "grove.db")
    with weft.open(path) as grove:
        grove.write_document("Notes", "text")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(
                "INSERT INTO documents SELECT 99, 'x', title, summary, revision, created_at, updated_at,"
                " archived_at, hidden FROM documents"
            )
            # With the index out of sight the table loses the row, and the index keeps an entry for it.
            connection.execute("PRAGMA writable_schema = ON")
            named = "type = 'index' AND name = 'ix_documents_title'"
            definition = connection.execute(f"SELECT * FROM sqlite_master WHERE {named}").fetchone()
            connection.execute(f"DELETE FROM sqlite_master WHERE {named}")
            connection.execute("PRAGMA writable_schema = RESET")
            connection.execute("DELETE FROM documents WHERE key = 99")
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", definition)
            connection.execute("PRAGMA writable_schema = RESET")
        quick, whole = grove.verify(quick=True), grove.verify()
    assert (quick.findings, quick.unchecked) == ((), ("indexes against tables: skipped by quick",))
    assert (whole.verdict, whole.unchecked) == (Verdict.INVALID, ())
    assert any("ix_documents_title" in line for line in tell(whole))
    desk = Desk(str(path))
    assert desk("verify", "--quick").err == "not checked: indexes against tables: skipped by quick\n"
    assert "ix_documents_title" in desk("verify").out


@covers("verify.finds-any-change")
def test_a_column_with_another_name_in_the_schema_is_found(tmp_path: Path, empty_tables: Path) -> None:
    path = Path(shutil.copy(empty_tables, tmp_path / "grove.db"))
    stored = path.read_bytes()
    place = stored.index(b"is_settled", stored.index(b"CREATE TABLE spending"))
    path.write_bytes(stored[:place] + b"is_setled_" + stored[place + 10 :])
    with weft.open(path, background=False) as grove:
        assert any("columns of spending are not those of the schema" in line for line in tell(grove.verify()))


@covers("verify.indexes-agree-with-tables")
def test_postgresql_checks_indexes_where_amcheck_is_installed(fresh_loom: weft.Grove, address: str) -> None:
    if not address.startswith("postgresql"):
        assert fresh_loom.verify().unchecked == ()
        return
    said = ("indexes against tables: the extension amcheck is not installed",)
    assert fresh_loom.verify().unchecked == said
    with psycopg.connect(address, autocommit=True) as connection:
        try:
            connection.execute("CREATE EXTENSION amcheck")
        except psycopg.Error:
            return
        assert fresh_loom.verify().unchecked == ()
        connection.execute("DROP EXTENSION amcheck")


def test_who_may_not_look_may_not_verify(fresh_loom: weft.Grove) -> None:
    tree = fresh_loom.plant("T", "one")
    fresh_loom.add_agent("sage", model_ref="local:sample")
    blind = fresh_loom.acting_as("sage")
    for look in (
        blind.verify,
        lambda: blind.evidence.verify_tree(tree.id),
        lambda: blind.evidence.provenance(tree.id, tree.root.id),
    ):
        with pytest.raises(weft.errors.PermissionDeniedError):
            look()
