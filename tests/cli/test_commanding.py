"""Commands as models say them, from the command line: do."""

import pytest
from tests.cli.desk import Desk
from tests.covers import covers

from weft.errors import CODES


@pytest.fixture
def desk_with_words(marie: Desk) -> tuple[Desk, str]:
    return marie, marie.json("say", "Why did she come back? Nobody knows.")["localId"]


@covers("cli.do")
def test_do_carries_out_a_command_and_prints_the_answer(desk_with_words):
    desk, node = desk_with_words
    assert desk.ok("do", f"→ view {node} full") == (
        f"✓ [{node}] human · just now\n  Why did she come back? Nobody knows."
    )
    # The arrow is hard to type, and a shell takes quotation marks off.
    assert desk.ok("do", "annotate", node, "so she says").startswith(f"✓ annotated [{node}] · [")
    assert "so she says" in desk.ok("do", "list", node, "annotations")


@covers("cli.do")
def test_do_reads_several_from_a_pipe_and_its_exit_code_is_that_of_the_first_error(desk_with_words):
    desk, node = desk_with_words
    answer = desk(
        "do", stdin=f'→ bookmark {node}\n→ view xyz999\n→ expand "x"\n→ annotate {node} "two\nlines"\n'
    )
    assert answer.code == CODES["NOT_FOUND"].exit
    assert answer.err == ""
    assert answer.out.startswith(
        f"✓ bookmarked [{node}]\n\n✗ NOT_FOUND: node [xyz999] does not exist in this tree\n\n✗ NOT_FOUND: "
    )
    assert "two\nlines" in desk.json("do", "view", node, "full", "with-annotations")[0]["text"].replace(
        "\n    ", "\n"
    )
    assert desk("do", f"→ bookmark {node}", "→ help view").code == 0


@covers("cli.do")
def test_do_answers_in_json(desk_with_words):
    desk, node = desk_with_words
    answer = desk("do", "--json", f'→ respond {node} "So."', "→ switch next")
    assert answer.code == CODES["NOT_FOUND"].exit
    import json

    done, failed = json.loads(answer.out)
    assert (done["command"], done["ok"], len(done["nodes"])) == (f'respond {node} "So."', True, 1)
    assert (failed["ok"], failed["code"], failed["nodes"]) == (False, "NOT_FOUND", [])


@covers("cli.do")
def test_do_lets_an_agent_do_it_with_its_own_rights(desk_with_words):
    desk, node = desk_with_words
    desk.ok("agents", "add", "Muse", "--model", "scripted:muse", "--may", "loom_aware")
    assert desk.ok("do", "--agent", "Muse", "tree").startswith("✓ tree from [")
    refused = desk("do", "--agent", "Muse", f"→ bookmark {node}")
    assert refused.code == CODES["PERMISSION_DENIED"].exit
    assert refused.out.startswith("✗ PERMISSION_DENIED: loom_write not enabled")


@covers("cli.do")
def test_do_refuses_what_is_no_command_and_does_nothing(desk_with_words):
    desk, node = desk_with_words
    told = desk.fail("INVALID_SYNTAX", "do", stdin=f"Let me think.\n→ prune {node}\n")
    assert "nothing was done" in told
    assert desk.fail("INVALID_INPUT", "do", stdin="")
    assert desk.fail("NOT_FOUND", "do", "--agent", "Nobody", "tree")
