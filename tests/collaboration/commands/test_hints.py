"""A refusal says what the agent that speaks commands can do about it."""

from pathlib import Path

from tests.collaboration.commands.workplace import Workplace
from tests.covers import covers

import weft
from weft.runtime.contexts.linked_documents import names_hint

SOURCE = Path(weft.__file__).parent


@covers("command.hints-can-be-followed")
def test_names_that_nobody_has_are_answered_with_those_there_are(grove):
    home, roaming = Workplace(grove), Workplace(grove, crosses=True)
    named = f'\n  hint: there are "{home.document.title}"'
    for line in ('read doc:"Nowhere"', 'pin doc:"Nowhere"', 'write doc:"Nowhere" append "x"'):
        assert home.no(line) == f"✗ NOT_FOUND: no document 'Nowhere'{named}"
    asked = home.no('continue using agent:"Nobody"')
    assert asked.startswith("✗ NOT_FOUND: no agent 'Nobody'\n  hint: there are ")
    assert '"Base"' in asked
    assert f'"{home.agent.name}"' not in asked
    elsewhere = roaming.no(f'view {roaming.a.local_id} in tree:"Nowhere"')
    assert elsewhere.startswith("✗ NOT_FOUND: no tree 'Nowhere'\n  hint: there are ")
    assert f'"{home.tree.title}"' in elsewhere
    assert f'"{roaming.tree.title}"' not in elsewhere
    # Who may not leave the tree is not told of others.
    assert home.no(f'link {home.a.local_id} to tree:"Nowhere"') == "✗ NOT_FOUND: no tree 'Nowhere'"


@covers("command.hints-can-be-followed")
def test_a_tree_without_documents_says_so(grove):
    work = Workplace(grove)
    grove.unlink(work.tree, work.document)
    assert work.no('read doc:"Nowhere"') == (
        "✗ NOT_FOUND: no document 'Nowhere'\n  hint: no document is linked to this tree"
    )
    assert names_hint(map(str, range(30)), "").endswith('"19", and more')
    long = grove.write_document(f"A very long title {work.number} " + "x" * 200, "It is long.")
    grove.link(work.tree, long)
    told = work.no('read doc:"Nowhere"').rpartition('there are "')[2].rstrip('"')
    assert len(told) == 80
    assert "It is long." in work.ok(f'read doc:"{told}"')


@covers("command.hints-can-be-followed")
def test_what_only_people_can_do_is_not_hinted_at(work):
    root, a = work.root.local_id, work.a.local_id
    lines = {
        f"prune {root}": "prune what follows it",
        f'edit {root} "x"': 'say the new text under it: → respond . "…"',
        f'split {a} at:"e"': "quote more of the text",
        f'split {a} at:"Why"': "quote words from its middle",
        f'attach {a} "https://example.org"': 'attach a node with its text as [ID]: → respond . "…"',
        'continue using agent:"human"': "name a model's agent",
    }
    lines[f'tag {a} "{"x" * 300}"'] = "make it shorter"
    lines[f'annotate {a} "a\0b"'] = "leave it out"
    for line, hint in lines.items():
        assert work.no(line).endswith(f"\n  hint: {hint}"), line
    work.a.say("Another.")
    names = ", ".join(sorted(each.local_id for each in work.a.children))
    assert work.no(f"join {a}").endswith(f"\n  hint: go to one of {names} first: → switch {names[:4]}")
    work.tree.archive()
    assert work.no(f'annotate {a} "x"').endswith("\n  hint: ask the human to unarchive it")
    # A person has more than commands.
    assert work.tree.do(f'annotate {a} "x"').text.endswith("\n  hint: unarchive it first: tree.unarchive()")
