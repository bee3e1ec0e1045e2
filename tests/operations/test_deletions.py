"""A hard delete leaves nothing behind: no row, no trace in the files, no image that only it had."""

import threading

import pytest
from sqlalchemy import text as sql
from tests import postgres
from tests.covers import covers
from tests.finding import columns_with, files_with

import weft
from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, StorageError
from weft.runtime.operations.executor import finish_deletions
from weft.runtime.operations.trees import DeleteTree
from weft.store.sqlite import SqliteStore
from weft.store.sqlite_dialect import driver_of
from weft.tree.attempt import RawResponse
from weft.tree.content import Image, Mixed, Text
from weft.tree.item import Item

CANARY = "zwitschernder Kanarienvogel"
"""In no file and no column once it was deleted."""


@pytest.fixture
def grove(loom):
    return loom


def image(grove, data: bytes) -> Image:
    return Image(ref=grove.put_blob(data), mime_type="image/png", width=1, height=1)


def fill(grove, tree) -> None:
    """The canary in everything that can hold a text."""
    model = grove.add_agent(f"bird {tree.id}", model_ref="t:m")
    tree.describe(title=f"{CANARY} A", description=CANARY, system_context=CANARY)
    tree.describe(title=f"{CANARY} B")
    note = Item(
        id=CANARY, type="note", content=CANARY, title=CANARY, images=(image(grove, f"{CANARY}!".encode()),)
    )
    node = tree.root.say(CANARY, attachments=[note])
    grove.layers.keep(node.prepare(agent=model.id, tool_descriptions=CANARY))
    node.edit(CANARY + "!").annotate(CANARY)
    node.bookmark(CANARY)
    grove.tag(node, CANARY)
    grove.link(node, grove.write_document(f"notes {tree.id}"), CANARY)
    tree.collapse(node, node, CANARY, CANARY)
    node.say("so", author=model.id, response=RawResponse(body=CANARY.encode(), provider=CANARY, model="m"))
    node.say(Mixed((Text(CANARY), image(grove, CANARY.encode()))))
    for number in range(40):
        tree.root.say(f"{CANARY} {number} " * 50).prune()
    text = grove.plant(CANARY, CANARY, mode="buffer")
    text.type(CANARY)
    text.delete(confirm=text.id)


@pytest.mark.long
@covers("op.delete-leaves-no-content", "op.delete-leaves-no-trace", "op.delete-is-hard")
def test_a_deleted_tree_leaves_nothing_in_tables_files_and_log(grove):
    if isinstance(grove.caller.executor.store, SqliteStore):
        # Some builds of SQLite zero what they free; nobody should depend on it.
        driver_of(grove.caller.executor.store._file._connection).execute("PRAGMA secure_delete = OFF")
    kept = grove.plant("Kept")
    for number in range(30):
        kept.say(f"in between {number} " * 30)
    tree = grove.plant("Marie")
    fill(grove, tree)
    for number in range(30):
        kept.say(f"afterwards {number} " * 30)
    assert len(columns_with(grove, CANARY)) > 12
    assert files_with(grove, CANARY)
    assert tree.delete(confirm=tree.id) > 40
    assert columns_with(grove, CANARY) == []
    assert files_with(grove, CANARY) == []
    assert kept.refresh().counters.nodes == 61
    assert kept.say("and on").text == "and on"


@covers("op.delete-leaves-no-trace")
def test_a_deleted_document_leaves_nothing_either(grove):
    document = grove.write_document("Notes", CANARY).save(CANARY + "!")
    document.delete(confirm=document.id)
    assert columns_with(grove, CANARY) == []
    assert files_with(grove, CANARY) == []


@covers("op.delete-takes-its-media")
def test_an_image_goes_with_the_last_tree_that_shows_it(grove):
    first, second = grove.plant("first"), grove.plant("second", mode="buffer")
    shared, own = image(grove, b"shared"), image(grove, b"own")
    first.say(Mixed((shared, own)))
    second.say(Mixed((Text("look"), shared))).edit("gone from sight")
    first.delete(confirm=first.id)
    assert grove.blob(shared.ref) == b"shared"
    with pytest.raises(NotFoundError):
        grove.blob(own.ref)
    second.delete(confirm=second.id)
    with pytest.raises(NotFoundError):
        grove.blob(shared.ref)
    assert grove.caller.executor.store.blobs.leaving() == {}


@covers("op.delete-takes-its-media")
def test_an_image_that_is_stored_again_meanwhile_stays(grove):
    store = grove.caller.executor.store
    tree = grove.plant("Marie")
    picture = image(grove, tree.id.encode())
    tree.say(picture)
    grove.perform(Dying(tree))
    assert grove.put_blob(tree.id.encode()) == picture.ref
    assert finish_deletions(store) == 0
    assert grove.plant("Théo").say(picture).content == picture
    assert store.blobs.leaving() == {}


@covers("op.delete-takes-its-media")
def test_what_a_crash_left_is_swept_by_the_next_delete(grove):
    tree, other = grove.plant("Marie"), grove.plant("Théo")
    picture = image(grove, tree.id.encode())
    tree.say(picture)
    grove.perform(Dying(tree))
    assert grove.blob(picture.ref) == tree.id.encode()
    other.delete(confirm=other.id)
    with pytest.raises(NotFoundError):
        grove.blob(picture.ref)


@covers("op.delete-takes-its-media", "op.failure-changes-nothing")
def test_a_delete_that_fails_after_all_takes_no_image(grove):
    store = grove.caller.executor.store
    tree = grove.plant("Marie")
    picture = image(grove, tree.id.encode())
    tree.say(picture)

    class Stopped(DeleteTree):
        def apply(self, scope):
            super().apply(scope)
            raise StorageError("the disk is full")

    with pytest.raises(StorageError):
        grove.perform(Stopped(tree=tree.id, confirm=tree.id))
    assert store.blobs.leaving() != {}
    assert finish_deletions(store) == 0
    assert tree.path[-1].content == picture
    assert grove.blob(picture.ref) == tree.id.encode()
    assert store.blobs.leaving() == {}


@covers("op.delete-takes-its-media")
def test_groves_that_share_a_folder_take_nothing_from_each_other(postgres_server, tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_BLOBS", str(tmp_path / "blobs"))
    with (
        postgres.database(postgres_server) as one,
        postgres.database(postgres_server) as two,
        weft.open(one) as first,
        weft.open(two) as second,
    ):
        trees = [grove.plant("Marie") for grove in (first, second)]
        for tree, grove in zip(trees, (first, second), strict=True):
            tree.say(image(grove, b"picture"))
        trees[0].delete(confirm=trees[0].id)
        assert second.blob(trees[1].cursor.content.ref) == b"picture"


@pytest.mark.outer
@covers("op.delete-takes-its-media")
def test_images_said_while_trees_that_show_them_are_deleted_are_whole_or_refused(grove):
    store = grove.caller.executor.store
    home = grove.plant("home")
    said: list[Image] = []
    hints: set[str] = set()

    def delete_again_and_again():
        for _ in range(12):
            tree = grove.plant("short-lived")
            tree.say(image(grove, b"contested"))
            tree.delete(confirm=tree.id)

    thread = threading.Thread(target=delete_again_and_again)
    thread.start()
    for _ in range(12):
        try:
            said.append(home.root.say(image(grove, b"contested")).content)
        except NotFoundError as error:
            hints.add(str(error.hint))
    thread.join()
    assert hints <= {Hint(HintKind.STORE_BYTES)}
    for picture in said:
        assert grove.blob(picture.ref) == b"contested"
    assert store.blobs.leaving() == {}


@pytest.mark.outer
def test_a_purge_cut_short_is_taken_up_when_the_grove_is_opened(tmp_path):
    path = tmp_path / "grove.db"
    with weft.open(path) as grove:
        tree = grove.plant(CANARY, CANARY)
        grove.perform(Dying(tree))
    # SQLite's user version, in the file's head, says that there is something to purge.
    assert path.read_bytes()[60:64] == b"\0\0\0\1"
    with weft.open(path) as again:
        again.plant("Théo")
        assert files_with(again, CANARY) == []
    assert path.read_bytes()[60:64] == b"\0\0\0\0"


@pytest.mark.outer
def test_a_reader_in_the_way_delays_the_purge_only(tmp_path):
    with weft.open(tmp_path / "grove.db", background=False) as grove:
        tree, other = grove.plant(CANARY, CANARY), grove.plant("Théo")
        with grove.caller.executor.store.read() as session:
            session.execute(sql("SELECT count(*) FROM nodes"))
            tree.delete(confirm=tree.id)
            assert files_with(grove, CANARY) != []
        # The log is emptied after the first of these, which the second has to wait for.
        other.say("on").say("and on")
        assert files_with(grove, CANARY) == []


class Dying:
    """A delete whose process dies between the commit and what comes after it."""

    def __init__(self, tree):
        self._delete = DeleteTree(tree=tree.id, confirm=tree.id)
        self.verb, self.permission, self.access = "delete", self._delete.permission, self._delete.access

    def apply(self, scope):
        return self._delete.apply(scope)
