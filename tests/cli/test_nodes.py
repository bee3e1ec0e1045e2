"""say, edit, merge, annotate, split, join."""

from tests.cli.desk import Desk
from tests.covers import covers


def test_saying_answers_with_the_new_id_and_tells_where(marie: Desk) -> None:
    answer = marie("say", "Why", "does", "she", "hesitate?")
    assert len(answer.out) == 5
    assert answer.err == f'wrote [{answer.out.strip()}] in "Marie"\n'
    assert marie.ok("read") == "Why does she hesitate?"


def test_with_json_the_whole_node_is_the_answer(marie: Desk) -> None:
    node = marie.json("say", "Why?")
    assert node["content"] == {"type": "text", "text": "Why?"}
    assert (node["authorType"], node["role"], node["editedFrom"]) == ("human", "user", None)
    assert node["localId"] == marie.ok("switch")


@covers("cli.pipes")
def test_the_text_comes_from_a_pipe_without_the_line_end_that_shells_add(marie: Desk) -> None:
    said = marie.ok("say", stdin="two\nlines\n")
    assert marie.ok("read", said) == "two\nlines"
    assert marie.ok("read", marie.ok("say", "-", stdin="dash"), "--node") == "dash"
    assert marie.ok("read", marie.ok("say", "-", stdin="a\r\nb\r\n"), "--node") == "a\r\nb"
    marie.ok("edit", said, "-", stdin="x\n\n")
    assert marie.ok("read", "--node") == "x\n"
    note = marie.ok("annotate", said, stdin="from a pipe\n")
    assert marie.ok("read", note, "--node") == "from a pipe"


def test_a_text_survives_going_out_and_in_again(marie: Desk) -> None:
    for text in ("plain", "ends with a line\n", "two\n\n", " spaces ", "tab\tand ünïcode 織\n"):
        said = marie.ok("say", text)
        out = marie("read", "--node", said).out
        again = marie.ok("edit", said, stdin=out)
        assert marie.json("read", again, "--node")["nodes"][0]["content"]["text"] == text


def test_nothing_to_say_is_refused_unless_it_is_meant(marie: Desk) -> None:
    assert "no text given" in marie.fail("INVALID_INPUT", "say")
    assert "no text given" in marie.fail("INVALID_INPUT", "say", "-", stdin="\n")
    marie.ok("say", "")
    assert "UTF-8: byte 2 is 0xff" in marie.fail("INVALID_INPUT", "say", stdin=b"ab\xff")
    assert "NUL" in marie.fail("INVALID_INPUT", "say", stdin="a\x00b")


def test_words_that_look_like_options_are_said_after_two_dashes(marie: Desk) -> None:
    marie.ok("say", "--", "--json", "is", "an", "option")
    assert marie.ok("read") == "--json is an option"


def test_something_is_said_under_another_node_with_further_sources(marie: Desk) -> None:
    one = marie.ok("say", "Why?")
    two = marie.ok("say", "Because.")
    node = marie.json("say", "Really?", "--under", one, "--context", two, "--instruction", one)
    roles = [source["role"] for source in node["edge"]["sources"]]
    assert roles == ["primary", "context", "instruction"]
    assert node["depth"] == 2
    marie.fail("NOT_FOUND", "say", "x", "--under", "zzzz")


def test_a_models_words_can_be_brought(marie: Desk) -> None:
    marie.ok("agents", "add", "Muse", "--model", "local:small")
    assert marie.json("say", "Because.", "--author", "Muse")["role"] == "assistant"
    marie.fail("NOT_FOUND", "say", "x", "--author", "Nobody")


@covers("local-id.edit-adds-a-prime")
def test_an_edit_is_a_branch_in_a_dialogue_and_a_version_in_a_buffer(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    answer = marie("edit", said, "Why not?")
    assert answer.out == f"{said}'\n"
    assert answer.err == f'created branch [{said}\'] from [{said}] in "Marie"\n'
    assert marie.ok("read", f"{said}’") == "Why not?"
    marie.ok("new", "Story", "--mode", "buffer", "--text", "Once")
    piece = marie.ok("say", " upon")
    marie.ok("say", " a time")
    assert marie("edit", piece, " below").err.startswith(f"created version [{piece}'] from [{piece}]")
    assert marie.ok("read") == "Once below a time"
    marie.ok("edit", piece, "")
    assert marie.ok("read") == "Once a time"


def test_the_root_of_a_dialogue_cannot_be_edited(marie: Desk) -> None:
    assert "second root" in marie.fail("INVALID_INPUT", "edit", ".", "x")


def test_merging_needs_two_places_of_one_tree(marie: Desk) -> None:
    marie.ok("say", "Why?")
    one = marie.ok("say", "Because.")
    other = marie.ok("edit", one, "Fear.")
    answer = marie("merge", one, other, "--text", "Both.")
    assert answer.err == f'merged [{one}] and [{other}] into [{answer.out.strip()}] in "Marie"\n'
    assert marie.ok("read", marie.ok("merge", one, other, stdin="piped\n"), "--node") == "piped"
    assert "two different nodes" in marie.fail("INVALID_INPUT", "merge", one, "--text", "x")
    assert "twice" in marie.fail("INVALID_INPUT", "merge", one, other, one, "--text", "x")
    marie.ok("new", "Other")
    elsewhere = marie.json("say", "far")["id"]
    marie.fail("CROSS_TREE", "merge", f"Marie/{one}", elsewhere, "--text", "x")


def test_a_note_is_put_on_a_node(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    answer = marie("annotate", said, "good", "question")
    assert answer.err == f'annotated [{said}] in "Marie" as [{answer.out.strip()}]\n'
    assert marie.ok("switch") == said


def test_a_node_is_split_at_its_words_or_at_an_offset_and_joined_again(marie: Desk) -> None:
    said = marie.ok("say", "Why? Because.")
    first, second = marie.ok("split", said, "Because").split("\n")
    assert marie.ok("read", second, "--node") == "Because."
    assert [half["content"]["text"] for half in marie.json("split", said, "4")] == ["Why?", " Because."]
    joined = marie.ok("join", first, second)
    assert marie.ok("read", joined, "--node") == "Why? Because."
    assert marie.ok("read", marie.ok("join", first), "--node") == "Why? Because."
    assert "does not contain" in marie.fail("NOT_FOUND", "split", said, "zebra")
    assert "half would be empty" in marie.fail("INVALID_INPUT", "split", said, "99")
    assert "nothing follows" in marie.fail("NOT_FOUND", "join", joined)
