"""Commands that write: nodes, marks, references, folds; stepping back; documents."""

import pytest
from tests.collaboration.commands.workplace import Workplace
from tests.covers import covers

from weft.tree.agent import AgentType
from weft.tree.item import Item


@covers("command.respond")
def test_respond_answers_a_node_and_moves_the_agent_there(work):
    a = work.a.local_id
    told = work.ok(
        f'respond {a} "Because of \\"it\\"." context:{work.beside.local_id} instruction:{work.root.local_id}'
    )
    (made,) = work.session.results[-1].nodes
    assert told == f"✓ created [{made}] in reply to [{a}] · you are at [{made}]"
    node = work.node(made)
    assert (node.text, node.value.author_type, node.value.author_id) == (
        'Because of "it".',
        AgentType.MODEL,
        work.agent.id,
    )
    assert [source.role for source in node.value.edge.sources] == ["primary", "context", "instruction"]
    assert work.session.place().path[-1] == made


@covers("command.annotate")
def test_annotate_notes_beside_a_node(work):
    told = work.ok(f'annotate {work.a.local_id} "hm"')
    (note,) = work.a.annotations
    assert told == f"✓ annotated [{work.a.local_id}] · [{note.local_id}]"
    assert note.text == "hm"


@covers("command.edit")
def test_edit_says_branch_or_version_as_the_mode_has_it(grove):
    for mode, told in (
        ("dialogue", "✓ created branch [{0}'] from [{0}]\n  conversation continues from edit point"),
        ("buffer", "✓ created version [{0}'] from [{0}]\n  downstream nodes preserved via hyperedge"),
    ):
        work = Workplace(grove, mode=mode)
        a = work.a.local_id
        assert work.ok(f'edit {a} "revised content here"') == told.format(a)
        # And once more, of the edit: primes are ids like any other.
        assert f"[{a}'']" in work.ok(f'edit {a}\' "again"')
        assert work.node(f"{a}''").text == "again"


@covers("command.merge")
def test_merge_makes_one_node_of_several(work):
    a, beside = work.a.local_id, work.beside.local_id
    told = work.ok(f'merge {a} {beside} "Both."')
    (made,) = work.session.results[-1].nodes
    assert told == f"✓ created [{made}] from [{a}], [{beside}] · you are at [{made}]"


@covers("command.split", "command.join")
def test_split_and_join(work):
    a, b = work.a.local_id, work.b.local_id
    assert work.ok(f'split {a} at:"Nobody"') == f"✓ split [{a}] into [{a}'] and [{a}'']"
    assert work.node(f"{a}''").text == "Nobody in the village knows."
    assert work.no(f'split {a} at:"Somebody"').startswith("✗ NOT_FOUND: ")
    assert work.ok(f"join {a}") == f"✓ joined [{a}] and [{b}] as [{a}''']"


@covers("command.attach")
def test_attach_hangs_nodes_documents_and_notes_on_a_turn(work, tmp_path):
    turn = work.a.say("Look at these.").local_id
    (tmp_path / "Snow.md").write_text("It fell.")
    work.loom.vaults.mount(tmp_path, f"Vault {work.number}")
    for item, told in (
        (f"[{work.a.local_id}]", f"[{work.a.local_id}]"),
        (f"doc:{work.document.title}", f'doc:"{work.document.title}"'),
        (f"Vault {work.number}:Snow.md", f'"Vault {work.number}:Snow.md"'),
    ):
        assert work.ok(f'attach {turn} "{item}"') == f"✓ attached {told} to [{turn}]"
    assert len(work.node(turn).value.attachments) == 3
    assert work.no(f'attach {turn} "Nowhere.md"').startswith("✗ NOT_FOUND: ")
    apart = work.loom.write_document(f"Apart {work.number}", "x")
    assert work.no(f'attach {turn} "doc:{apart.title}"') == (
        f'✗ CROSS_TREE: document "{apart.title}" is not linked to this tree\n'
        f'  hint: → attach {turn} "doc:{apart.title}" in:grove'
    )


@covers("command.attach")
def test_without_the_right_to_read_only_nodes_are_attached(grove):
    work = Workplace(grove, permissions=("loom_aware", "loom_write"))
    turn = work.a.say("Look.").local_id
    work.ok(f'attach {turn} "[{work.root.local_id}]"')
    for item in (f"doc:{work.document.title}", "Snow.md"):
        assert work.no(f'attach {turn} "{item}"').startswith("✗ PERMISSION_DENIED: doc_read not enabled")
    assert [item.id for item in work.node(turn).value.attachments] == [work.root.local_id] or isinstance(
        work.node(turn).value.attachments[0], Item
    )


@covers("command.link")
def test_link_and_unlink(grove):
    work = Workplace(grove, crosses=True)
    a, b, title = work.a.local_id, work.b.local_id, work.document.title
    assert work.ok(f'link {a} to {b} note:"see"') == f'✓ linked [{a}] to [{b}] · "see"'
    assert work.ok(f'link {a} to doc:"{title}"') == f'✓ linked [{a}] to doc:"{title}"'
    other = grove.plant(f"Other {work.number}")
    assert work.ok(f'link {a} to tree:"{other.title}"') == f'✓ linked [{a}] to tree:"{other.title}"'
    assert work.ok(f"unlink {a} from {b}") == f"✓ unlinked [{a}] from [{b}]"
    assert work.ok(f'unlink {a} from doc:"{title}"') == f'✓ unlinked [{a}] from doc:"{title}"'
    assert work.no(f"unlink {a} from {b}").startswith("✗ NOT_FOUND: these two are not linked")


@covers("command.tag", "command.bookmark", "command.exclude", "command.prune")
def test_marks(work):
    a, b = work.a.local_id, work.b.local_id
    assert [work.ok(line) for line in (f"tag {a} mood", f"untag {a} mood")] == [
        f"✓ tagged [{a}] · #mood",
        f"✓ untagged [{a}] · #mood",
    ]
    assert [work.ok(line) for line in (f'bookmark {a} "here"', f"bookmark {b}", f"unbookmark {a}")] == [
        f'✓ bookmarked [{a}] · "here"',
        f"✓ bookmarked [{b}]",
        f"✓ unbookmarked [{a}]",
    ]
    assert work.ok(f"prune {a}") == f"✓ pruned [{a}] · 2 nodes · → restore {a} brings it back"
    assert work.no(f'respond {b} "x"').startswith(f"✗ CONFLICT: [{b}] is pruned")
    assert work.ok(f"restore {a}") == f"✓ restored [{a}] · 2 nodes"
    assert work.ok(f"exclude {b}") == f"✓ excluded [{b}] · left out of contexts"
    assert work.node(b).metadata.excluded
    assert work.ok(f"include {b}") == f"✓ included [{b}] · in contexts again"
    assert not work.node(b).metadata.excluded


@covers("command.nothing-changed")
def test_what_was_so_already_is_told_as_such_and_is_no_step(work, tmp_path):
    a, title = work.a.local_id, work.document.title
    (tmp_path / "Snow.md").write_text("It fell. #cold")
    work.loom.vaults.mount(tmp_path, f"Cold {work.number}")
    turn = work.a.say("Look.").local_id
    work.say(
        f'→ bookmark {a} "here"\n→ exclude {a}\n→ tag {a} mood\n→ pin {a}\n→ attach {turn} "#cold"\n'
        f'→ collapse {work.root.local_id}-{a} "opening"\n→ expand "opening"\n→ include {a}\n→ unbookmark {a}'
    )
    work.ok(f'bookmark {work.b.local_id} "here"')
    lines = {
        f"unbookmark {a}": f"[{a}] has no bookmark",
        f'bookmark {work.b.local_id} "here"': f"[{work.b.local_id}] is bookmarked so already",
        f"include {a}": f"[{a}] is not excluded",
        f"tag {a} mood": f"[{a}] has this tag already",
        f"pin {a}": f"[{a}] is pinned already",
        'expand "Opening"': '"opening" is expanded already',
        f'attach {turn} "#cold"': f'all of "#cold" is attached to [{turn}] already',
        "think ←": "there was no thought",
    }
    before = work.events()
    assert {line: work.ok(line) for line in lines} == {
        line: f"✓ nothing changed · {why}" for line, why in lines.items()
    }
    for line in ('append ""', 'replace:2-2 "She is afraid."'):
        assert work.ok(f'write doc:"{title}" {line}') == f'✓ nothing changed in doc:"{title}" · revision 1'
    assert work.events() == before
    assert work.ok(f"exclude {a}").startswith("✓ excluded")
    assert work.ok(f"exclude {a}") == f"✓ nothing changed · [{a}] is excluded already"
    assert f"unbookmarked {a} (nothing changed)" in work.ok("memory trace")


@covers("command.collapse")
def test_collapse_and_expand(work):
    root, b = work.root.local_id, work.b.local_id
    assert work.ok(f'collapse {root}-{b} "opening" "How it began."') == (
        f'✓ collapsed [{root}]-[{b}] as "opening" · 3 nodes'
    )
    assert [group.description for group in work.tree.groups] == ["How it began."]
    assert work.ok('expand "Opening"') == '✓ expanded "opening" · 3 nodes'
    assert work.tree.groups[0].expanded
    assert work.no('expand "other"') == (
        '✗ NOT_FOUND: collapsed range "other" does not exist\n  hint: there are "opening"'
    )


@covers("command.undo")
def test_undo_takes_back_ones_own_operations_wherever_they_were(work):
    a = work.a.local_id
    work.b.bookmark("mine")
    work.ok(f"bookmark {a}")
    work.ok(f'respond {a} "So."')
    (made,) = work.session.results[-1].nodes
    work.ok(f'write doc:"{work.document.title}" append "More."')
    assert work.ok("undo") == "✓ undid save"
    assert work.ok("undo") == f"✓ undid append [{made}]"
    assert work.ok("undo") == "✓ undid bookmark"
    # What the human did is not the agent's to take back.
    assert work.no("undo").startswith("✗ NOT_FOUND: there is nothing of yours to undo here")
    assert work.node(work.b.id).metadata.bookmarked
    assert [work.ok("redo") for _ in range(3)] == [
        "✓ redid bookmark",
        f"✓ redid append [{made}]",
        "✓ redid save",
    ]
    assert work.no("redo").startswith("✗ NOT_FOUND: ")
    assert work.loom.document(work.document.id).text.endswith("More.\n")


@covers("command.read")
def test_read_shows_a_document_or_a_part_of_it(work):
    title = work.document.title
    head = f'✓ doc:"{title}"'
    assert work.ok(f'read doc:"{title}"') == (
        f"{head} · revision 1\n  # Motivation\n  She is afraid.\n\n  # Place\n  A house."
    )
    assert work.ok(f'read doc:"{title}" lines:2-4') == (
        f"{head} · lines 2-4 · revision 1\n  She is afraid.\n\n  # Place"
    )
    assert work.ok(f'read doc:"{title}" section:place') == (
        f"{head} · §place · revision 1\n  # Place\n  A house."
    )
    assert work.ok(f'read doc:"{title}" summary') == (
        f"{head} · summary · revision 1\n  [extract] Motivation She is afraid."
    )
    assert work.no(f'read doc:"{title}" section:time').startswith("✗ NOT_FOUND: no section 'time'")
    assert work.no('read doc:"Nowhere at all"').startswith("✗ NOT_FOUND: no document")


@covers("command.write")
@pytest.mark.parametrize(
    ("place", "done", "text"),
    [
        ("append", "appended", "# Motivation\nShe is afraid.\n\n# Place\nA house.\nNEW\n"),
        ("at:2", "inserted", "# Motivation\nNEW\nShe is afraid.\n\n# Place\nA house.\n"),
        ("at:6", "inserted", "# Motivation\nShe is afraid.\n\n# Place\nA house.\nNEW\n"),
        ("at:motivation", "inserted", "# Motivation\nShe is afraid.\nNEW\n\n# Place\nA house.\n"),
        ("at:place", "inserted", "# Motivation\nShe is afraid.\n\n# Place\nA house.\nNEW\n"),
        ("replace:1-3", "replaced", "NEW\n# Place\nA house.\n"),
        ("replace:motivation", "replaced", "# Motivation\nNEW\n\n# Place\nA house.\n"),
    ],
)
def test_write_changes_a_part_and_makes_a_revision(work, place, done, text):
    title = work.document.title
    assert work.ok(f'write doc:"{title}" {place} "NEW"') == f'✓ {done} in doc:"{title}" · revision 2'
    saved = work.loom.document(work.document.id)
    assert saved.text == text
    assert saved.revisions()[0].author_id == work.agent.id


@covers("command.write", "command.write-by-line-as-read")
def test_lines_are_those_of_the_text_that_was_read(work):
    title = work.document.title
    work.ok(f'read doc:"{title}"')
    work.document.save("A new first line.\n" + work.document.text)
    assert work.no(f'write doc:"{title}" replace:2-2 "NEW"') == (
        f'✗ CONFLICT: doc:"{title}" is at revision 2, you have read 1\n'
        "  hint: read it again: its lines may be others now"
    )
    # Sections and the end are where they are, whoever wrote meanwhile.
    work.ok(f'write doc:"{title}" append "NEW"')
    assert work.loom.document(work.document.id).text.startswith("A new first line.\n")
    work.ok(f'write doc:"{title}" at:1 "Before."')
    assert work.no(f'write doc:"{title}" at:99 "x"').startswith("✗ NOT_FOUND: line 99 is past the end")


@pytest.mark.outer
@covers("command.leaving-the-tree", "command.cross-tree-hint")
def test_what_leaves_the_tree_needs_the_flag_and_an_agent_that_may(grove):
    home, away = Workplace(grove), Workplace(grove)
    roaming = Workplace(grove, crosses=True)
    title, doc = away.tree.title, away.document.title
    a = away.a.local_id
    assert home.no(f'read doc:"{doc}"') == (
        f'✗ CROSS_TREE: document "{doc}" is not linked to this tree\n  hint: → read doc:"{doc}" in:grove'
    )
    assert home.no(f'view {a} tree:"{title}"') == (
        f'✗ CROSS_TREE: tree "{title}" is outside of this tree\n  hint: → view {a} in tree:"{title}"'
    )
    assert home.no(f"view {away.a.id}") == (
        f'✗ CROSS_TREE: node [{a}] is outside of this tree\n  hint: → view {away.a.id.lower()} in tree:"{title}"'
    )
    lines = [
        f'read doc:"{doc}" in:grove',
        f'write doc:"{doc}" append "x" in:grove',
        f'pin doc:"{doc}" in:grove',
        f'view {a} in tree:"{title}"',
        f'respond {a} "I was here." in tree:"{title}"',
        f'undo in tree:"{title}"',
        'search "village" in:grove',
        f'stash "theirs" content-of:{a} in tree:"{title}"',
        f'link {{}} to doc:"{doc}"',
        f'link {{}} to tree:"{title}"',
    ]
    before = away.events()
    for line in lines:
        assert home.no(line.format(home.a.local_id)) == (
            "✗ PERMISSION_DENIED: crossTree not enabled\n"
            "  hint: stay in this tree, or ask the human to let you leave it"
        )
    assert away.events()[0] == before[0]
    for line in lines:
        roaming.ok(line.format(roaming.a.local_id))
    assert f'in tree:"{title}"' in roaming.ok('search "village" in:grove')
    assert roaming.session.memory().stashes[0].text == away.a.text
    assert roaming.no(f'pin {a} in tree:"{title}"').startswith("✗ INVALID_SYNTAX: pin is about what you keep")
    assert roaming.no("tree in:grove").startswith("✗ INVALID_SYNTAX: in:grove is for searching")
    # One's own tree by its name is not elsewhere.
    home.ok(f'view {home.a.local_id} in tree:"{home.tree.title}"')
