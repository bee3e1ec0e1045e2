"""Bad input: a typed error with a hint, and nothing changed. On both stores."""

import pytest
from tests.covers import covers

import weft
from weft.errors import (
    ConflictError,
    CrossTreeError,
    InvalidInputError,
    LimitExceededError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
    WeftError,
)
from weft.runtime.operations.edits import Edit
from weft.runtime.operations.nodes import Append
from weft.store import schema
from weft.tree.attempt import RawResponse, Usage
from weft.tree.content import Image
from weft.tree.edge import Source, SourceRole
from weft.tree.item import Item


def dump(loom):
    with loom.caller.executor.store.read() as session:
        return {table.name: session.execute(table.select()).all() for table in schema.metadata.sorted_tables}


@pytest.fixture
def refused(loom):
    """Calls something that must be refused: the error, once nothing was seen to change."""

    def call(error, action, match):
        before = dump(loom)
        with pytest.raises(error, match=match) as caught:
            action()
        assert dump(loom) == before
        return caught.value

    return call


@covers("op.failure-changes-nothing", "local-id.ambiguous-prefix-refused")
def test_unknown_and_ambiguous_references(loom, refused):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    refused(NotFoundError, lambda: tree.node("zzzz"), r"node \[zzzz\] does not exist in this tree")
    refused(InvalidInputError, lambda: tree.node("a7"), "is not a node id")
    refused(NotFoundError, lambda: loom.tree("nobody knows this"), "no tree")
    refused(InvalidInputError, lambda: tree.node(node.id[:6]), "ambiguous")
    refused(
        NotFoundError,
        lambda: Append(tree=tree.id, parent="zzzz", content="x") and tree.node("zzzz").say("x"),
        "does not exist",
    )


@covers("local-id.accepts-full-ulid", "local-id.accepts-prefix", "local-id.lookup-ignores-case")
def test_nodes_are_found_by_any_of_their_names(loom):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    for name in (
        node.local_id,
        node.local_id.upper(),
        f"[{node.local_id}]",
        node.id,
        node.id.lower(),
        node.id[:24],
    ):
        assert tree.node(name) == node


@covers("edge.sources-in-one-tree")
def test_a_source_in_another_tree_is_told_apart_from_an_unknown_one(loom, refused):
    tree, other = loom.plant("Marie"), loom.plant("Théo")
    here, there = tree.say("here"), other.say("there")
    error = refused(CrossTreeError, lambda: here.say("x", context=[there]), "is in another tree")
    assert "link" in error.hint
    refused(CrossTreeError, lambda: tree.merge([here, there], "x"), "is in another tree")


@covers("tree.exactly-one-root")
def test_a_second_root_is_refused(loom, refused):
    tree = loom.plant("Marie", "hello")
    tree.say("Why?")
    error = refused(InvalidInputError, lambda: tree.root.edit("bye"), "second root")
    assert "plant another tree" in error.hint
    refused(InvalidInputError, lambda: tree.root.split("l"), "second root")


def test_a_source_below_what_it_would_feed_is_refused(loom, refused):
    tree = loom.plant("Story", "Once", mode="buffer")
    upon, time = tree.say(" upon"), tree.say(" a time")
    cycle = Edit(tree=tree.id, node=upon.id, content="x", sources=[Source(time.id, SourceRole.CONTEXT)])
    error = refused(InvalidInputError, lambda: loom.perform(cycle), "comes from")
    assert error.hint
    fine = Edit(tree=tree.id, node=time.id, content="x", sources=[Source(upon.id, SourceRole.CONTEXT)])
    assert [source.role for source in loom.perform(fine).edge.sources] == ["primary", "context"]


def test_a_pruned_node_is_not_edited_or_continued(loom, refused):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    node.prune()
    error = refused(ConflictError, lambda: node.edit("x"), "is pruned: cannot edit it")
    assert error.hint == f"restore {node.local_id} first"
    refused(ConflictError, lambda: node.say("x"), "is pruned")
    refused(ConflictError, lambda: tree.root.say("x", context=[node]), "is pruned")
    refused(ConflictError, node.prune, "is pruned")


@pytest.mark.outer
@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "x" * (16 * 1024 * 1024 + 1)])
def test_texts_that_cannot_be_kept_exactly_are_refused(loom, refused, text):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    for action in (
        lambda: tree.say(text),
        lambda: node.edit(text),
        lambda: node.annotate(text),
        lambda: node.bookmark(text),
        lambda: tree.describe(title=text),
        lambda: loom.write_document(text, "x"),
        lambda: loom.write_document("x", text),
        lambda: loom.tag(node, text),
        lambda: loom.link(node, tree, text),
        lambda: loom.plant(text),
        lambda: loom.tree(text),
        lambda: loom.add_agent(text, model_ref="a:b"),
        lambda: tree.collapse(node, node, text),
        lambda: node.attach(Item(id=text, type="note", content="x")),
        lambda: node.attach(Item(id="a", type="note", content="x", title=text)),
    ):
        refused(WeftError, action, "NUL|surrogate|limit")
    # Contents of items are kept as bytes, so that a note with a NUL in it can be attached.
    if "\x00" in text:
        assert node.attach(Item(id="a", type="note", content=text)).value.attachments[0].content == text
    else:
        refused(
            WeftError, lambda: node.attach(Item(id="a", type="note", content=text * 5)), "surrogate|limit"
        )


@covers("permission.checked-at-configuration")
def test_permissions_without_their_requirement_are_refused(loom, refused):
    refused(
        InvalidInputError,
        lambda: loom.add_agent("p", model_ref="a:b", permissions=["loom_write"]),
        "requires loom_aware",
    )
    refused(
        InvalidInputError,
        lambda: loom.add_agent("p", model_ref="a:b", permissions=["fly"]),
        "is not a permission",
    )


def test_a_response_belongs_to_a_model(loom, refused):
    tree = loom.plant("Marie")
    response = RawResponse(body=b"{}", provider="p", model="m")
    refused(
        InvalidInputError, lambda: tree.say("x", response=response), "only a model's node carries a response"
    )


@pytest.mark.parametrize(
    "response",
    [
        RawResponse(body=b"", provider="\ud800", model="m"),
        RawResponse(body=b"", provider="p", model="a\x00b"),
        RawResponse(body=b"", provider="p", model="m", usage=Usage(prompt=2**40)),
        RawResponse(body=b"", provider="p", model="m", status_code=-1),
    ],
)
def test_a_response_that_cannot_be_kept_is_refused(loom, refused, response):
    model = loom.add_agent(f"odd {len(loom.agents())}", model_ref="t:m")
    tree = loom.plant("Marie")
    refused(WeftError, lambda: tree.root.say("x", author=model.id, response=response), "surrogate|NUL|counts")


def test_models_do_not_put_words_into_each_others_mouths(loom, refused):
    tree = loom.plant("Marie")
    evil = loom.add_agent(f"evil {tree.id}", model_ref="t:m", permissions=["loom_aware", "loom_write"])
    other = loom.add_agent(f"other {tree.id}", model_ref="t:m")
    forged = Append(tree=tree.id, content="I agree.", author=other.id)
    refused(PermissionDeniedError, lambda: loom.acting_as(evil.id).perform(forged), "in the name of")


def test_nobody_writes_in_another_persons_name(loom, refused):
    other = loom.add_agent(f"somebody {len(loom.agents())}", type="human")
    tree = loom.plant("Marie")
    refused(PermissionDeniedError, lambda: tree.say("x", author=other.id), "cannot write in the name of")


@covers("content.blobs-by-sha256")
def test_an_image_needs_its_bytes_first(loom, refused):
    tree = loom.plant("Marie")
    missing = Image(ref="ab" * 32, mime_type="image/png", width=1, height=1)
    refused(NotFoundError, lambda: tree.say(missing), "no blob abababababab")
    bad = Image(ref="../../etc/passwd", mime_type="image/png", width=1, height=1)
    refused(InvalidInputError, lambda: tree.say(bad), "SHA-256 of a stored blob")


def test_a_clock_that_lags_a_little_is_waited_out(address):
    now = [1_800_000_000_000_000]
    with weft.open(address, clock=lambda: now[0]) as grove:
        tree = grove.plant("Marie")
        first = tree.say("1")
        now[0] -= 60_000_000
        second = tree.say("2")
        assert second.value.created_at > first.value.created_at


def test_a_clock_that_went_far_back_is_refused_with_a_way_out(address):
    now = [1_800_000_000_000_000]
    with weft.open(address, clock=lambda: now[0]) as grove:
        tree = grove.plant("Marie")
        tree.say("1")
        now[0] -= 3_600_000_000
        before = dump(grove)
        with pytest.raises(UnavailableError, match="the clock says") as caught:
            tree.say("2")
        assert "accept_clock" in caught.value.hint
        assert dump(grove) == before
    with weft.open(address, clock=lambda: now[0], accept_clock=True) as grove:
        assert grove.tree(tree.id).say("2").text == "2"


def test_too_many_sources_are_refused(loom, refused):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    refused(LimitExceededError, lambda: node.say("x", context=[node] * 300), "at most 256 sources")


def test_addresses_that_mean_nothing_are_refused(tmp_path):
    for address in ("mysql://localhost/x", "sqlite:///", "postgresql://host:port/x"):
        with pytest.raises(InvalidInputError):
            weft.open(address)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"estimator": "zz"}, "there is no estimator 'zz'"),
        ({"truncationStrategy": "none"}, "truncationStrategy"),
        ({"truncation_step": 2}, "truncationStep"),
        ({"library": "attic"}, "library"),
    ],
)
def test_preferences_that_would_break_every_context_are_refused_when_they_are_given(loom, given, why):
    with pytest.raises(InvalidInputError, match=why):
        loom.plant("Never planted", preferences=given)
    tree = loom.plant("Planted", preferences={"estimator": "chars/4", "theme": "dark"})
    with pytest.raises(InvalidInputError, match=why):
        tree.describe(preferences=given)
    assert tree.refresh().value.preferences == {"estimator": "chars/4", "theme": "dark"}
