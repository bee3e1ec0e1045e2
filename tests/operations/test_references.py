"""Links, tags, documents, attachments, blobs, on both stores."""

import pytest
from sqlalchemy import update
from tests.covers import covers

from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError, StorageError
from weft.store import schema
from weft.store.lookup import find_tree
from weft.tree.content import Image, Mixed, Text
from weft.tree.item import Item
from weft.tree.reference import TargetKind


@covers("link.any-two-things", "link.undirected", "op.link-and-unlink")
def test_any_two_things_are_linked_either_way_round(loom):
    tree = loom.plant("Marie")
    node, document = tree.say("Why?"), loom.write_document(f"notes {tree.id}")
    link = loom.link(node, document, "see there")
    assert {end.kind for end in link.ends} == {TargetKind.NODE, TargetKind.DOCUMENT}
    assert loom.links(document) == loom.links(node) == [link]
    with pytest.raises(ConflictError, match="linked already"):
        loom.link(document, node)
    loom.link(tree, node)
    assert len(loom.links(node)) == 2
    loom.unlink(document, node)
    assert loom.links(document) == []
    assert loom.link(document, node, "again").note == "again"
    with pytest.raises(InvalidInputError, match="itself"):
        loom.link(tree, tree)
    with pytest.raises(NotFoundError, match="not linked"):
        loom.unlink(tree, document)


@covers("link.archived-tree-stays-as-it-is")
@pytest.mark.parametrize("archived", [0, 1])
def test_an_archived_tree_is_not_linked_whichever_is_older(loom, archived):
    trees = [loom.plant("older"), loom.plant("younger")]
    ends = [tree.say("here") for tree in trees]
    loom.link(*trees)
    trees[archived].archive()
    for action in (
        lambda: loom.link(*ends),
        lambda: loom.link(*reversed(ends)),
        lambda: loom.unlink(*trees),
        lambda: loom.tag(ends[archived], "x"),
    ):
        with pytest.raises(ConflictError, match="archived") as caught:
            action()
        assert caught.value.hint == "unarchive it first: tree.unarchive()"
    loom.tag(ends[1 - archived], "x")
    trees[archived].unarchive()
    assert loom.links(ends[0]) == []
    loom.link(*ends)


@pytest.mark.outer
@covers("op.attach-and-detach")
def test_attaching_is_held_to_the_limits_of_making(loom):
    tree = loom.plant("Marie")
    node = tree.say("Why?", attachments=[Item(id="0", type="note", content="A")])

    def fill(transaction):
        key = find_tree(transaction, tree.id)
        (row,) = transaction.execute(schema.attachments.select().where(schema.attachments.c.tree == key))
        for number in range(1, 10_000):
            transaction.add(schema.attachments, row._asdict() | {"ordinal": number, "id": str(number)})

    loom.caller.executor.store.write(fill)
    with pytest.raises(LimitExceededError, match="at most 10,000 items"):
        node.attach(Item(id="more", type="note", content="A"))


def test_items_that_come_and_go_do_not_outrun_their_numbers(loom):
    tree = loom.plant("Marie")
    node = tree.say("Why?", attachments=[Item(id="0", type="note", content="A")])
    last = update(schema.attachments).values(ordinal=2**15 - 1, detached_by=1)

    def wear_out(transaction):
        here = schema.attachments.c.tree == find_tree(transaction, tree.id)
        transaction.execute(last.where(here))

    loom.caller.executor.store.write(wear_out)
    with pytest.raises(LimitExceededError, match="changed too often"):
        node.attach(Item(id="0", type="note", content="A"))


@covers("tag.on-node-tree-document", "tag.case-sensitive", "op.tag-and-untag")
def test_tags_are_case_sensitive_and_on_anything(loom):
    tree = loom.plant("Marie")
    node, document = tree.say("Why?"), loom.write_document(f"tagged {tree.id}")
    for thing in (tree, node, document):
        loom.tag(thing, "Idea")
        loom.tag(thing, "idea")
        loom.tag(thing, "idea")
        assert loom.tags(thing) == ["Idea", "idea"] or sorted(loom.tags(thing)) == ["Idea", "idea"]
        loom.untag(thing, "Idea")
        assert loom.tags(thing) == ["idea"]
        with pytest.raises(NotFoundError):
            loom.untag(thing, "Idea")
        loom.tag(thing, "Idea")
    with pytest.raises(InvalidInputError):
        loom.tag(tree, "two\nlines")


@covers("document.mutable-markdown", "document.revision-named-on-save")
def test_a_save_from_an_old_revision_is_a_conflict(loom):
    document = loom.write_document(f"Notes {len(loom.documents())}", "# A\none")
    newer = document.save("# A\ntwo")
    assert (newer.revision, newer.text) == (2, "# A\ntwo")
    with pytest.raises(ConflictError, match="is at revision 2, you started from 1") as caught:
        document.save("# A\nthree")
    assert "read it again" in caught.value.hint
    assert loom.document(document.id).text == "# A\ntwo"
    assert loom.read.document(document.id, revision=1).content == "# A\none"
    assert newer.section("a") == "# A\ntwo"
    assert newer.save("# A\ntwo").revision == 2


def test_titles_name_documents(loom):
    title = f"Unique {len(loom.documents())}"
    document = loom.write_document(title)
    with pytest.raises(ConflictError, match="there is a document"):
        loom.write_document(title.upper())
    assert loom.document(title.lower()).id == document.id
    renamed = document.save(title=title + " renamed")
    assert loom.document(title + " renamed").revision == renamed.revision == 2
    document = loom.document(renamed.id)
    with pytest.raises(InvalidInputError, match="confirm"):
        document.delete(confirm="yes")
    document.delete(confirm=document.id)
    with pytest.raises(NotFoundError):
        loom.document(document.id)


@covers("op.attach-and-detach", "node.carries-attachments")
def test_items_are_attached_to_a_turn_until_a_model_answers(loom):
    model = loom.add_agent(f"answering {len(loom.agents())}", model_ref="t:m")
    tree = loom.plant("Marie")
    spec = Item(id="spec.md", type="note", content="# Spec\n")
    asked = tree.say("Summarise", attachments=[spec])
    digest = asked.value.content_hash
    more = Item(id="api.md", type="note", content="api")
    assert [item.id for item in asked.attach(more).value.attachments] == ["spec.md", "api.md"]
    with pytest.raises(ConflictError, match="attached already"):
        asked.attach(spec)
    assert [item.id for item in asked.detach("spec.md").value.attachments] == ["api.md"]
    assert asked.refresh().value.content_hash == digest
    with pytest.raises(NotFoundError, match="is not attached"):
        asked.detach("spec.md")
    asked.say("Well.", author=model.id)
    with pytest.raises(ConflictError, match="has been generated from"):
        asked.attach(spec)


@covers("cost.nearest-pointers")
def test_nodes_know_where_the_nearest_items_hang(loom):
    tree = loom.plant("Marie")
    one = tree.say("1")
    two = tree.say("2")
    three = tree.say("3")
    assert _near(loom, three) is None
    one.attach(Item(id="a", type="note", content="a"))
    assert _near(loom, three) == _near(loom, one) == one.id
    two.attach(Item(id="b", type="note", content="b"))
    assert (_near(loom, three), _near(loom, one)) == (two.id, one.id)
    assert _near(loom, three.say("4")) == two.id


def _near(loom, node):
    with loom.caller.executor.store.read() as session:
        rows = {(row.tree, row.key): row for row in session.execute(schema.nodes.select())}
    row = next(row for row in rows.values() if row.ulid == node.id)
    return None if row.near_attachments is None else rows[row.tree, row.near_attachments].ulid


@covers("content.blobs-by-sha256", "content.no-media-in-rows")
def test_media_lie_beside_the_database_by_their_hash(loom):
    import hashlib

    data = b"\x89PNG not really"
    ref = loom.put_blob(data)
    assert ref == loom.put_blob(data) == hashlib.sha256(data).hexdigest()
    tree = loom.plant("Marie")
    image = Image(ref=ref, mime_type="image/png", width=1, height=1, alt_text="a dot")
    node = tree.say(Mixed((Text("look"), image)))
    assert tree.node(node.id).content == node.content
    assert loom.blob(ref) == data
    with loom.caller.executor.store.read() as session:
        for table in schema.metadata.sorted_tables:
            for row in session.execute(table.select()):
                assert data not in [value for value in row if isinstance(value, bytes)]


def test_a_damaged_blob_is_not_handed_out(loom):
    ref = loom.put_blob(b"precious")
    path = loom.caller.executor.store.blobs.path(ref)
    path.chmod(0o600)
    path.write_bytes(b"Precious")
    with pytest.raises(StorageError, match="is damaged"):
        loom.blob(ref)
    with pytest.raises(NotFoundError):
        loom.blob("cd" * 32)
