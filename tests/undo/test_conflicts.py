"""What others have built on is not pulled away: who, where, and nothing changed."""

import pytest
from tests.covers import covers
from tests.snapshot import snapshot
from tests.undo.scenes import NOTE

import weft
from weft.errors import ConflictError, NotFoundError, PermissionDeniedError
from weft.runtime.operations.agents import ChangeAgent
from weft.runtime.operations.documents import SaveDocument
from weft.tree.tree import Mode


@pytest.fixture(scope="module")
def mira(loom):
    loom.add_agent("mira", type="human")
    return loom.acting_as("mira")


@pytest.fixture
def tree(loom, mira):
    """A new tree in which the human has said one thing."""
    assert mira
    return loom.plant("Marie", "Hello.")


def refused(handle, words, *, redo=False):
    """The step is a conflict that says so, and changes nothing."""
    grove = handle if isinstance(handle, weft.Grove) else handle._grove
    trees = grove.read.trees(archived=True)
    before = snapshot(grove, trees[0].id)
    with pytest.raises(ConflictError, match=words) as caught:
        (handle.redo if redo else handle.undo)()
    assert caught.value.hint
    assert snapshot(grove, trees[0].id) == before


OTHERS = {
    "continue": (lambda grove, node: node.say("Mine."), r"was written after \[\w+\] by 'mira'"),
    "annotate": (lambda grove, node: node.annotate("Hm."), r"was noted on \[\w+\] by 'mira'"),
    "edit": (lambda grove, node: node.edit("Better."), r"was edited to \[\w+'\] by 'mira'"),
    "use": (
        lambda grove, node: node.tree.root.say("So", context=[node]),
        r"was made a source of \[\w+\] by 'mira'",
    ),
    "bookmark": (lambda grove, node: node.bookmark(), "was bookmarked by 'mira'"),
    "exclude": (lambda grove, node: node.exclude(), "was excluded by 'mira'"),
    "prune": (lambda grove, node: node.prune(), "was pruned by 'mira'"),
    "attach": (lambda grove, node: node.attach(NOTE), r"items on \[\w+\] were changed by 'mira'"),
    "tag": (lambda grove, node: grove.tag(node, "snow"), "was tagged 'snow'"),
    "link": (lambda grove, node: grove.link(node, node.tree), "was linked by 'mira'"),
    "fold": (
        lambda grove, node: node.tree.collapse(node.tree.root, node, "opening"),
        "was collapsed into 'opening' by 'mira'",
    ),
    "stand": (lambda grove, node: node.switch(), r"is used as cursor by 'mira'"),
}


@covers("op.undo-conflict")
@pytest.mark.parametrize("what", OTHERS)
def test_a_node_that_somebody_has_built_on_stays(loom, mira, tree, what):
    said = tree.say("Mine first.")
    act, words = OTHERS[what]
    act(mira, mira.node(said.id))
    refused(tree, words)
    assert tree.node(said.id).text == "Mine first."


@covers("op.undo-conflict")
def test_a_version_that_somebody_has_chosen_stays(loom, mira):
    tree = loom.plant("Story", "Once.", mode=Mode.BUFFER)
    said = tree.say("It snowed.")
    edited = said.edit("It rained.")
    mira.node(said.id).switch()
    mira.node(edited.id).switch()
    refused(tree, "by 'mira'")


@covers("op.undo-and-redo-own")
def test_each_agent_steps_through_its_own_operations_only(loom, mira, tree):
    mine = tree.say("Mine.")
    hers = mira.tree(tree.id).root.say("Hers.")
    more = tree.root.say("More of mine.")
    tree.undo()
    with pytest.raises(NotFoundError, match="was undone"):
        tree.node(more.id)
    tree.undo()
    assert [node.id for node in tree.root.children] == [hers.id]
    with pytest.raises(NotFoundError, match="nothing of yours to undo"):
        tree.undo()
    mira.tree(tree.id).undo()
    assert tree.refresh().counters.nodes == 1
    tree.redo(2)
    assert {node.id for node in tree.root.children} == {mine.id, more.id}
    assert tree.node(mine.id).value.content_hash == mine.value.content_hash


@covers("op.undo-and-redo-own")
def test_a_new_operation_clears_what_could_be_redone(tree):
    tree.say("One.")
    tree.undo()
    two = tree.say("Two.")
    with pytest.raises(NotFoundError, match="nothing of yours to redo"):
        tree.redo()
    tree.undo()
    with pytest.raises(NotFoundError, match="planting|nothing of yours"):
        tree.undo()
    tree.redo()
    assert tree.cursor.id == two.id


@covers("op.undo-conflict")
def test_what_lost_its_ground_is_not_redone(loom, mira, tree):
    hers = mira.tree(tree.id).say("Hers.")
    tree.node(hers.id).say("Mine.")
    tree.undo()
    mira.tree(tree.id).undo()
    refused(tree, "was undone by 'mira'", redo=True)
    mira.tree(tree.id).redo()
    mira.node(hers.id).prune()
    refused(tree, "was pruned by 'mira'", redo=True)
    mira.node(hers.id).restore()
    tree.redo()
    assert [node.text for node in tree.path] == ["Hello.", "Hers.", "Mine."]


@covers("op.undo-conflict")
def test_a_prune_is_not_redone_over_what_was_written_since(loom, mira, tree):
    said = tree.say("Mine.")
    said.prune()
    tree.undo()
    mira.node(said.id).say("Hers.")
    refused(tree, "was written below .* by 'mira'", redo=True)


@covers("op.undo-conflict")
def test_a_prune_that_somebody_restored_is_not_restored_again(loom, mira, tree):
    said = tree.say("Mine.")
    said.prune()
    mira.node(said.id).restore()
    refused(tree, "was restored by 'mira'")


@covers("op.undo-conflict")
def test_marks_that_somebody_changed_stay(loom, mira, tree):
    said = tree.say("Mine.")
    said.bookmark("a")
    mira.node(said.id).bookmark("b")
    refused(tree, r"the bookmark on \[\w+\] was changed by 'mira'")
    assert tree.node(said.id).metadata.bookmark_label == "b"


@covers("op.undo-conflict")
def test_a_title_that_somebody_changed_stays(loom, mira, tree):
    tree.describe(title="Mine")
    mira.tree(tree.id).describe(title="Hers")
    refused(tree, "the title was changed by 'mira'")
    assert tree.refresh().title == "Hers"


@covers("op.undo-conflict")
def test_a_document_saved_by_somebody_else_is_not_turned_back(loom, mira):
    document = loom.write_document("Notes", "One.").save("Two.")
    mira.document("Notes").save("Three.")
    refused(loom, "revision 3 of 'Notes' was saved by 'mira'")
    mira.undo()
    loom.undo()
    assert loom.document("Notes").text == "One."
    again = loom.document("Notes").save("Four.")
    assert again.revision == 4, "a number that was undone is not given again"
    with pytest.raises(ConflictError):
        loom.perform(SaveDocument(document=document.id, revision=2, content="over an undone one"))
    with pytest.raises(NotFoundError):
        loom.read.document("Notes", 2)


@covers("op.undo-conflict")
def test_an_agent_that_has_acted_is_not_taken_back(loom, tree):
    loom.add_agent("ann", type="human")
    loom.acting_as("ann").tree(tree.id).say("I am here.")
    refused(loom, "'ann' has taken part")


@covers("op.undo-conflict")
def test_a_tree_in_which_something_was_done_is_not_taken_back(loom, mira, tree):
    mira.tree(tree.id).say("Hers.")
    refused(loom, "something was done in 'Marie' by 'mira'")
    mira.tree(tree.id).undo()
    loom.undo()
    with pytest.raises(NotFoundError):
        loom.tree(tree.id)
    assert tree.id not in {each.id for each in loom.trees(archived=True)}
    loom.redo()
    assert loom.tree(tree.id).root.text == "Hello."


@covers("op.undo-every-operation")
def test_a_deletion_cannot_be_undone_and_says_so(loom, tree):
    tree.delete(confirm=tree.id)
    with pytest.raises(ConflictError, match="deleting a tree cannot be undone: it is gone for good"):
        loom.undo()


@covers("op.undo-hides-creations")
def test_undoing_a_commit_gives_the_typed_text_back(loom):
    tree = loom.plant("Story", "Once.", mode=Mode.BUFFER)
    tree.type(" It snowed.")
    committed = tree.commit()
    assert committed
    tree.undo()
    assert (tree.path.text, tree.working_buffer) == ("Once.", " It snowed.")
    assert [node.text for node in tree.hidden] == [" It snowed."]
    tree.type(" It snowed all night.")
    tree.undo()
    assert tree.working_buffer == " It snowed."
    tree.undo()
    assert tree.working_buffer == ""


@covers("op.undo-hides-creations")
def test_a_hidden_node_is_nowhere_but_where_it_is_asked_for(loom, tree):
    said = tree.say("Mine.")
    tree.undo()
    for look in (tree.node, lambda name: loom.read.path(tree.id, name), loom.node):
        with pytest.raises(NotFoundError):
            look(said.id)
    with pytest.raises(NotFoundError, match="was undone"):
        tree.node(said.local_id)
    assert loom.read.node(tree.id, said.id, hidden=True).content_hash == said.value.content_hash
    assert [node.id for node in tree.hidden] == [said.id]
    with pytest.raises(NotFoundError, match="was undone"):
        said.say("More.")


def test_who_may_not_do_it_may_not_undo_it(loom, tree):
    loom.add_agent("helper", model_ref="test:model", permissions=["loom_aware", "loom_write"])
    helper = loom.acting_as("helper")
    helper.tree(tree.id).say("Done.")
    loom.perform(ChangeAgent(agent="helper", permissions=["loom_aware"]))
    with pytest.raises(PermissionDeniedError):
        helper.tree(tree.id).undo()


@covers("op.undo-every-operation")
def test_steps_are_all_or_none_and_in_the_history(tree):
    tree.say("One.").bookmark()
    tree.say("Two.")
    with pytest.raises(NotFoundError, match="3 steps; nothing was changed"):
        tree.undo(4)
    assert tree.cursor.text == "Two."
    steps = tree.undo(2)
    assert [(step.kind, step.ordinal) for step in steps] == [("append", 4), ("bookmark", 3)]
    told = [(each.kind, each.undone) for each in tree.history()]
    assert told == [
        ("plant", False),
        ("append", False),
        ("bookmark", True),
        ("append", True),
        ("undo", False),
        ("undo", False),
    ]
    assert [each.kind for each in tree.history(2, before=5)] == ["bookmark", "append"]
    assert [each.undone for each in tree.history(2, before=5)] == [True, True]
    assert tree.history(agent="mira") == []
