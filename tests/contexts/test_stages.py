"""The stages of a request: each works on what the one before it left."""

from tests.covers import covers

from weft.tree.item import Item

LONG = "The ferry waits at the old pier until the tide turns. " * 60


@covers("engine.stage-order")
def test_each_stage_works_on_what_the_one_before_it_left(loom):
    muse = loom.add_agent("Muse of stages", model_ref="local:small").name
    tree = loom.plant("Stages", "", system_context="Be brief.")
    tide = tree.say("Read the tide table.").attach(Item(id="tide.md", type="note", content="High at six."))
    story = tide.say(LONG, author=muse)
    aside = story.say(LONG)
    asked = aside.say("Can we cross?")
    last = asked.say("Not in this fog.", author=muse)

    # Nothing is done yet: it is too long, and the first stage to help is the cut, at the end.
    whole = last.envelope(limit=600)
    assert whole.truncated

    # Selecting comes before fitting: what is left out does not weigh.
    aside.exclude()
    # Folding comes before fitting: what a placeholder stands for does not weigh.
    tree.collapse(story, story, "the ferry", "It waits")
    envelope = last.envelope(limit=600)
    assert not envelope.truncated

    # Layers come before filters: the item is in the library although the fold is next to its turn.
    sent = "\n".join(message.text for message in envelope.messages)
    assert "High at six." in envelope.system + sent
    assert '"name":"the ferry"' in sent
    assert "until the tide turns" not in sent

    # Repair comes after all of them, and rendering last: what is added is in the bytes and in the account.
    assert [message.role for message in envelope.messages][-2:] == ["assistant", "user"]
    assert envelope.messages[-1].text == "Continue."
    outcomes = [(entry.id, entry.outcome) for entry in envelope.manifest]
    assert (aside.local_id, "excluded") in outcomes
    assert (story.local_id, "collapsed") in outcomes
    assert ("the ferry", "added") in outcomes
    assert envelope.manifest.tokens == sum(entry.tokens for entry in envelope.manifest) <= 600
