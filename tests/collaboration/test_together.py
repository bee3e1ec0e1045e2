"""Collaborators beside one another: leases, fencing, presence, subjects."""

import pytest
from sqlalchemy import update
from tests.collaboration.stage import ALL, MUSE, run, words, workshop
from tests.covers import covers
from tests.generation.stage import attempts, count
from tests.soundness import check_sound

from weft.errors import ConflictError, InvalidInputError
from weft.runtime.collaboration.run_events import Answered, Ending, TextChunk
from weft.runtime.contexts.agent_memory import AgentMemory
from weft.store import schema
from weft.testing import Gate, Reply, Scripted
from weft.tree.node import Status


def other(name="Other", script=("Mine.",), gate=None):
    return Scripted(list(script), name=name.lower(), gate=gate)


def name(model, node):
    """Let a script speak of a node that was not there when it was written."""
    model._replies = iter([text.replace("NODE", node.local_id) for text in model._replies or ()])


def add(grove, name="Other", **settings):
    return grove.add_agent(name, model_ref=f"{name.lower()}:x", permissions=ALL, **settings)


@covers(
    "lease.one-generator-per-position",
    "lease.conflict-names-the-holder",
    "lease.different-branches-free",
)
def test_of_two_on_one_place_one_works_and_the_other_is_told_who_and_until_when(address):
    gate = Gate()
    with workshop(address, ["Let me.\n→ tree\n", "Done."], other(), gate=gate) as (grove, tree, _):
        add(grove)
        node = tree.say("Here.")
        beside = tree.root.say("Elsewhere.")
        with run(grove, tree, None, node=node) as going:
            gate.wait(1)
            with pytest.raises(ConflictError, match=r"is being extended by 'Muse' until \d{4}-") as refused:
                grove.agent("Other").run(None, tree=tree, node=node)
            assert refused.value.hint == "wait for it, or go on from another node"
            with pytest.raises(ConflictError, match="'Muse' is extending"):
                node.say("Me too.")
            with pytest.raises(ConflictError, match="by 'Muse'"):
                node.generate(agent="Echo")
            (said,) = tree.do(f'→ respond {node.local_id} "Me too."', agent="Other")
            assert said.text.startswith("✗ CONFLICT: 'Muse' is extending")
            # Another branch is nobody's business.
            found = grove.agent("Other").run(None, tree=tree, node=beside).result()
            assert found.text == "Mine."
            gate.open()
            assert going.result().text == "Let me.\n\nDone."
        assert len(node.children) == 1
        assert node.say("Now.").text == "Now."
        check_sound(grove)


def test_an_agent_is_at_one_place_of_a_tree_at_a_time(file_address):
    gate = Gate()
    with workshop(file_address, ["One.", "Two."], gate=gate) as (grove, tree, _):
        left, right = tree.root.say("Left."), tree.root.say("Right.")
        elsewhere = grove.plant("Elsewhere")
        with run(grove, tree, None, node=left) as going:
            gate.wait(1)
            with pytest.raises(
                ConflictError, match=rf"'Muse' is already running in this tree, at \[{left.local_id}"
            ):
                run(grove, tree, None, node=right).result()
            with run(grove, elsewhere) as other_run:
                gate.open()
                assert other_run.result().text == "Two."
            assert going.result().text == "One."


@covers("lease.different-branches-free")
def test_twenty_runs_at_once_get_in_nobodys_way(address):
    gate = Gate()
    script = lambda request, _choice: "Done." if "[result:" in words(request) else "Look.\n→ tree\n"  # noqa: E731
    with workshop(address, script, gate=gate) as (grove, _, _):
        trees = [grove.plant(f"Tree {number}") for number in range(20)]
        going = [run(grove, tree) for tree in trees]
        gate.wait(20)
        gate.open()
        assert [each.result().text for each in going] == ["Look.\n\nDone."] * 20
        check_sound(grove)


def test_a_tree_that_is_destroyed_meanwhile_takes_its_run_along(file_address):
    gate = Gate()
    with workshop(file_address, ["One.\n→ tree\n", "Two."], gate=gate) as (grove, tree, _):
        other_tree = grove.plant("Other")
        with run(grove, tree) as going:
            gate.let(4)
            next(event for event in going if isinstance(event, Answered))
            gate.wait(1)
            tree.delete(confirm=tree.id)
            gate.open()
            found = going.result()
        assert found.ending is Ending.FAILED
        assert found.reply is None
        assert count(grove, schema.runs) == count(grove, schema.leases) == 0
        assert other_tree.refresh().counters.nodes == 1
        check_sound(grove)


@covers("lease.different-branches-free")
def test_two_collaborators_work_on_two_branches_at_once(address):
    one, two = Gate(), Gate()
    theirs = other(script=['→ bookmark NODE "b"\n', "Two."], gate=two)
    with workshop(address, ['→ bookmark NODE "a"\n', "One."], theirs, gate=one) as (grove, tree, mine):
        add(grove)
        left, right = tree.root.say("Left."), tree.root.say("Right.")
        for model, node in ((mine, left), (theirs, right)):
            name(model, node)
        first = run(grove, tree, None, node=left)
        second = grove.agent("Other").run(None, tree=tree, node=right)
        one.wait(1)
        two.wait(1)
        one.open()
        two.open()
        assert (first.result().text, second.result().text) == ("One.", "Two.")
        assert [node.refresh().metadata.bookmark_label for node in (left, right)] == ["a", "b"]
        check_sound(grove)


@covers("lease.held-by-a-run", "collaborate.reply-follows-its-own-words")
def test_the_lease_and_the_reply_follow_what_the_agent_itself_wrote_there(address):
    gate = Gate()
    script = lambda request, _choice: (  # noqa: E731
        "All said." if "[result:1]" in words(request) else f'→ respond {at[0]} "A first answer."\n'
    )
    at = []
    with workshop(address, script, gate=gate) as (grove, tree, _):
        node = tree.say("Here.")
        at.append(node.local_id)
        with run(grove, tree, None, node=node) as going:
            gate.let(8)
            next(event for event in going if isinstance(event, Answered))
            gate.wait(1)
            (child,) = node.children
            assert child.text == "A first answer."
            assert grove.leases.holder(tree.id, node.id) is None
            assert grove.leases.holder(tree.id, child.id).agent_id == grove.agent(MUSE).id
            assert node.say("Free again.").text == "Free again."
            gate.open()
            found = going.result()
        assert child.children == [found.reply]
        assert count(grove, schema.leases) == 0
        check_sound(grove)


@covers("lease.durable-and-expiring")
def test_who_lost_the_place_writes_nothing_there_and_what_it_said_is_kept(address):
    gate = Gate()
    with workshop(address, ["First.\n→ tree\n", "Late."], gate=gate) as (grove, tree, _):
        node = tree.say("Here.")
        with run(grove, tree, None, node=node) as going:
            gate.let(4)
            next(event for event in going if isinstance(event, Answered))
            gate.wait(1)
            leases = schema.leases
            grove.read.store.write(
                lambda transaction: transaction.execute(update(leases).values(expires_at=1))
            )
            taken = grove.leases.acquire(tree.id, node.id)
            gate.open()
            found = going.result()
        assert found.ending is Ending.FAILED
        assert isinstance(found.error, ConflictError)
        assert found.reply is None
        assert node.children == []
        assert all(row.response is not None for row in attempts(grove))
        grove.leases.release(taken)
        assert count(grove, schema.runs) == 0
        check_sound(grove)


@covers("lease.durable-and-expiring")
def test_a_dead_holders_place_is_free_when_its_time_has_run_out(file_address):
    moment = [0]
    from weft.ids import system_clock

    clock = lambda: system_clock() + moment[0]  # noqa: E731
    with workshop(file_address, ["One.", "Two."], clock=clock) as (grove, tree, _):
        node = tree.say("Here.")
        grove.leases.acquire(tree.id, node.id, seconds=30)
        with pytest.raises(ConflictError):
            run(grove, tree, None, node=node)
        moment[0] = 31_000_000
        assert run(grove, tree, None, node=node).result().text == "One."


@covers("presence.from-cursors")
def test_who_is_at_work_is_seen_by_the_others_and_goes_when_there_is_no_sign_of_life(file_address):
    moment = [0]
    from weft.ids import system_clock

    clock = lambda: system_clock() + moment[0]  # noqa: E731
    gate = Gate()
    with workshop(file_address, ["One."], other(), gate=gate, clock=clock) as (grove, tree, _):
        add(grove)
        left, right = tree.root.say("Left."), tree.root.say("Right.")
        with run(grove, tree, None, node=left) as going:
            gate.wait(1)
            seen = right.context(agent="Other").messages[-1].text
            way = f"via [{tree.root.local_id}] → [{left.local_id}]"
            assert f"Muse active at [{left.local_id}] ({way})" in seen
            assert f"Human active at [{right.local_id}], depth:1" in seen
            moment[0] = 600_000_000
            assert "active" not in right.context(agent="Other").messages[-1].text
            going._run.show_life()
            seen = right.context(agent="Other").messages[-1].text
            assert f"Muse active at [{left.local_id}] ({way})" in seen
            assert "Human active" not in seen
            gate.open()
            going.result()
        tree.be_present()
        assert "Human active at" in left.context(agent="Other").messages[-1].text


@covers("collaborate.subjects")
def test_a_subject_is_asked_through_continue_and_sees_nothing_of_the_loom(address):
    with workshop(address, ['→ continue from NODE n:2 using agent:"Echo"\n', "Two ways."]) as (
        grove,
        tree,
        model,
    ):
        node = tree.say("Here.")
        name(model, node)
        found = run(grove, tree, None, node=node).result()
        assert found.ending is Ending.DONE
        assert found.results[0].text.startswith(f"✓ continued from [{node.local_id}] · 2 results · ")
        texts = [child.text for child in node.children]
        assert texts == ["You said (1): Here.", "You said (2): Here.", "Two ways."]
        subject = grove.generations.registry.model(_name("scripted:echo"))[0]
        assert "loom" not in words(subject.requests[0]).lower()
        assert count(grove, schema.leases) == 0
        check_sound(grove)


def _name(text):
    from weft.providers.base import ModelName

    return ModelName.parse(text)


@covers("collaborate.never-itself", "collaborate.call-chain-checked")
def test_nobody_invokes_itself_directly_or_through_another(address):
    theirs = other(script=['Plain words.\n→ continue using agent:"Muse"\n'])
    script = ['→ continue from NODE using agent:"Muse"\n→ continue from NODE using agent:"Other"\n', "Fine."]
    with workshop(address, script, theirs) as (grove, tree, model):
        add(grove)
        node = tree.say("Here.")
        name(model, node)
        found = run(grove, tree, None, node=node).result()
        assert found.results[0].text.startswith("✗ PERMISSION_DENIED:")
        assert found.results[1].ok
        # What the other said is text, and nobody carries it out.
        assert (len(model.requests), len(theirs.requests)) == (2, 1)
        assert next(child.text for child in node.children).startswith("Plain words.\n→ continue")


@covers("collaborate.stop-keeps")
def test_stopping_stops_the_subject_too(file_address):
    gate = Gate()
    slow = Scripted([Reply(chunks=("One ", "two"))], name="slow", gate=gate)
    with workshop(file_address, ['Ask.\n→ continue using agent:"Slow"\n'], slow) as (grove, tree, _):
        grove.add_agent("Slow", model_ref="slow:x")
        with run(grove, tree) as going:
            next(event for event in going if isinstance(event, TextChunk))
            gate.let(1)
            gate.wait(1)
            going.stop()
            found = going.result()
        assert found.ending is Ending.STOPPED
        assert (found.text, found.reply.value.status) == ("Ask.", Status.INTERRUPTED)
        assert count(grove, schema.calls) == count(grove, schema.leases) == count(grove, schema.runs) == 0


def test_an_annotation_is_answered_beside_a_document_by_another_and_continued_nowhere(address):
    script = []
    with workshop(address, script) as (grove, talk, model):
        tree = grove.plant("House", "The house stood empty.", mode="buffer")
        note = tree.root.annotate("Too long?")
        script += [f'→ continue from {note.local_id} using agent:"Echo"\n', "It is long."]
        reply = run(grove, tree, "Well?", node=note).result().reply
        # A remark on a remark, as `annotate` would write it.
        assert note.annotations == [reply]
        assert reply.value.is_annotation
        assert tree.text == "The house stood empty."
        refused = "✗ INVALID_SYNTAX: [{}] is an annotation: conversations do not continue from it"
        assert refused.format(note.local_id) in words(model.requests[1])
        remark = talk.say("Why?").annotate("Really?")
        with pytest.raises(InvalidInputError, match="is an annotation"):
            run(grove, talk, "Well?", node=remark).result()
        check_sound(grove)


def test_beside_a_document_words_are_no_part_of_it(address):
    script = ["→ tree\n", "I would cut the second line."]
    with workshop(address, script) as (grove, _, model):
        tree = grove.plant("House", "The house stood empty.", mode="buffer")
        tree.type(" She came.")
        found = run(grove, tree, "Is it too long?").result()
        assert found.text == "I would cut the second line."
        assert tree.text == "The house stood empty. She came."
        assert tree.cursor.annotations == [found.reply]
        first, second = model.requests
        assert first.messages[0].text.startswith("The house stood empty.︱ She came.\n\n=== Loom Context ===")
        assert first.messages[0].text.endswith("===\n\nIs it too long?")
        assert next(message.text for message in second.messages[1:]) == "→ tree"
        assert second.messages[-1].text.startswith("[result:1] → tree")
        check_sound(grove)


@covers("command.think", "collaborate.subjects")
def test_asked_for_a_continuation_an_agent_sees_no_loom_and_its_commands_are_no_text(address):
    said = "[a7x2] Other · just now\nVisible words.\n→ think a secret ←\n→ prune a7x2\n"
    model = other(script=[said, "Plain words."])
    with workshop(address, [], model) as (grove, tree, _):
        agent = add(grove)
        node = tree.say("Here.")
        (by_hand,) = node.generate(agent="Other")
        assert by_hand.text == "Visible words."
        assert "Loom Context" in words(model.requests[0])
        assert AgentMemory(grove.read.store, grove.calling("Other").read.actor).thoughts(tree.id, 5) == [
            "a secret"
        ]
        tree.do(f'→ continue from {node.local_id} using agent:"{agent.name}"')
        assert "Loom" not in words(model.requests[1])
        assert node.children[-1].text == "Plain words."
        check_sound(grove)
