"""Trees and nodes as people meet them, on both stores."""

import itertools
import re

import pytest
from tests.covers import covers

import weft
from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.grove.grove import open_grove
from weft.ids import is_ulid
from weft.runtime.operations.nodes import Append, AppendHistory
from weft.tree.agent import AgentType
from weft.tree.edge import EdgeType, Source, SourceRole
from weft.tree.node import Role, Status
from weft.tree.tree import Mode


@covers("grove.created-on-first-use", "grove.starts-with-human-owner", "grove.one-database")
def test_a_grove_is_made_on_first_use_with_one_human_owner(address):
    with weft.open(address) as grove:
        (owner,) = grove.agents()
        assert (owner.name, owner.type) == ("human", AgentType.HUMAN)
        assert grove.trees() == []
        tree = grove.plant("Marie")
    with weft.open(address) as again:
        assert [found.id for found in again.trees()] == [tree.id]
        assert again.me == owner


@covers("tree.title-from-first-words", "tree.title-untitled", "tree.root-may-be-empty", "tree.id-is-a-ulid")
def test_a_title_comes_from_the_roots_first_words(loom):
    assert loom.plant().title == "Untitled"
    assert loom.plant(text="Once upon a time").title == "Once upon a time"
    assert loom.plant(text="one two three four five six seven eight nine").title == (
        "one two three four five six seven eight…"
    )
    assert is_ulid(loom.plant().id)


@covers("tree.two-modes", "tree.buffer-system-context-off-by-default", "tree.described-fields")
def test_a_tree_keeps_what_was_said_about_it(loom):
    tree = loom.plant("Marie", mode="buffer", system_context="Be brief.", preferences={"tokenBuffer": 5})
    loom.create_project("Novels").add(tree)
    assert tree.refresh().value.project == "Novels"
    assert tree.value.summary is None
    value = tree.refresh().value
    assert (value.title, value.mode, value.system_context) == ("Marie", Mode.BUFFER, "Be brief.")
    assert value.buffer_mode_system_context is False
    assert value.preferences == {"tokenBuffer": 5}
    changed = tree.describe(title="Théo", description="a study").value
    assert (changed.title, changed.description, changed.system_context) == ("Théo", "a study", "Be brief.")
    assert changed.created_at < changed.updated_at
    assert changed.archived_at is None
    tree.archive()
    assert tree.refresh().value.archived_at >= changed.updated_at
    with pytest.raises(InvalidInputError, match="'prose' is not a mode"):
        loom.plant(mode="prose")


@covers("tree.mode-fixed-at-creation")
def test_no_operation_changes_a_mode():
    from weft.runtime.operations.trees import Describe

    assert "mode" not in Describe.__dataclass_fields__


@covers(
    "op.append",
    "edge.single-primary-by-default",
    "edge.one-incoming",
    "edge.id-is-target-id",
    "node.author-type-copied-at-creation",
    "node.role-from-author-type",
    "path.root-to-node",
)
def test_saying_something_continues_from_where_one_stands(loom):
    tree = loom.plant("Marie")
    first = tree.say("Why does she hesitate?")
    second = tree.say("And then?")
    assert [node.text for node in second.path] == ["", "Why does she hesitate?", "And then?"]
    edge = second.value.edge
    assert (edge.id, edge.type, edge.sources) == (
        second.id,
        EdgeType.CONTINUATION,
        (Source(first.id, SourceRole.PRIMARY),),
    )
    assert (second.value.author_type, second.role) == (AgentType.HUMAN, Role.USER)
    assert tree.cursor == second
    assert loom.node(second.id).value == second.value


@covers("op.append", "path.siblings-and-leaves", "path.branch-point")
def test_a_fork_is_a_second_continuation(loom):
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    one, two = asked.say("Because."), asked.say("Who knows?")
    assert asked.children == one.siblings == [one, two]
    assert tree.leaves == [one, two]
    assert tree.branch_points == [asked]
    assert tree.refresh().counters == (counters := tree.refresh().counters)
    assert (counters.nodes, counters.branches, counters.depth) == (4, 2, 2)


@covers("path.current-turn")
def test_the_current_turn_is_the_trailing_run_of_human_nodes(loom):
    model = _model(loom, "turn")
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    asked.say("Because.", author=model.name)
    tree.say("Hm.")
    last = tree.say("Really?")
    assert [node.text for node in last.path.turn] == ["Hm.", "Really?"]


@covers("node.system-and-tool-roles-from-histories", "node.status-complete-or-interrupted")
def test_histories_bring_their_own_roles_and_interruptions(loom):
    tree = loom.plant("imported")
    for role in Role:
        node = loom.perform(
            AppendHistory(tree=tree.id, content="You are Marie.", role=role, status=Status.INTERRUPTED)
        )
        again = tree.node(node.id)
        assert (again.role, again.value.status) == (role, Status.INTERRUPTED)
    assert {event.kind for event in loom.read.events(tree.id)} == {"plant", "append"}


@covers("node.system-and-tool-roles-from-histories")
@pytest.mark.parametrize("role", [Role.SYSTEM, Role.TOOL, Role.ASSISTANT])
def test_nobody_speaks_in_a_role_that_is_not_theirs(loom, role):
    model = _model(loom, "cast")
    tree = loom.plant("Marie")
    author = model.id if role is not Role.ASSISTANT else None
    for action in (
        lambda: tree.root.say("You are free.", role=role),
        lambda: tree.root.say("You are free.", role=role, author=author),
        lambda: loom.perform(Append(tree=tree.id, content="You are free.", role=role)),
    ):
        with pytest.raises(InvalidInputError, match=f"not {role}") as caught:
            action()
        assert "histories" in caught.value.hint
    assert tree.refresh().counters.nodes == 1
    assert tree.root.say("Why?", role=Role.USER).role is Role.USER
    assert tree.root.say("So.", role=Role.ASSISTANT, author=model.id).role is Role.ASSISTANT


@covers("edge.ordered-sources-with-roles", "edge.first-primary-is-parent")
def test_extra_sources_keep_their_order_and_roles(loom):
    tree = loom.plant("Marie")
    base = tree.say("base")
    picture, rule = base.say("a picture"), base.say("be brief")
    node = base.say("go on", context=[picture], instructions=[rule])
    wanted = (
        Source(base.id, SourceRole.PRIMARY),
        Source(picture.id, SourceRole.CONTEXT),
        Source(rule.id, SourceRole.INSTRUCTION),
    )
    assert node.value.edge.sources == wanted
    assert node.refresh().value == node.value
    assert [each.text for each in node.path] == ["", "base", "go on"]


@covers("op.merge", "merge.two-positions")
def test_a_merge_comes_from_several_places(loom):
    tree = loom.plant("Marie")
    one, two = tree.root.say("one"), tree.root.say("two")
    merged = tree.merge([two, one], "both")
    assert [source.node for source in merged.value.edge.sources] == [two.id, one.id]
    assert [each.text for each in merged.path] == ["", "two", "both"]
    assert merged.refresh().value == merged.value
    with pytest.raises(InvalidInputError, match="two different places"):
        tree.merge([one], "alone")
    with pytest.raises(InvalidInputError, match="names a place twice"):
        tree.merge([one, two, one], "again")


@covers("op.annotate", "local-id.annotations-alike", "edge.two-types")
def test_an_annotation_hangs_beside_the_conversation(loom):
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    note = asked.annotate("check this")
    assert note.value.is_annotation
    assert re.fullmatch(r"[0-9a-z]{4}", note.local_id)
    assert asked.annotations == [note]
    assert asked.children == []
    assert tree.cursor == asked
    assert tree.refresh().counters.branches == 1
    with pytest.raises(InvalidInputError, match="is an annotation") as caught:
        note.say("no")
    assert "annotate it" in caught.value.hint
    assert note.annotate("a note on a note").value.is_annotation


@covers(
    "op.exclude-and-include",
    "op.bookmark-and-unbookmark",
    "node.metadata-fields",
    "node.metadata-keeps-identity-and-hash",
)
def test_metadata_changes_and_identity_stays(loom):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    marked = node.exclude().bookmark("turning point")
    assert (marked.metadata.excluded, marked.metadata.bookmarked) == (True, True)
    assert marked.metadata.bookmark_label == "turning point"
    assert (marked.id, marked.value.content_hash) == (node.id, node.value.content_hash)
    plain = marked.include().unbookmark()
    assert plain.value == node.value


def test_an_operation_that_changes_nothing_records_nothing(loom):
    tree = loom.plant("Marie")
    node = tree.say("Why?").exclude()
    before = len(loom.read.events(tree.id))
    node.exclude()
    node.unbookmark()
    assert len(loom.read.events(tree.id)) == before


@covers("op.split", "op.join", "op.split-and-join-keep-the-original")
@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_split_and_join_branch_beside_the_original(loom, mode):
    tree = loom.plant("Marie", "root", mode=mode)
    original = tree.say("one two three")
    below = tree.say("downstream")
    first, second = original.split("two")
    assert (first.text, second.text) == ("one ", "two three")
    assert (first.local_id, second.local_id) == (original.local_id + "'", original.local_id + "''")
    assert [each.id for each in second.path][1:] == [first.id, second.id]
    assert original.children == [below]
    assert tree.cursor == second
    joined = first.join()
    assert joined.text == "one two three"
    assert first.children == [second]
    assert set(tree.root.children) == {original, first, joined}


@pytest.mark.parametrize(
    ("at", "error"),
    [
        (0, InvalidInputError),
        (3, InvalidInputError),
        ("zz", NotFoundError),
        ("a", InvalidInputError),
        ("", NotFoundError),
    ],
)
def test_a_split_needs_one_place_with_text_on_both_sides(loom, at, error):
    tree = loom.plant("Marie")
    with pytest.raises(error):
        tree.say("aba").split(at)
    assert tree.refresh().counters.nodes == 2


def test_joining_asks_which_when_several_follow(loom):
    tree = loom.plant("Marie")
    base = tree.say("base")
    one, two = base.say(" one"), base.say(" two")
    tree.switch(base)
    with pytest.raises(InvalidInputError, match="several nodes follow") as caught:
        base.join()
    assert one.local_id in caught.value.hint
    assert base.join(two).text == "base two"
    with pytest.raises(NotFoundError, match="nothing follows"):
        two.join()


@covers("op.collapse-and-expand")
def test_a_range_of_a_path_folds_under_a_name(loom):
    tree = loom.plant("Marie")
    one, two, three = tree.say("1"), tree.say("2"), tree.say("3")
    group = tree.collapse(one, two, "beginnings", "how it began")
    assert tree.groups == [group]
    tree.expand("beginnings")
    assert tree.groups[0].expanded
    assert not tree.collapse(one, two, "beginnings").expanded
    with pytest.raises(InvalidInputError, match="is not on the path"):
        tree.collapse(three, one, "backwards")
    with pytest.raises(ConflictError, match="folds another range"):
        tree.collapse(one, three, "beginnings")
    tree.uncollapse("beginnings")
    assert tree.groups == []
    with pytest.raises(NotFoundError):
        tree.expand("beginnings")


@covers("op.switch-moves-the-cursor", "cursor.durable")
def test_one_walks_by_steps(address):
    with weft.open(address) as grove:
        tree = grove.plant("Marie")
        asked = tree.say("Why?")
        one = asked.say("1")
        deep = one.say("1.1")
        two = asked.say("2")
        assert tree.switch("previous") == one
        assert tree.switch("leaf") == deep
        assert tree.switch("parent") == one
        assert tree.switch("next") == two
        with pytest.raises(NotFoundError, match="has no next sibling"):
            tree.switch("next")
        assert tree.switch(asked.local_id) == asked
        assert tree.switch("child") == one
    with weft.open(address) as again:
        assert again.tree(tree.id).cursor == one


@covers("op.switch-moves-the-cursor")
def test_one_walks_on_from_a_node_that_was_pruned_underfoot(loom):
    tree = loom.plant("Marie")
    one, two, three, four = (tree.root.say(str(number)) for number in range(4))
    other = loom.add_agent(f"walker {tree.id}", type="human")
    theirs = loom.acting_as(other.id).tree(tree.id)
    theirs.switch(two)
    two.prune()
    three.prune()
    assert theirs.cursor == two
    assert theirs.switch("next") == four
    theirs.switch(one)
    one.prune()
    with pytest.raises(NotFoundError, match="has no previous sibling"):
        theirs.switch("previous")
    assert theirs.switch("next") == four
    notes = [four.annotate("a"), four.annotate("b")]
    tree.switch(notes[0])
    assert tree.switch("next") == notes[1]


@covers("outline.counts-what-is-not-drawn")
@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_an_outline_says_how_much_it_leaves_out(loom, mode):
    tree = loom.plant("Marie", "root", mode=mode)
    leaf, branch = tree.root.say("leaf"), tree.root.say("branch")
    for number in range(3):
        branch.say(str(number)).say("end").edit("other end")
    branch.say("pruned").say("gone")
    branch.children[-1].prune()
    branch.annotate("a note")
    full = {row.node.id: row for row in loom.read.outline(tree.id)}
    assert {row.hidden_below for row in full.values()} == {0}
    assert full[branch.id].annotations == 1
    drawn = {row.node.id: row for row in loom.read.outline(tree.id, limit=2)}
    assert drawn.keys() == {tree.root.id, leaf.id, branch.id}
    assert (drawn[leaf.id].hidden_below, drawn[tree.root.id].hidden_below) == (0, 0)
    assert drawn[branch.id].hidden_below == len(full) - len(drawn) == (9 if mode == "dialogue" else 6)
    assert drawn[branch.id].annotations == 1


@covers("op.archive-is-soft")
def test_an_archived_tree_is_put_away_and_can_come_back(loom):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    tree.archive()
    assert tree not in loom.trees()
    assert tree in loom.trees(archived=True)
    assert loom.tree(tree.id).node(node.id) == node
    with pytest.raises(ConflictError, match="archived"):
        tree.say("more")
    tree.unarchive()
    tree.say("more")


@covers("op.delete-is-hard")
def test_deleting_asks_for_the_trees_id_and_leaves_no_row(fresh_loom):
    from weft.store import schema

    grove = fresh_loom
    tree, other = grove.plant("Marie"), grove.plant("Théo")
    asked = tree.say("Why?")
    grove.tag(asked, "x")
    grove.link(asked, other)
    asked.annotate("hm").bookmark()
    with pytest.raises(InvalidInputError, match="cannot be undone"):
        tree.delete(confirm="yes")
    assert tree.delete(confirm=tree.id) == 3
    with pytest.raises(NotFoundError):
        grove.tree(tree.id)
    assert grove.links(other) == []
    with grove.caller.executor.store.read() as session:
        for table in schema.metadata.sorted_tables:
            if "tree" in table.c and table.name != "memberships":
                kept = {row.tree for row in session.execute(table.select())}
                assert len(kept - {0}) <= 1, table.name


def test_event_numbers_only_grow(fresh_loom):
    from weft.store import schema

    def numbers():
        with fresh_loom.caller.executor.store.read() as session:
            return [row.number for row in session.execute(schema.events.select())]

    keep = fresh_loom.plant("Théo")
    tree = fresh_loom.plant("Marie")
    for number in range(5):
        tree.say(str(number))
    before = max(numbers())
    tree.delete(confirm=tree.id)
    assert max(numbers()) > before
    last = max(numbers())
    keep.say("on")
    assert max(numbers()) > last


def _model(loom, name, permissions=()):
    return loom.add_agent(f"{name} {len(loom.agents())}", model_ref="test:model", permissions=permissions)


@pytest.mark.outer
@covers("local-id.unique-in-tree", "local-id.lengthened-on-collision")
def test_local_ids_that_collide_are_lengthened_and_name_one_node_each(address):
    drawn = itertools.count()

    def nearly_alike(count):
        return next(drawn).to_bytes(5, "big") + bytes(count - 5)

    with open_grove(address, entropy=nearly_alike) as grove:
        tree = grove.plant("Marie")
        nodes = [tree.root, *(tree.root.say(str(number)) for number in range(30))]
        nodes.append(nodes[1].edit("again"))
        names = [node.local_id for node in nodes]
        assert len(set(names)) == len(names)
        assert {len(name) for name in names[:-1]} == {4, 5, 6, 7, 8}
        assert [tree.node(name).id for name in names] == [node.id for node in nodes]
        assert grove.verify().findings == ()
