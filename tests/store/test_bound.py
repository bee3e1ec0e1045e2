"""Whatever people write, it reaches a database as a value, never as a part of a statement."""

import pytest
from tests.covers import covers
from tests.soundness import check_sound
from tests.statements import statements

import weft
from weft.errors import WeftError

CANARY = "zq9x"
NASTY = f"{CANARY}'); DROP TABLE nodes; --\" :in_tree %(x)s $1 ? \\"


@covers("security.bound-parameters")
def test_no_statement_holds_a_word_that_somebody_wrote(fresh_loom: weft.Grove) -> None:
    grove = fresh_loom
    with statements(grove.caller.executor.store) as heard:
        tree = grove.plant(NASTY, NASTY, system_context=NASTY, description=NASTY)
        muse = grove.add_agent(NASTY, model_ref=f"local:{CANARY}", system_prompt=NASTY)
        said = tree.say(NASTY)
        answer = said.say(NASTY, author=muse.id)
        edited = answer.edit(f"{NASTY} more")
        edited.bookmark(NASTY)
        edited.annotate(NASTY)
        tree.collapse(said, answer, NASTY, NASTY)
        document = grove.write_document(NASTY, NASTY)
        document.save(f"{NASTY} again")
        grove.tag(said, CANARY)
        grove.link(said, document, NASTY)
        tree.context(text=NASTY)
        grove.search(NASTY)
        grove.search(CANARY, tree=tree.id)
        for asked in (grove.tree, grove.document, tree.node):
            with pytest.raises(WeftError):
                asked(f"{NASTY} nowhere")
        tree.undo()
        tree.redo()
    assert heard
    assert [statement for statement in heard if CANARY in statement.lower()] == []
    assert tree.node(said.id).text == NASTY
    check_sound(grove)
