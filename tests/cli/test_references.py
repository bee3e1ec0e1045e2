"""tag, link, collapse, expand; and what a reference names."""

import pytest
from tests.cli.desk import Desk
from tests.covers import covers


def test_tags_are_put_listed_and_taken_off(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    assert (marie("tag").out, marie("tag", width=60).out) == ("", "")
    assert marie("tag").err == "the grove has no tags; add one: weft tag WHAT LABEL\n"
    answer = marie("tag", said, "question")
    assert answer.err == f"tagged [{said}] in \"Marie\" with 'question'\n"
    marie.ok("tag", said, "Question")
    marie.ok("tag", "Marie", "novel")
    assert marie.ok("tag", said).splitlines() == ["Question", "question"]
    assert marie.json("tag", "tree:Marie") == ["novel"]
    label, target = marie.ok("tag").splitlines()[1].split("\t")
    assert (label, marie.ok("tag", target)) == ("novel", "novel")
    assert {each["label"] for each in marie.json("tag")} == {"Question", "question", "novel"}
    assert marie.json("tag", said, "question", "--remove") == ["Question"]
    assert "case-sensitive" in marie.fail("NOT_FOUND", "tag", said, "QUESTION", "--remove")
    assert "needs a label" in marie.fail("INVALID_INPUT", "tag", said, "--remove")
    assert "no tags on document" in marie("tag", marie.ok("doc", "new", "Notes").join(["doc:", ""])).err
    shown = marie("tag", width=60).out
    assert 'tree "Marie"' in shown


def test_any_two_things_are_linked_listed_and_unlinked(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    marie.ok("doc", "new", "Notes")
    answer = marie("link", said, "doc:Notes", "--note", "see there")
    assert answer.err == f'linked [{said}] in "Marie" and document "Notes"\n'
    marie.ok("link", "Notes", "tree:Marie")
    ends = [line.split("\t")[:2] for line in marie.ok("link", "doc:Notes").splitlines()]
    assert ends[0][0].startswith("node:")
    assert ends[0][1] == "see there"
    assert ends[1][0].startswith("tree:")
    assert marie.ok("link", ends[0][0]).startswith("doc:")
    shown = marie("link", "Notes", width=80).out
    assert f'[{said}] in "Marie"' in shown
    assert len(marie.json("link", "Notes")) == 2
    marie.fail("CONFLICT", "link", "doc:Notes", said)
    unlinked = marie("link", "doc:Notes", said, "--remove")
    assert (unlinked.out, unlinked.err[:8]) == ("", "unlinked")
    assert "not linked" in marie.fail("NOT_FOUND", "link", "doc:Notes", said, "--remove")
    assert "needs both ends" in marie.fail("INVALID_INPUT", "link", said, "--remove")
    assert "no links to" in marie("link", said).err


def test_a_name_that_two_things_have_is_asked_back(marie: Desk) -> None:
    marie.ok("doc", "new", "Marie")
    assert "use tree:Marie or doc:Marie" in marie.fail("INVALID_INPUT", "tag", "Marie")
    assert "no node, tree or document 'Zebra'" in marie.fail("NOT_FOUND", "tag", "Zebra")


def test_a_range_is_folded_listed_expanded_and_forgotten(marie: Desk) -> None:
    one = marie.ok("say", "Why?")
    two = marie.ok("say", "Because.")
    assert "no collapsed ranges" in marie("collapse").err
    answer = marie("collapse", one, two, "start", "--description", "how it began")
    assert answer.err == f"collapsed [{one}] to [{two}] as 'start' in \"Marie\"\n"
    assert marie.ok("collapse").split("\t") == ["start", one, two, "collapsed", "how it began"]
    assert marie.json("expand", "start")["expanded"] is True
    assert marie.ok("collapse").split("\t")[3] == "expanded"
    assert marie.json("expand", "start", "--remove") is None
    assert marie.json("collapse") == []
    assert "weft collapse lists" in marie.fail("NOT_FOUND", "expand", "start")
    assert "two ends and a name" in marie.fail("INVALID_INPUT", "collapse", one)
    assert "not on the path" in marie.fail("INVALID_INPUT", "collapse", two, one, "x")


@covers("local-id.accepts-full-ulid", "local-id.lookup-ignores-case")
def test_a_node_that_the_current_tree_lacks_is_found_in_the_grove(marie: Desk) -> None:
    node = marie.json("say", "Why?")
    marie.ok("new", "Other")
    for reference in (node["localId"], node["id"], node["id"].lower(), f"Marie/{node['localId'].upper()}"):
        assert '"Marie"' in marie("exclude", reference).err


def test_a_named_tree_is_meant(marie: Desk) -> None:
    node = marie.json("say", "Why?")
    marie.ok("new", "Other")
    marie.fail("NOT_FOUND", "exclude", node["localId"], "--tree", "Other")
    marie.fail("CROSS_TREE", "exclude", node["id"], "--tree", "Other")
    marie.fail("NOT_FOUND", "exclude", f"Other/{node['localId']}")
    marie.fail("NOT_FOUND", "exclude", f"Nobody/{node['localId']}")


@covers("local-id.ambiguous-prefix-refused", "local-id.accepts-prefix")
def test_a_beginning_names_a_node_only_where_it_names_one(marie: Desk) -> None:
    one, two = marie.json("say", "one"), marie.json("say", "two")
    shared = next(
        one["id"][:length] for length in range(25, 3, -1) if two["id"].startswith(one["id"][:length])
    )
    answer = marie.fail("INVALID_INPUT", "exclude", shared)
    assert "is ambiguous\n  hint: it could be " in answer
    assert marie.ok("exclude", one["id"][:14]) == one["localId"]


@pytest.mark.parametrize("reference", ["", "abc", "a b", "ab!d", "a" * 200])
def test_what_cannot_be_an_id_is_refused(marie: Desk, reference: str) -> None:
    assert "hint: use a local id such as a7x2" in marie.fail("INVALID_INPUT", "exclude", reference)
