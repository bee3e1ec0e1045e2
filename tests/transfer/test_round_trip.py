"""Out of one grove, into another, and out again: the same bytes."""

import io
import itertools
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import select
from tests.covers import covers
from tests.properties.test_operations import PROVE, play
from tests.properties.workshop import open_workshop
from tests.soundness import check_sound
from tests.transfer.conftest import Places
from tests.transfer.rich import fill

import weft
from weft.store import schema
from weft.tree.tree import Mode

BOTH = ("sqlite", "postgres")
KEYS = (
    "key",
    "position",
    "parent",
    "jump",
    "written_after",
    "edited_from",
    "near_attachments",
    "near_instruction",
)
OUTSIDE = {"tree", "author", "hash"}


def exported(grove: weft.Grove, trees: list[str] | None = None) -> bytes:
    file = io.BytesIO()
    grove.export(file, trees)
    return file.getvalue()


def derived(grove: weft.Grove) -> dict[tuple[str, str], dict[str, object]]:
    """Every column of every node, with keys as ids, and the trees' counters."""
    nodes, trees = schema.nodes, schema.trees
    found: dict[tuple[str, str], dict[str, object]] = {}
    with grove.read.store.read() as session:
        for tree in session.execute(trees.select()):
            rows = session.execute(nodes.select().where(nodes.c.tree == tree.key)).all()
            names = {row.key: row.ulid for row in rows}
            found[tree.ulid, ""] = {"counters": (tree.nodes, tree.branches, tree.depth, tree.root_ulid)}
            for row in rows:
                values = {name: row._mapping[name] for name in row._mapping if name not in OUTSIDE}
                found[tree.ulid, row.ulid] = values | {name: names.get(values[name]) for name in KEYS}
    return found


def own_events(grove: weft.Grove) -> list[str]:
    events = schema.events
    with grove.read.store.read() as session:
        kinds = select(events.c.kind).where(events.c.tree == 0).order_by(events.c.ordinal)
        return list(session.execute(kinds).scalars())


def move(file: bytes, place: str) -> weft.Grove:
    grove = weft.open(place)
    grove.import_(io.BytesIO(file))
    return grove


@covers("export.weft-json", "cli.upkeep")
@pytest.mark.parametrize(("here", "there"), list(itertools.product(BOTH, BOTH)))
@pytest.mark.long
def test_a_whole_grove_comes_out_as_it_went_in(places: Places, here: str, there: str):
    with weft.open(places(here)) as grove:
        fill(grove)
        first = exported(grove)
        with move(first, places(there)) as other:
            assert exported(other) == first
            assert derived(other) == derived(grove)
            assert other.me == grove.me
            check_sound(other)
            # It goes on as the same grove would: chains, counters, numbers.
            other.plant("Another", "root").say("more")
            other.tree("Marie").say("more")
            other.tag(other.tree("Marie"), "new")
            check_sound(other)


@pytest.mark.parametrize(("here", "there"), [BOTH, BOTH[::-1]])
def test_some_trees_come_out_as_they_went_in(places: Places, here: str, there: str):
    with weft.open(places(here)) as grove:
        fill(grove)
        trees = ["Marie", "Story"]
        first = exported(grove, trees)
        with move(first, places(there)) as other:
            assert exported(other, trees) == first
            check_sound(other)
            assert {tree.title for tree in other.trees(archived=True)} == set(trees)
            assert own_events(other) == ["found", "import", "import"]


@pytest.mark.parametrize("there", BOTH)
@pytest.mark.long
def test_a_tree_is_imported_into_a_grove_with_a_history(places: Places, there: str):
    with weft.open(places("sqlite")) as grove, weft.open(places(there)) as other:
        fill(grove)
        fill_other(other)
        tree = exported(grove, ["Marie"])
        imported = other.import_(io.BytesIO(tree))
        assert imported.nodes == grove.tree("Marie").counters.nodes + 3
        assert any("human" in note for note in imported.notes)
        check_sound(other)
        assert {tag.label for tag in other.read.tags()} == {"mine", "good"}
        other.tag(other.tree("Marie"), "after")
        whole = other.import_(io.BytesIO(exported(grove, ["Story", "Old"])))
        assert len(whole.trees) == 2
        # The link between the two files' trees was in neither file; verifying says so.
        (lost,) = other.verify().findings
        assert str(lost).startswith("link ")
        assert "missing" in str(lost)


def fill_other(grove: weft.Grove) -> None:
    mine = grove.plant("Mine", "root")
    grove.tag(mine, "mine")
    grove.add_agent("Muse", model_ref="local:other")


@pytest.mark.long
def test_a_whole_grove_joins_another_without_its_own_history(places: Places):
    with weft.open(places("sqlite")) as grove, weft.open(places("sqlite")) as other:
        fill(grove)
        fill_other(other)
        imported = other.import_(io.BytesIO(exported(grove)))
        assert any("history of its own" in note for note in imported.notes)
        assert len(other.trees(archived=True)) == 4
        assert other.document("Notes").revision == 2
        assert own_events(other).count("import") == 5
        check_sound(other)


@pytest.mark.parametrize("there", BOTH)
def test_undone_operations_are_imported_as_undone(places: Places, there: str):
    with weft.open(places("sqlite")) as grove, weft.open(places(there)) as other:
        grove.create_project("Novel", system_prompt="first")
        grove.undo()
        grove.create_project("novel", system_prompt="second")
        grove.plant("Gone")
        grove.write_document("Lost")
        grove.undo(2)
        grove.plant("Here", project="Novel")
        with move(exported(grove), places(there)) as again:
            assert exported(again) == exported(grove)
            check_sound(again)
        fill_other(other)
        other.import_(io.BytesIO(exported(grove)))
        assert {tree.title for tree in other.trees(archived=True)} == {"Here", "Mine"}
        assert [project.system_prompt for project in other.projects()] == ["second"]
        check_sound(other)


@pytest.mark.parametrize("there", BOTH)
def test_a_project_of_the_same_name_takes_the_files_place_and_the_tree_says_so(places: Places, there: str):
    with weft.open(places("sqlite")) as grove, weft.open(places(there)) as other:
        grove.create_project("Novel", system_prompt="theirs")
        tree = grove.plant("Marie", project="Novel")
        ours = other.create_project("NOVEL", system_prompt="ours")
        imported = other.import_(io.BytesIO(exported(grove, ["Marie"])))
        assert any("'NOVEL' is there already" in note for note in imported.notes)
        assert [each.id for each in ours.trees] == [tree.id]
        assert [event.kind for event in other.read.events(tree.id)] == ["plant", "assign"]
        check_sound(other)


def round_trip(address: str, places: Places, how: settings) -> None:
    with open_workshop(address) as workshop:
        for mode in Mode:
            play(workshop, mode, "everything", how)
        first = exported(workshop.grove)
        for there in BOTH:
            with move(first, places(there)) as other:
                assert exported(other) == first
                assert derived(other) == derived(workshop.grove)
                check_sound(other)


@covers("export.weft-json")
@pytest.mark.long
def test_random_groves_come_out_as_they_went_in(places: Places):
    round_trip(places("sqlite"), places, settings(max_examples=1, stateful_step_count=20))


@pytest.mark.long
def test_many_random_groves_come_out_as_they_went_in(address: str, places: Places):
    round_trip(address, places, settings(max_examples=15 if PROVE else 3, stateful_step_count=25))


@pytest.mark.long
def test_a_compressed_file_holds_the_same(tmp_path: Path):
    with weft.open(tmp_path / "a.db") as grove, weft.open(tmp_path / "b.db") as other:
        fill(grove)
        grove.export(tmp_path / "all.json.gz")
        grove.export(tmp_path / "again.json.gz")
        assert (tmp_path / "all.json.gz").read_bytes() == (tmp_path / "again.json.gz").read_bytes()
        other.import_(tmp_path / "all.json.gz")
        assert exported(other) == exported(grove)


@covers("export.no-secrets")
def test_users_and_tokens_are_never_exported(tmp_path: Path):
    with weft.open(tmp_path / "a.db") as grove:
        fill(grove)

        def admit(transaction: weft.store.transaction.Transaction) -> None:
            user = transaction.insert(
                schema.users,
                {"ulid": "0" * 26, "name": "canary-user", "agent": 1, "created_at": 1, "archived_at": None},
            )
            token = {
                "ulid": "1" * 26,
                "user": user,
                "hash": b"canary-hash-32-bytes-canary-hash",
                "label": "c",
            }
            token |= {"service": False, "created_at": 1, "expires_at": None, "revoked_at": None}
            transaction.insert(schema.tokens, token)

        grove.read.store.write(admit)
        file = exported(grove)
        assert b"canary" not in file
        assert b"canary-hash".hex().encode() not in file


def test_a_missing_blob_is_reported_and_stops_nothing(tmp_path: Path):
    with weft.open(tmp_path / "a.db") as grove, weft.open(tmp_path / "b.db") as other:
        fill(grove)
        ref = next(iter(grove.read.store.blobs.all()))[0]
        grove.read.store.blobs.path(ref).unlink()
        done = grove.export(tmp_path / "all.json")
        assert done.notes == ("1 blobs are missing from the grove and from the file",)
        imported = other.import_(tmp_path / "all.json")
        assert imported.notes == ("1 blobs were missing when the file was made",)
        with other.read.store.read() as session:
            assert session.execute(select(schema.nodes.c.key)).first() is not None
