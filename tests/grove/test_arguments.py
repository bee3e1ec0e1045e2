"""Wrong types and absurd numbers: the Python face names the argument."""

import inspect

import pytest
from tests.covers import covers

import weft
from weft.errors import InvalidInputError
from weft.grove.document import DocumentHandle
from weft.grove.grove import Grove
from weft.grove.node import NodeHandle
from weft.grove.project import ProjectHandle
from weft.grove.tree import TreeHandle
from weft.grove.vault import Vaults

HUGE = 10**30


class Stranger:
    """Of no type that any method takes."""


def methods(cls):
    """Public methods with a first argument of their own, by name."""
    for name, member in inspect.getmembers(cls, inspect.isfunction):
        named = [
            parameter
            for parameter in list(inspect.signature(member).parameters.values())[1:]
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        if not name.startswith("_") and named:
            yield name, named


EVERY = [
    (cls, name, parameters)
    for cls in (Grove, TreeHandle, NodeHandle, DocumentHandle, ProjectHandle, Vaults)
    for name, parameters in methods(cls)
    if (cls.__name__, name) != ("Grove", "perform")
]


@covers("face.wrong-types")
@pytest.mark.parametrize(
    ("cls", "name", "parameters"), EVERY, ids=[f"{cls.__name__}.{name}" for cls, name, _ in EVERY]
)
def test_every_method_names_the_argument_that_is_of_a_wrong_type(loom, cls, name, parameters):
    tree = loom.plant("Marie", "root")
    handles = {
        Grove: loom,
        TreeHandle: tree,
        NodeHandle: tree.root,
        DocumentHandle: DocumentHandle(loom, None),
        ProjectHandle: ProjectHandle(loom, None),
        Vaults: loom.vaults,
    }
    first, *others = parameters
    needed = [first, *(each for each in others if each.default is each.empty)]
    named = {each.name: Stranger() for each in needed if each.kind is each.KEYWORD_ONLY}
    with pytest.raises(InvalidInputError, match=f"^{first.name} must be ") as caught:
        getattr(handles[cls], name)(*(Stranger() for each in needed if each.name not in named), **named)
    assert caught.value.path == first.name


@covers("face.wrong-types")
@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda tree: tree.say(5), "content"),
        (lambda tree: tree.root.edit(None), "content"),
        (lambda tree: tree.root.tail(HUGE), "count"),
        (lambda tree: tree.root.tail(-1), "count"),
        (lambda tree: tree.root.head(-1), "count"),
        (lambda tree: tree.root.tail(True), "count"),
        (lambda tree: tree.say("x", context="a7x2"), "context"),
        (lambda tree: tree.say("x", context=[5]), "context"),
        (lambda tree: tree.root.merge(5, content="x"), "others"),
        (lambda tree: tree.undo(HUGE), "steps"),
        (lambda _tree: weft.open(5), "address"),
        (lambda _tree: weft.open(b"notes.db"), "address"),
        (lambda _tree: weft.open("no\0tes.db"), "address"),
        (lambda _tree: weft.open("\ud800.db"), "address"),
    ],
)
def test_absurd_values_are_refused_by_the_argument_s_name(loom, call, argument):
    with pytest.raises(InvalidInputError) as caught:
        call(loom.plant("Marie", "root"))
    assert caught.value.path == argument


@covers("face.wrong-types")
def test_of_several_arguments_the_wrong_one_is_shown(loom):
    tree = loom.plant("Marie", "root")
    with pytest.raises(InvalidInputError, match="^others must be NodeHandle or a string, got 5$"):
        tree.root.merge(tree.root, 5, content="x")


@covers("face.one-kind-of-node")
def test_paths_children_and_siblings_give_nodes_that_one_can_act_on(loom):
    tree = loom.plant("Marie", "Why?")
    first = tree.say("Because.")
    tree.root.say("To see.")
    for node in (*tree.path, *tree.root.children, *first.siblings, *first.tail(1)):
        assert isinstance(node, NodeHandle)
        assert node.author == loom.me.name
        assert node.summary is None or node.summary
        assert node.context().messages[-1].text.endswith(node.text)
        assert node.value.id == node.id
    assert tree.path[1:].text == tree.path[-1].text


@covers("face.one-kind-of-node")
def test_a_hit_gives_the_node_that_one_can_act_on(fresh_loom):
    tree = fresh_loom.plant("Marie", "The lamp is lit.")
    (hit,) = fresh_loom.search("lamp", kinds=["node"])
    assert hit.node == tree.root
    assert hit.node.say("By whom?").text == "By whom?"
    assert fresh_loom.search("Marie", kinds=["tree"])[0].node is None
