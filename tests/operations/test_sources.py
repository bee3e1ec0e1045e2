"""What a node comes from: no cycles over any sources, and nothing lost when nodes are joined."""

import pytest
from tests.covers import covers
from tests.growing import grow
from tests.statements import statements

from weft.errors import InvalidInputError
from weft.runtime.operations.edits import Edit
from weft.runtime.operations.nodes import Append, Merge
from weft.store.lookup import find_tree
from weft.store.tree_queries import find_node
from weft.tree.edge import Source, SourceRole
from weft.tree.item import Item

CONTEXT, INSTRUCTION, PRIMARY = SourceRole.CONTEXT, SourceRole.INSTRUCTION, SourceRole.PRIMARY


def edit_from(loom, node, *sources, role=CONTEXT):
    given = [Source(source.id, role) for source in sources]
    return loom.perform(Edit(tree=node.value.tree_id, node=node.id, content="x", sources=given))


def roles(node):
    return [(source.node, source.role) for source in node.refresh().value.edge.sources]


@covers("edge.no-cycles")
@pytest.mark.parametrize("role", SourceRole)
def test_a_version_does_not_come_from_a_merge_of_itself(loom, role):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon, aside = tree.root.say(" upon"), tree.root.say(" aside")
    merged = tree.merge([upon, aside], " both")
    later = merged.say(" on").say(" and on")
    for source in (merged, later):
        with pytest.raises(InvalidInputError, match=rf"\[{source.local_id}\] comes from") as caught:
            edit_from(loom, aside, source, role=role)
        assert caught.value.hint == "sources come before what is made from them"
    assert aside.versions == [aside]


@covers("edge.no-cycles")
def test_a_cycle_is_found_over_sources_that_only_some_version_has(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    one, two, three = tree.root.say(" 1"), tree.root.say(" 2"), tree.root.say(" 3")
    edit_from(loom, two, one)
    two.edit(" 2 without it")
    edit_from(loom, three, two, role=INSTRUCTION)
    below, note = three.say(" 3.1"), three.annotate("hm")
    for source in (two, three, below, note):
        with pytest.raises(InvalidInputError, match="comes from"):
            edit_from(loom, one, tree.root, source, tree.root)
    with pytest.raises(InvalidInputError, match="comes from"):
        edit_from(loom, one, one)
    assert edit_from(loom, below, one, two).edge.sources[-2:] == (
        Source(one.id, CONTEXT),
        Source(two.id, CONTEXT),
    )


@covers("edge.no-cycles")
def test_a_dialogue_branch_may_come_from_what_hangs_below_the_original(loom):
    tree = loom.plant("Marie")
    asked = tree.say("Why?")
    answer = tree.say("Because.")
    branch = edit_from(loom, asked, answer)
    assert branch.edge.sources == (Source(tree.root.id), Source(answer.id, CONTEXT))


@pytest.mark.outer
@covers("edge.no-cycles")
@pytest.mark.parametrize("depth", [10, 5_000])
def test_looking_for_a_cycle_takes_as_many_queries_at_any_depth(loom, depth):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon, aside = tree.root.say(" upon"), tree.root.say(" aside")
    merged = tree.merge([upon, aside], " both")
    store = loom.caller.executor.store
    with store.read() as session:
        key = find_tree(session, tree.id)
        row = find_node(session, key, merged.id)
    leaf = tree.node(grow(store, key, row, depth).ulid)
    with statements(store) as said, pytest.raises(InvalidInputError, match="comes from"):
        edit_from(loom, aside, leaf)
    assert sum("RECURSIVE" in statement for statement in said) == 1
    assert len(said) <= 20


@covers("edge.primary-place-once")
def test_no_place_is_a_primary_source_twice(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    one, two = tree.root.say(" 1"), tree.root.say(" 2")
    again = [Source(one.id, PRIMARY)]
    for operation in (
        Edit(tree=tree.id, node=one.say(" 1.1").id, content="x", sources=again),
        Append(tree=tree.id, parent=one.id, content="x", sources=again),
        Merge(tree=tree.id, nodes=[one.id, two.id], content="x", sources=again),
    ):
        before = tree.refresh().counters
        with pytest.raises(InvalidInputError, match="is given as a source twice"):
            loom.perform(operation)
        assert tree.refresh().counters == before
    assert roles(one.say(" on", context=[one])) == [(one.id, PRIMARY), (one.id, CONTEXT)]


def test_a_roots_version_comes_from_nothing(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon = tree.say(" upon")
    with pytest.raises(InvalidInputError, match="is the root"):
        edit_from(loom, tree.root, upon)
    assert loom.perform(Edit(tree=tree.id, node=tree.root.id, content="Twice", sources=())).edge is None


@covers("merge.edit-resolves-every-position")
def test_editing_a_merge_writes_it_after_the_versions_seen_now(loom):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon, aside = tree.root.say(" upon"), tree.root.say(" aside")
    merged = tree.merge([upon, aside], " both")
    below, beside = upon.edit(" below"), aside.edit(" beside")
    edited = merged.edit(" both again")
    assert roles(edited) == [(upon.id, PRIMARY), (below.id, PRIMARY), (beside.id, PRIMARY)]
    tree.switch(aside)
    assert roles(merged.edit(" once more"))[-1] == (aside.id, PRIMARY)


@covers("op.join", "op.join-keeps-sources-and-items")
@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_joining_keeps_the_sources_and_items_of_both(loom, mode):
    tree = loom.plant("Story", "Once", mode=mode)
    picture, rule = tree.root.say("picture"), tree.root.say("rule")
    other, extra = tree.root.say("other"), tree.root.say("extra")
    first = tree.root.say("one", context=[picture], attachments=[Item(id="a", type="note", content="A")])
    second = loom.perform(
        Merge(
            tree=tree.id,
            nodes=[first.id, other.id],
            content=" two",
            sources=[Source(rule.id, INSTRUCTION), Source(picture.id, CONTEXT), Source(extra.id, CONTEXT)],
        )
    )
    tree.node(second.id).attach(Item(id="b", type="note", content="B"))
    joined = first.join(second.id)
    assert joined.text == "one two"
    assert roles(joined) == [
        (tree.root.id, PRIMARY),
        (picture.id, CONTEXT),
        (other.id, PRIMARY),
        (rule.id, INSTRUCTION),
        (extra.id, CONTEXT),
    ]
    assert [item.id for item in joined.refresh().value.attachments] == ["a", "b"]


@covers("authorship.join-keeps-both-authors")
@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_each_half_of_a_joined_node_keeps_its_authors(loom, mode):
    poet = loom.add_agent(f"poet {len(loom.agents())}", model_ref="t:m")
    muse = loom.add_agent(f"muse {len(loom.agents())}", model_ref="t:m")
    tree = loom.plant("Story", "Once", mode=mode)
    names = {poet.id: "poet", muse.id: "muse", loom.me.id: "me"}

    def written(node):
        return [(names[span.author_id], node.text[span.start : span.end]) for span in node.authorship]

    first = tree.root.say(" upon a time", author=poet.id)
    second = first.say(" there was", author=muse.id)
    joined = first.join(second)
    assert written(joined) == [("poet", " upon a time"), ("muse", " there was")]
    third = joined.edit(" upon a time there once was")
    assert written(third) == [("poet", " upon a time"), ("muse", " there "), ("me", "once "), ("muse", "was")]
    # The second half may have been joined itself, and edited.
    end = third.say(" a fox", author=poet.id)
    tail = end.say(" and a hen", author=muse.id)
    tails = end.join(tail).edit(" a red fox and a hen")
    whole = third.join(tails)
    assert written(whole) == [
        ("poet", " upon a time"),
        ("muse", " there "),
        ("me", "once "),
        ("muse", "was"),
        ("poet", " a "),
        ("me", "red "),
        ("poet", "fox"),
        ("muse", " and a hen"),
    ]
    halves = whole.split(" a red")
    assert written(halves[1]) == written(whole)[4:]
