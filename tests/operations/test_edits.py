"""Editing, versions, cursors and the working buffer, on both stores."""

import pytest
from tests.covers import covers
from tests.statements import statements

import weft
from weft.errors import ConflictError, InvalidInputError
from weft.tree.edge import Source, SourceRole
from weft.tree.node import Role


@covers(
    "edit.makes-a-new-node",
    "edit.dialogue-makes-a-sibling",
    "edit.dialogue-downstream-stays",
    "version.dialogue-own-position",
    "node.immutable",
)
def test_a_dialogue_edit_branches_and_shares_nothing_downstream(loom):
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    answer = tree.say("Because.")
    edited = asked.edit("Why now?")
    assert edited.value.edited_from == asked.id
    assert asked.siblings == [asked, edited]
    assert edited.children == []
    assert asked.children == [answer]
    assert asked.versions == [asked]
    assert asked.refresh().value == asked.value
    assert tree.cursor == edited


@covers("local-id.edit-adds-a-prime")
def test_each_edit_adds_a_prime(loom):
    tree = loom.plant("Marie")
    asked = tree.say("1")
    second = asked.edit("2")
    third = second.edit("3")
    fourth = asked.edit("4")
    base = asked.local_id
    assert [node.local_id for node in (second, third, fourth)] == [base + "'", base + "''", base + "'''"]
    assert tree.node(base) == asked
    assert tree.node(base.upper() + "''") == third


@covers(
    "edit.buffer-makes-a-version",
    "edit.buffer-version-shares-downstream",
    "version.one-position-in-buffer",
    "version.all-seen-as-primary-sources",
)
def test_a_buffer_edit_is_a_version_that_shares_downstream(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon = tree.say(" upon")
    time = tree.say(" a time")
    edited = upon.edit(" below")
    assert upon.versions == edited.versions == [upon, edited]
    assert upon.children == edited.children == [time]
    assert tree.text == "Once below a time"
    assert time.refresh().value.edge.sources == (
        Source(upon.id, SourceRole.PRIMARY),
        Source(edited.id, SourceRole.PRIMARY),
    )
    assert tree.cursor == time
    assert edited.depth == upon.depth
    assert tree.refresh().counters.branches == 1


@covers("edit.buffer-makes-a-version")
def test_the_root_of_a_buffer_can_be_edited(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    tree.say(" upon")
    tree.root.edit("Twice")
    assert tree.text == "Twice upon"
    assert tree.refresh().value.root == tree.value.root


@pytest.mark.outer
@covers("edit.buffer-constant-cost")
@pytest.mark.parametrize("below", [1, 40])
def test_a_buffer_edit_writes_the_same_few_rows_whatever_hangs_below(loom, below):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon = tree.say(" upon")
    for number in range(below):
        upon.say(f" {number}").say(" more")
    before = _rows(loom)
    upon.edit(" below")
    written = {name: count - before[name] for name, count in _rows(loom).items() if count != before[name]}
    assert written == {"nodes": 1, "texts": 1, "events": 1, "selections": 1, "jobs": 1}


@covers("edit.dialogue-downstream-stays")
def test_a_dialogue_edit_writes_one_node_and_copies_nothing(loom):
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    for number in range(20):
        asked.say(str(number))
    before = _rows(loom)
    asked.edit("Why now?")
    written = {name: count - before[name] for name, count in _rows(loom).items() if count != before[name]}
    assert written == {"nodes": 1, "texts": 1, "events": 1, "jobs": 1}


def _rows(loom):
    from sqlalchemy import func, select

    from weft.store import schema

    with loom.caller.executor.store.read() as session:
        return {
            table.name: session.execute(select(func.count()).select_from(table)).scalar_one()
            for table in schema.metadata.sorted_tables
        }


@covers(
    "cursor.node-and-selections",
    "cursor.selected-version-wins",
    "cursor.latest-unpruned-version-otherwise",
    "cursor.editing-selects-the-new-version",
)
def test_each_agent_sees_the_versions_it_chose(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon = tree.say(" upon")
    time = tree.say(" a time")
    reader = loom.add_agent(f"reader {tree.id}", type="human")
    theirs = loom.acting_as(reader.id)
    below = upon.edit(" below")
    above = theirs.tree(tree.id).node(upon.id).edit(" above")
    assert time.path.text == "Once below a time"
    assert theirs.read.path(tree.id, time.id).text == "Once above a time"
    assert loom.read.cursor(tree.id).selections == {upon.id: below.id}
    third = loom.add_agent(f"third {tree.id}", type="human")
    assert loom.acting_as(third.id).read.path(tree.id, time.id).text == "Once above a time"
    above.prune()
    assert theirs.read.path(tree.id, time.id).text == "Once below a time"
    tree.switch(upon)
    assert time.path.text == "Once upon a time"
    assert [node.text for node in below.path] == ["Once", " below"]


@covers("node.role-from-author-type")
def test_a_corrected_answer_remains_an_answer(loom):
    model = loom.add_agent(f"editor's model {len(loom.agents())}", model_ref="test:m")
    tree = loom.plant("Marie")
    answer = tree.say("Why?").say("Becuase.", author=model.id)
    edited = answer.edit("Because.")
    assert (edited.role, edited.value.author_id) == (Role.ASSISTANT, loom.me.id)
    spans = {span.author_id: edited.text[span.start : span.end] for span in edited.authorship}
    assert spans[model.id] != ""


@covers("authorship.unchanged-characters-stay-the-models", "authorship.changed-characters-are-the-editors")
def test_characters_keep_their_authors_through_edits(loom):
    model = loom.add_agent(f"author {len(loom.agents())}", model_ref="test:m")
    tree = loom.plant("Story", "Once", mode="buffer")
    written = tree.root.say(" upon a time", author=model.id)
    edited = written.edit(" upon a dark time").edit(" upon a dark time!")
    found = [(span.author_id == model.id, edited.text[span.start : span.end]) for span in edited.authorship]
    assert found == [(True, " upon a "), (False, "dark "), (True, "time"), (False, "!")]


@covers("buffer.uncommitted-text-is-durable", "buffer.committed-as-human-node")
def test_typed_text_is_durable_and_committed_as_a_node(address):
    with weft.open(address) as grove:
        tree = grove.plant("Story", "Once", mode="buffer")
        tree.type(" upon")
        tree.type(" upon a time")
    with weft.open(address) as grove:
        tree = grove.trees()[0]
        assert (tree.working_buffer, tree.text) == (" upon a time", "Once upon a time")
        assert tree.refresh().counters.nodes == 1
        node = tree.commit()
        assert (node.text, node.role, tree.working_buffer) == (" upon a time", Role.USER, "")
        assert tree.commit() is None


@covers("buffer.committed-by-edit", "buffer.committed-by-switching-to-a-sibling")
def test_editing_or_switching_commits_what_was_typed(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    one = tree.say(" one")
    two = tree.root.say(" two")
    tree.type(" and on")
    tree.switch(one)
    assert [child.text for child in two.children] == [" and on"]
    assert tree.working_buffer == ""
    tree.type(" more")
    tree.root.edit("Twice")
    assert tree.text == "Twice one more"
    tree.type(" end")
    tree.say(".")
    assert tree.text == "Twice one more end."


@covers("buffer.deleting-across-nodes")
def test_a_selection_across_nodes_is_deleted_by_editing_each(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon, time = tree.say(" upon"), tree.say(" a time")
    tree.type(" there was")
    edited = tree.erase(2, 12)
    assert tree.text == "Ontime there was"
    assert [node.value.edited_from for node in edited] == [tree.value.root, upon.id, time.id]
    assert [event.kind for event in loom.read.events(tree.id)][-1] == "erase"
    with pytest.raises(InvalidInputError, match="is not a range"):
        tree.erase(5, 99)


@covers("buffer.committed-as-human-node")
def test_typed_text_stays_where_it_was_typed(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    one, two = tree.root.say(" one"), tree.root.say(" two three")
    tree.switch(one)
    tree.type(" typed after one")
    two.say(" four")
    assert [child.text for child in one.children] == [" typed after one"]
    tree.switch(two)
    tree.type(" typed after two")
    two.split(" three")
    assert [child.text for child in two.children] == [" four", " typed after two"]
    assert tree.working_buffer == ""


def test_text_typed_at_a_pruned_place_lands_at_the_nearest_live_one(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon = tree.say(" upon")
    tree.type(" a time")
    other = loom.add_agent(f"pruner {tree.id}", type="human")
    loom.acting_as(other.id).tree(tree.id).node(upon.id).prune()
    node = tree.commit()
    assert [each.text for each in node.path] == ["Once", " a time"]


def test_who_may_not_write_keeps_its_text_when_it_looks_around(loom):
    from weft.runtime.operations.agents import ChangeAgent

    tree = loom.plant("Story", "Once", mode="buffer")
    tree.root.say(" upon")
    other = loom.add_agent(f"looker {tree.id}", type="human")
    theirs = loom.acting_as(other.id).tree(tree.id)
    theirs.type(" typed")
    loom.perform(ChangeAgent(agent=other.id, permissions=["loom_aware"]))
    nodes = tree.refresh().counters.nodes
    theirs.switch("leaf")
    assert (tree.refresh().counters.nodes, theirs.working_buffer) == (nodes, " typed")


def test_pruning_the_last_version_under_ones_feet_steps_out(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon = tree.say(" upon")
    below = upon.edit(" below")
    upon.switch()
    upon.prune()
    below.prune()
    assert tree.cursor == tree.root


@pytest.mark.parametrize("edits", [2, 30])
def test_an_edit_asks_as_little_however_many_versions_there_are(loom, edits):
    tree = loom.plant("Story", "Once", mode="buffer")
    node = tree.say(" upon")
    for number in range(edits):
        node.edit(f" {number}")
    if hasattr(loom.caller.executor.store, "_file"):
        loom.caller.executor.store._file.forget()
    with statements(loom.caller.executor.store) as said:
        node.edit(" last")
    assert len(said) <= 24


def test_only_buffers_have_a_working_buffer(loom):
    tree = loom.plant("Marie")
    with pytest.raises(InvalidInputError, match="only buffer trees"):
        tree.type("hm")
    with pytest.raises(InvalidInputError, match="only a buffer is one text"):
        tree.erase(0, 1)


@covers("op.prune-hides-the-subtree", "op.restore-exactly-one-prune")
def test_a_prune_hides_all_below_and_restore_brings_back_exactly_that(loom):
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    one, two = asked.say("1"), asked.say("2")
    deep = two.say("2.1")
    deep.annotate("note")
    assert deep.prune() == 2
    assert asked.prune() == 3
    assert (tree.refresh().counters.nodes, tree.refresh().counters.branches) == (1, 1)
    assert tree.root.children == []
    assert tree.cursor == tree.root
    with pytest.raises(ConflictError, match="which is pruned too") as caught:
        deep.restore()
    assert two.local_id in caught.value.hint
    assert one.restore() == 3
    assert asked.children == [one, two]
    assert two.children == []
    assert deep.restore() == 2
    assert two.children == [deep]
    with pytest.raises(ConflictError, match="is not pruned"):
        deep.restore()


@covers("op.prune-one-version")
def test_pruning_one_of_several_versions_hides_that_one(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon = tree.say(" upon")
    time = tree.say(" a time")
    below = upon.edit(" below")
    assert below.prune() == 1
    assert tree.text == "Once upon a time"
    assert upon.prune() == 2
    assert tree.text == "Once"
    assert time.refresh().metadata.pruned
    assert below.restore() == 1
    assert upon.restore() == 2


@covers("op.prune-hides-the-subtree")
def test_a_prune_is_one_update_of_nodes(loom):
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    for number in range(5):
        asked.say(str(number)).say("more")
    with statements(loom.caller.executor.store) as said:
        assert asked.prune() == 11
    assert sum(statement.startswith("UPDATE nodes") for statement in said) == 1


def test_the_whole_tree_is_not_pruned_by_its_root(loom):
    tree = loom.plant("Marie")
    with pytest.raises(InvalidInputError, match="would hide the whole tree") as caught:
        tree.root.prune()
    assert "archive" in caught.value.hint


@covers("cursor.seen-as-presence")
def test_others_see_where_one_stands(loom):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    other = loom.add_agent(f"visitor {tree.id}", type="human")
    loom.acting_as(other.id).tree(tree.id).switch(tree.value.root)
    found = {agent.name: place.id for agent, place, _ in loom.read.presence(tree.id)}
    assert found == {other.name: tree.value.root, "human": node.id}
