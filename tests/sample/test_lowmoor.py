"""The long sample: everything it is there to show is in it, made by the program itself."""

import pytest
from tests.covers import covers

import weft
from weft.sample.lowmoor import TITLE, plant_lowmoor
from weft.tree.content import Image, Mixed

pytestmark = pytest.mark.outer


@pytest.fixture(scope="module")
def grove(tmp_path_factory):
    with weft.open(tmp_path_factory.mktemp("sample") / "grove.db", background=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def tree(grove):
    return plant_lowmoor(grove)


def _holding(tree, words):
    return tree.node(tree.search(words)[0].node.id)


@covers("sample.cut-shows")
def test_the_wrong_weight_was_written_without_the_answer_that_names_it(tree):
    wrong, bell = _holding(tree, "spat for luck"), _holding(tree, "Cast in 1788")
    assert bell.id in [node.id for node in wrong.path]
    request = wrong.provenance().request
    assert b"412 kilos" not in request
    assert b"fourth stair" in request


@covers("sample.cut-shows")
def test_the_note_beside_it_was_written_by_the_collaborator_with_a_command(tree):
    (note,) = _holding(tree, "spat for luck").annotations
    assert note.author == "Margin"
    assert "412 kilos" in note.text


@covers("sample.worth-a-look")
def test_the_tree_has_branches_a_merge_two_people_a_picture_and_a_collapsed_range(tree):
    assert tree.title == TITLE
    assert len(tree.branch_points) > 4
    people = {node.author for leaf in tree.leaves for node in leaf.path if node.author_type == "human"}
    assert people == {"human", "Noor"}
    merge = _holding(tree, "How do they meet")
    assert [source.role for source in merge.edge.sources] == ["primary", "primary"]
    (chart,) = _holding(tree, "Draw the line").annotations
    assert isinstance(chart.content, Mixed)
    assert isinstance(chart.content.blocks[1], Image)
    assert len(tree.groups) == 1
    assert any(node.attachments for node in tree.path)


@covers("sample.worth-a-look")
def test_its_agents_speak_only_through_models_that_can_be_asked(grove, tree):
    assert [agent.name for agent in grove.agents() if agent.model_ref] == ["Smol"]


def test_the_whole_sample_verifies(tree):
    assert tree.verify().verdict == "valid"
