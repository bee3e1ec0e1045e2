"""What an agent keeps in mind: per tree, durable, moved with it, gone with it."""

import pytest
from sqlalchemy import func, select
from tests.collaboration.commands.workplace import Workplace, open_with
from tests.covers import covers
from tests.soundness import check_sound

import weft
from weft.commands.scanner import scan
from weft.context.agent_view.operational_memory import memory_block
from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.runtime.contexts import agent_memory as remembered
from weft.store import schema


@covers("command.pin", "command.drop", "memory.block-format")
def test_pins_stand_in_the_block_until_they_are_dropped(work):
    a, doc = work.a.local_id, work.document.title
    assert work.ok(f"pin {a}") == f"✓ pinned [{a}]"
    assert work.ok(f'pin doc:"{doc}" section:Motivation') == f'✓ pinned doc:"{doc}" §motivation'
    assert work.ok(f"view {work.b.local_id}")
    assert work.ok("pin result:3") == "✓ pinned result:3"
    assert memory_block(work.session.memory()) == (
        "=== Operational Memory ===\nPinned:\n"
        f'  [{a}] "Why did she come back? Nobody in the village knows."\n'
        f'  doc:"{doc}" §motivation (3 words)\n    "# Motivation\n    She is afraid."\n'
        f'  result:3 → view {work.b.local_id} "✓ [{work.b.local_id}] human · just now\n'
        "      Her mother's death.\"\n\n"
        "Recent actions:\n"
        f'  pinned {a}, doc:"{doc}" · viewed {work.b.local_id} · pinned result:3\n'
        "==="
    )
    assert work.ok(f"drop pin:{a}") == f"✓ dropped pin [{a}]"
    assert work.ok(f'drop pin doc:"{doc}" section:motivation') == f'✓ dropped pin doc:"{doc}" §motivation'
    assert work.ok("drop pin result:3") == "✓ dropped pin result:3"
    assert work.session.memory().pins == ()
    assert work.no(f"drop pin:{a}") == (f"✗ NOT_FOUND: [{a}] is not pinned\n  hint: → memory shows your pins")


@covers("memory.excluded-pin")
def test_a_pin_on_an_excluded_or_pruned_node_shows_its_id_alone_until_it_is_back(work):
    a, b = work.a, work.b
    for node in (a, b):
        work.ok(f"pin {node.local_id}")
    pinned = memory_block(work.session.memory())
    a.exclude()
    b.prune()
    lines = f"Pinned:\n  [{a.local_id}] (excluded)\n  [{b.local_id}] (excluded)\n"
    assert lines in memory_block(work.session.memory())
    context = a.context(agent=work.session.agent.name)
    assert lines in context.system
    assert b.text not in context.system
    a.include()
    b.restore()
    assert memory_block(work.session.memory()) == pinned


@covers("command.pin", "memory.block-format")
def test_the_words_of_a_pinned_section_are_counted_without_its_heading_and_marks(work):
    work.document.save("# Motivation\n\n- She *is* afraid.\n* * *\n## Old\n1. Always.\n\n# Other\nNot this.")
    work.ok(f'pin doc:"{work.document.title}" section:motivation')
    (pin,) = work.session.memory().pins
    # She, *is*, afraid., Old, 1., Always.
    assert pin.words == 6
    line = f'  doc:"{work.document.title}" §motivation (6 words)\n    "# Motivation\n'
    assert line in memory_block(work.session.memory())


@covers("command.pin")
def test_a_pinned_document_is_shown_as_it_is_now_and_only_to_who_may_read_it(work):
    doc = work.document
    work.ok(f'pin doc:"{doc.title}"')
    doc.save("Rewritten.")
    (pin,) = work.session.memory().pins
    assert (pin.text, pin.words) == ("Rewritten.", 1)
    (pin,) = work.new_session(within=frozenset({"loom_aware"})).memory().pins
    assert (pin.title, pin.text) == (doc.title, "")
    work.loom.unlink(work.tree, doc)
    assert work.session.memory().pins[0].text == ""
    work.loom.document(doc.id).delete(confirm=doc.id)
    (pin,) = work.session.memory().pins
    assert (pin.title, pin.text, pin.words) == (doc.title, "", None)
    assert f'  doc:"{doc.title}" (not available)\n' in memory_block(work.session.memory())
    work.ok(f'drop pin doc:"{doc.title}"')


@covers("command.pin", "command.results-keep-their-numbers")
def test_a_pinned_result_keeps_its_text_and_its_handle_over_runs(work):
    work.ok(f"view {work.a.local_id} full")
    work.ok("pin result:1")
    work.ok("help")
    work.session = work.new_session()
    assert work.one("memory").number == 4
    work.session = work.new_session()
    work.session = work.new_session()
    assert work.one("memory").number == 5
    assert "Nobody in the village knows." in work.session.results[0].text
    (pin,) = work.session.memory().pins
    assert (pin.number, pin.command) == (1, f"view {work.a.local_id} full")


@covers("command.stash", "memory.stashes-out-of-context")
def test_stashes_are_texts_contents_or_summaries_of_ranges(work):
    root, a, b = (node.local_id for node in (work.root, work.a, work.b))
    work.loom.summaries.node(work.tree.id, work.a.id)
    assert work.ok('stash "marie insight" "She lies."') == '✓ stashed "marie insight" · 3 tokens'
    work.ok(f'stash "words" content-of:{a}')
    work.ok(f'stash "early discussion" summary-of:{root}-{b}')
    memory = work.session.memory()
    assert [(each.label, each.text, each.source) for each in memory.stashes] == [
        ("marie insight", "She lies.", ""),
        ("words", work.a.text, f"content-of:{a}"),
        (
            "early discussion",
            f"[{root}] Marie came home.\n[{a}] Why did she come back?\n[{b}] Her mother's death.",
            f"summary-of:{root}-{b}",
        ),
    ]
    block = memory_block(memory)
    assert "She lies." not in block
    assert 'Stashed (not in context): "marie insight", "words", "early discussion"' in block
    assert work.no('stash "words" "other"') == (
        '✗ CONFLICT: there is a stash "words" already\n  hint: → drop stash:"words" first'
    )
    assert work.no(f'stash "wrong" summary-of:{b}-{root}').startswith("✗ INVALID_SYNTAX: ")
    assert work.no(f'stash "wrong" summary-of:{work.beside.local_id}-{b}').startswith("✗ INVALID_SYNTAX: ")


@covers("command.recall", "memory.recalled-stash-stays", "command.drop")
def test_a_recalled_stash_is_there_for_this_run_and_the_next(work):
    work.ok('stash "theme" "Loss,\nand the sea."')
    assert work.ok('recall "theme"') == (
        '✓ recalled "theme" · in your memory block until the end of the next turn'
    )
    shown = 'Recalled:\n  "theme" "Loss,\n    and the sea."'
    assert shown in memory_block(work.session.memory())
    work.session = work.new_session()
    assert shown in memory_block(work.session.memory())
    assert shown in memory_block(work.session.memory())
    work.session = work.new_session()
    assert shown not in memory_block(work.session.memory())
    work.ok('recall "theme"')
    assert work.ok('drop stash:"theme"') == '✓ dropped stash "theme"'
    assert work.session.memory().recalled == ()
    assert (
        work.no('recall "theme"') == '✗ NOT_FOUND: stash "theme" does not exist\n  hint: nothing is stashed'
    )


@covers("command.memory", "error.in-the-trace")
def test_the_trace_tells_what_was_done_and_what_went_wrong(work):
    a = work.a.local_id
    work.say(
        f'→ view {a}\n→ view xyz999\n→ annotate {a} "hm"\n→ dance\n→ continue from {a} n:2 using agent:"Base"'
    )
    assert work.ok("memory trace") == (
        "✓ 5 actions · 2 failed\n"
        f"  viewed {a} · just now\n"
        "  viewed xyz999 · just now · ✗ NOT_FOUND: node [xyz999] does not exist in this tree\n"
        f"  annotated {a} · just now\n"
        "  said what is no command · just now · ✗ INVALID_SYNTAX: unknown command\n"
        f"  continued from {a} (2 results) · just now"
    )
    assert work.ok("memory stashed") == "✓ 0 stashes"
    assert work.ok("memory").startswith("✓ 0 pins · 0 stashes · 7 actions\n=== Operational Memory ===\n")


@pytest.mark.outer
@covers("memory.trace-compressed")
def test_old_actions_are_forgotten_in_the_end(work, monkeypatch):
    monkeypatch.setattr(remembered, "KEPT_ACTIONS", 10)
    monkeypatch.setattr(remembered, "_SWEEP", 5)
    work.say("→ help view\n" * 40)
    with work.loom.read.store.read() as session:
        kept = session.execute(
            select(func.count())
            .select_from(schema.memory)
            .where(schema.memory.c.kind == 3)
            .where(schema.memory.c.agent == work.session.caller.actor.agent)
        ).scalar_one()
    assert 10 <= kept <= 15


@covers("command.think")
def test_thoughts_are_kept_and_nobody_elses(work):
    found = scan("→ think What does she want?\nNothing. ←\n→ help view")
    work.session.think(found.thoughts)
    assert [each.command for each in work.session.run(found.batch, turn=1)] == ["help view"]
    assert work.new_session().thoughts() == ["What does she want?\nNothing."]
    other = Workplace(work.loom)
    theirs = type(work.session)(work.loom.caller, work.tree.id, other.agent, run=other.session.run_id)
    assert theirs.thoughts() == []
    assert "want" not in work.tree.context(agent="Base").system
    assert "want" not in memory_block(work.session.memory())


@covers("memory.per-agent-and-tree")
def test_memory_is_per_agent_and_tree(work):
    work.ok('stash "mine" "x"')
    other = Workplace(work.loom)
    elsewhere = type(work.session)(work.loom.caller, other.tree.id, work.agent, run=other.session.run_id)
    assert elsewhere.memory().stashes == ()
    theirs = type(work.session)(work.loom.caller, work.tree.id, other.agent, run=other.session.run_id)
    assert theirs.memory().stashes == ()


@pytest.mark.outer
@covers("memory.per-agent-and-tree")
def test_memory_survives_a_restart(address):
    with open_with(address) as loom:
        work = Workplace(loom)
        work.ok(f"pin {work.a.local_id}")
        work.ok('stash "theme" "Loss."')
        before = work.session.memory()
    with open_with(address) as loom:
        session = type(work.session)(loom.caller, work.tree.id, work.agent, run=work.session.run_id)
        assert session.memory() == before
        check_sound(loom)
        assert loom.verify().verdict == "valid"


@covers("command.undo", "op.undo-every-operation")
def test_undo_brings_back_what_was_let_go_of_and_is_refused_where_the_label_is_taken(work):
    work.ok('stash "theme" "Loss."')
    work.ok('drop stash:"theme"')
    assert work.ok("undo") == "✓ undid unstash"
    assert work.session.memory().stashes[0].text == "Loss."
    assert work.ok("redo") == "✓ redid unstash"
    work.ok('stash "theme" "The sea."')
    work.ok("undo")
    work.ok("undo")
    assert work.session.memory().stashes[0].text == "Loss."


@covers("op.delete-leaves-no-content")
def test_events_hold_no_words_of_a_memory_and_deleting_the_tree_leaves_none(work):
    secret = "Zweiundvierzig"
    work.ok(f'stash "{secret} label" "{secret} text"')
    work.ok(f'recall "{secret} label"')
    work.session.think(scan(f"→ think {secret} ←").thoughts)
    said = work.a.say(f"{secret}!")
    work.ok(f"view {said.local_id}")
    work.ok("pin result:3")
    with work.loom.read.store.read() as session:
        events = session.execute(select(schema.events.c.payload, schema.events.c.inverse)).all()
        assert not any(secret in payload or secret in inverse for payload, inverse in events)
        held = select(func.count()).select_from(schema.memory).where(schema.memory.c.body.contains(secret))
        assert session.execute(held).scalar_one() > 0
    work.tree.delete(confirm=work.tree.id)
    with work.loom.read.store.read() as session:
        assert session.execute(held).scalar_one() == 0
    # Whoever is still at work there is told so.
    with pytest.raises((NotFoundError, ConflictError)):
        work.session.memory()


@pytest.mark.outer
@covers("memory.moves-with-the-tree")
def test_memory_moves_with_the_tree(grove, tmp_path):
    work = Workplace(grove)
    a = work.a.local_id
    for line in (f"pin {a}", 'stash "theme" "Loss."', 'stash "gone" "x"', 'drop stash:"gone"', f"view {a}"):
        work.ok(line)
    grove.export(tmp_path / "tree.json", [work.tree])
    with weft.open(tmp_path / "other.db") as other:
        other.import_(tmp_path / "tree.json")
        session = type(work.session)(other.caller, work.tree.id, work.agent, run=work.session.run_id)
        assert session.memory() == work.session.memory()
        # What was let go of came along, so that undo has it.
        session.run(scan("→ undo\n→ memory stashed").batch, turn=1)
        assert [each.label for each in session.memory().stashes] == ["theme", "gone"]
        assert other.verify().verdict == "valid"


def test_a_memory_that_cannot_be_read_is_passed_over(work):
    work.ok(f"pin {work.a.local_id}")
    store = work.loom.read.store
    store.write(lambda t: t.execute(schema.memory.update().values(body="{nonsense")))
    memory = work.session.memory()
    assert memory.pins == ()


@covers("command.results-fade", "memory.pins-survive")
def test_a_pinned_result_is_there_in_a_later_run_in_full(work):
    long = work.a.say("\n".join(f"Line {number} of many." for number in range(1_000)))
    work.ok(f"view {long.local_id} full")
    work.ok("pin result:1")
    work.session = work.new_session()
    assert "Line 999 of many." in work.ok("view result:1")
    work.ok("drop pin:result:1")
    work.session = work.new_session()
    assert "there is no result:1\n" in work.no("view result:1")


@covers("command.results-fade")
def test_a_refusal_that_is_viewed_again_is_no_second_one(work):
    work.no("continue n:50")
    assert work.ok("view result:1").splitlines() == [
        "✓ result:1 · refused",
        "  ✗ LIMIT_EXCEEDED: max continuations per request is 10",
        "    hint: use n:10 or less",
    ]


@covers("memory.trace-compressed")
def test_branches_that_were_viewed_are_counted_as_nodes(work):
    for _ in range(2):
        work.ok(f"view branch:{work.a.local_id} as:prose")
    for _ in range(40):
        work.ok(f"view {work.a.local_id}")
    assert "viewed branch of 2 nodes" in work.ok("memory")


@covers("command.results-fade", "memory.per-agent-and-tree")
def test_a_result_is_referred_to_by_its_handle_in_the_next_run_and_then_gone(work):
    work.ok(f"view {work.a.local_id}")
    seen = work.ok(f"view {work.a.local_id} full")
    work.no("view result:9")
    assert work.session.result(2).text == seen
    work.session = work.new_session()
    assert work.ok("view result:2") == seen
    assert [each.number for each in work.session.results] == [3]
    assert work.session.memory().pins == ()
    work.session = work.new_session()
    assert "there is no result:2\n" in work.no("view result:2")
    assert work.ok("view result:3") == seen
    stranger = Workplace(work.loom)
    assert stranger.session.result(3) is None


@covers("command.results-fade", "op.delete-is-hard")
def test_no_result_outlives_what_it_tells_of_or_leaves_with_a_file(work, tmp_path):
    doc = work.loom.write_document(f"Secrets {work.number}", "CANARY-7")
    work.loom.link(work.tree, doc)
    work.ok(f'read doc:"{doc.title}"')

    def kept():
        with work.loom.read.store.read() as session:
            return "".join(session.execute(select(schema.memory.c.body)).scalars())

    assert "CANARY-7" in kept()
    work.loom.export(tmp_path / "out.json", [work.tree.id])
    assert "CANARY-7" not in (tmp_path / "out.json").read_text("utf-8")
    doc.delete(confirm=doc.id)
    assert "CANARY-7" not in kept()
    assert work.session.result(1).text == work.session.results[0].text


@covers("command.help", "command.drop")
def test_a_pinned_document_is_let_go_in_every_way_one_would_say_it(work):
    doc = f'doc:"{work.document.title}"'
    for form in (f"drop pin {doc}", f"drop pin:{doc}", f"unpin {doc}"):
        work.ok(f"pin {doc}")
        assert "dropped" in work.ok(form)


@covers("command.help", "command.leaving-the-tree")
def test_help_names_no_other_tree_to_who_may_not_leave_its_own(work):
    assert 'link ID to ID|doc:"…" [note:"…"]' in work.ok("help link")
    assert "tree:" not in work.ok("help link")


def test_text_that_no_database_holds_is_refused_before_anything_is_done(work):
    before = work.events()
    for text in ('→ stash "\ud800" "x"', '→ search "\udcff"', '→ annotate a "\0"'):
        with pytest.raises(InvalidInputError):
            work.tree.do(text)
    assert work.events() == before
