"""Groups on PostgreSQL: callers share commits, and what other processes do is seen at once."""

import threading

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from tests import postgres
from tests.covers import covers
from tests.soundness import check_sound

import weft
from weft.errors import ConflictError, NotFoundError, PermissionDeniedError, StorageError, UnavailableError
from weft.runtime.operations.agents import ChangeAgent
from weft.store import postgres_writer


@pytest.fixture
def address(postgres_server):
    with postgres.database(postgres_server) as made:
        yield made


@pytest.fixture
def grove(address):
    with weft.open(address, background=False) as opened:
        yield opened


@pytest.fixture(autouse=True)
def one_lane(monkeypatch):
    """So that the writes of a test meet."""
    monkeypatch.setattr(postgres_writer, "_LANES", 1)


def in_one_group(grove, *actions):
    """Run actions of several threads in one commit: they queue while the writer is held."""
    outcomes: list[object] = [None] * len(actions)
    groups = grove.caller.executor.store._writer._lanes[0].groups

    def run(number, action):
        try:
            outcomes[number] = action()
        except Exception as error:  # noqa: BLE001 - the outcome is looked at
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(actions)]
    with groups._turn:
        for number, thread in enumerate(threads):
            thread.start()
            while len(groups._jobs) < number + 1:
                pass
    for thread in threads:
        thread.join()
    return outcomes


def commits_of(grove):
    commits: list[object] = []
    event.listen(grove.caller.executor.store._engine, "commit", commits.append)
    return commits


@covers("postgres.group-commit")
def test_writers_of_one_process_share_commits(grove):
    trees = [grove.plant(str(number)) for number in range(8)]
    commits = commits_of(grove)
    nodes = in_one_group(grove, *(lambda tree=tree: tree.say("x") for tree in trees))
    assert len(commits) <= 2
    assert [tree.cursor for tree in trees] == nodes
    check_sound(grove)


@covers("postgres.group-commit")
def test_one_refusal_in_a_group_leaves_the_others_whole(grove):
    one, two = grove.plant("One"), grove.plant("Two")
    node = one.say("pruned")
    node.prune()
    refused, written = in_one_group(grove, lambda: node.say("never"), lambda: two.say("kept"))
    assert isinstance(refused, ConflictError)
    assert written.text == "kept"
    check_sound(grove)


@covers("postgres.group-commit")
def test_a_group_that_fails_is_written_by_its_callers_one_by_one(grove, address):
    one, two = grove.plant("One"), grove.plant("Two")
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "IF NEW.content = 'never' THEN RAISE SQLSTATE '53100'; END IF; RETURN NEW; END $$"
        )
        admin.execute("CREATE TRIGGER fail BEFORE INSERT ON texts FOR EACH ROW EXECUTE FUNCTION fail()")
    failed, written = in_one_group(grove, lambda: one.say("never"), lambda: two.say("kept"))
    assert isinstance(failed, StorageError)
    assert written.text == "kept"
    assert one.refresh().counters.nodes == 1
    check_sound(grove)


@covers("postgres.group-commit")
def test_a_tree_that_another_process_is_writing_holds_up_no_other_tree(grove, address):
    busy, free = grove.plant("Busy"), grove.plant("Free")
    said = threading.Event()
    with psycopg.connect(address) as other:
        other.execute("SELECT key FROM trees WHERE ulid = %s FOR UPDATE", [busy.id])
        waiting = threading.Thread(target=lambda: (busy.say("later"), said.set()))
        waiting.start()
        for number in range(3):
            assert free.say(str(number)).text == str(number)
        assert not said.is_set()
    waiting.join()
    assert busy.path.text == "later"


@covers("postgres.group-commit")
def test_what_another_process_changed_is_seen_before_anything_is_written(grove, address):
    tree = grove.plant("Shared")
    agent = grove.add_agent(
        "Helper", type="model", model_ref="local:any", permissions=["loom_aware", "loom_write"]
    )
    helper = grove.acting_as("Helper")
    node = tree.say("here")
    helper.tree(tree.id).say("by the helper")
    with weft.open(address, background=False) as other:
        theirs = other.tree(tree.id)
        for number in range(3):
            assert theirs.say(f"theirs {number}").value.depth == 2 * number + 2
            assert tree.say(f"ours {number}").value.depth == 2 * number + 3
        theirs.node(node.id).prune()
        with pytest.raises(ConflictError, match="pruned"):
            node.say("never")
        theirs.node(node.id).restore()
        node.say("again")
        other.perform(ChangeAgent(agent=agent.id, permissions=["loom_aware"]))
        with pytest.raises(PermissionDeniedError):
            helper.tree(tree.id).say("never")
        other.tree(tree.id).delete(confirm=tree.id)
        with pytest.raises(NotFoundError):
            tree.say("never")
    check_sound(grove)


@covers("postgres.commit-looked-up")
@pytest.mark.parametrize("kept", [True, False])
def test_a_group_whose_commit_was_not_answered_is_looked_up_as_a_whole(grove, kept):
    trees = [grove.plant("One"), grove.plant("Two")]
    lost: list[object] = []

    def lose_the_answer(connection):
        if not lost:
            lost.append(True)
            driver = connection.connection.driver_connection
            _ = driver.commit() if kept else driver.rollback()
            raise OperationalError(
                "COMMIT", {}, psycopg.OperationalError("gone"), connection_invalidated=True
            )

    event.listen(grove.caller.executor.store._engine, "commit", lose_the_answer)
    outcomes = in_one_group(grove, *(lambda tree=tree: tree.say("x") for tree in trees))
    assert [isinstance(outcome, UnavailableError) for outcome in outcomes] == [not kept, not kept]
    assert [tree.refresh().counters.nodes for tree in trees] == [1 + kept, 1 + kept]
    assert [tree.say("y").text for tree in trees] == ["y", "y"]
    check_sound(grove)


def test_a_grove_that_is_dropped_ends_its_writers(address):
    before = threading.active_count()
    opened = weft.open(address, background=False)
    opened.plant("Marie").say("x")
    writers = [thread for thread in threading.enumerate() if thread.name == "weft-writer"]
    assert writers
    del opened
    for thread in writers:
        thread.join(10)
    assert threading.active_count() <= before
