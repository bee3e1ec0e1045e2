"""bookmark, exclude, include, prune, restore."""

from tests.cli.desk import Desk


def test_a_node_is_bookmarked_with_and_without_a_label(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    answer = marie("bookmark", said, "the", "question")
    assert (answer.out, answer.err) == (f"{said}\n", f'bookmarked [{said}] in "Marie"\n')
    assert marie.json("bookmark", said)["metadata"]["bookmarkLabel"] is None
    assert marie.json("bookmark", ".", "x")["metadata"]["bookmarkLabel"] == "x"
    assert marie.json("bookmark", said, "--remove")["metadata"]["bookmarked"] is False
    assert "takes no label" in marie.fail("INVALID_INPUT", "bookmark", said, "x", "--remove")
    marie.fail("NOT_FOUND", "bookmark", "zzzz")


def test_a_node_is_left_out_and_taken_in_again(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    assert marie.ok("exclude", said) == said
    assert marie.json("exclude", said)["metadata"]["excluded"] is True
    assert marie.json("include", said)["metadata"]["excluded"] is False
    assert marie("include", said).err == f'included [{said}] in "Marie"\n'


def test_pruning_says_how_many_went_and_how_to_get_them_back(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    marie.ok("say", "Because.")
    answer = marie("prune", said)
    assert answer.out == "2\n"
    assert answer.err == f'pruned [{said}] and 1 below it in "Marie"; weft restore {said} undoes it\n'
    assert "restore" in marie.fail("CONFLICT", "exclude", said)
    assert marie("restore", said).err == 'restored 2 nodes in "Marie"\n'
    again = marie.json("prune", said)
    assert (again["nodes"], again["node"]["metadata"]["pruned"]) == (2, True)
    assert marie.json("restore", said)["nodes"] == 2
    edited = marie.ok("edit", said, "Why not?")
    assert f"weft restore {said}.1 undoes it" in marie("prune", edited).err
    assert marie.ok("restore", f"{said}.1") == "1"
    assert "not pruned" in marie.fail("CONFLICT", "restore", said)
    assert "archive the tree" in marie.fail("INVALID_INPUT", "prune", marie.ok("switch"))
