"""What holds for every conversation, placement and budget."""

import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.context.stories import stories
from tests.context.talks import Talk, attachments, in_full, library, referenced, scripts
from tests.covers import covers

from weft.context.engine import assemble
from weft.context.items.item_types import LayerId
from weft.context.manifest_entries import Outcome
from weft.context.stored_envelope import load_envelope, store_envelope
from weft.context.system import SystemParts
from weft.errors import ContextLimitError, WeftError

placements = st.sampled_from(["system", "inline"])
changes = st.sampled_from(["refresh", "append"])
SLOW = settings(
    max_examples=min(25, settings().max_examples), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@covers("layer.byte-identical", "envelope.hash-per-layer")
@given(
    script=scripts(),
    last=st.lists(attachments(), max_size=3),
    placement=placements,
    changed=changes,
    budget=st.integers(60, 1_500),
    step=st.sampled_from([0, 0.25]),
    strategy=st.sampled_from(["truncateMiddle", "rollingWindow"]),
)
@SLOW
def test_whatever_the_budget_it_holds_and_every_item_is_somewhere(
    script, last, placement, changed, budget, step, strategy
):
    talk = Talk(
        settings={"library": placement, "changed": changed},
        preferences={"truncationStep": step, "truncationStrategy": strategy},
    )
    for text, items, answer, left_out in script:
        talk.ask(text or "?", *items, answer=answer, left_out=left_out)
    talk.budget = budget
    try:
        envelope = talk.look("And now?", *last)
    except ContextLimitError:
        return
    assert envelope.tokens <= budget
    of_text = envelope.estimator.of_text
    spoken = of_text(envelope.system) + sum(of_text(message.text) for message in envelope.messages)
    assert spoken <= envelope.tokens
    assert envelope.messages[-1].text.endswith("And now?") or envelope.shortened
    wanted = {item.id for item in last}
    assert wanted == {*referenced(envelope), *in_full(envelope)}
    said = "\n".join(message.text for message in envelope.messages)
    for name in referenced(envelope):
        shown = f">{name.partition('#')[0]}</"
        assert name in library(envelope) if placement == "system" else shown in said
    again = talk.look("And now?", *last)
    assert again.to_wire() == envelope.to_wire()
    stored = store_envelope(envelope)
    loaded = load_envelope(
        stored.record, stored.snapshots.__getitem__, user_text=envelope.layer(LayerId.USER).text
    )
    assert loaded.to_wire() == envelope.to_wire()


@covers("library.cumulative", "library.deduplicated-by-id", "library.first-appearance-order")
@given(script=scripts(), changed=changes)
@SLOW
def test_a_library_only_grows_and_holds_what_earlier_turns_attached(script, changed):
    talk = Talk(settings={"changed": changed})
    seen = []
    before = []
    for text, items, answer, _ in script:
        envelope = talk.ask(text or "?", *items, answer=answer or "So.")
        assert library(envelope)[: len(before)] == before
        assert list(dict.fromkeys(library(envelope))) == seen
        if changed == "refresh":
            assert library(envelope) == seen
        assert set(referenced(envelope)) <= set(library(envelope))
        before = library(envelope)
        seen = list(dict.fromkeys([*seen, *(item.id for item in items)]))


@covers("library.inline-placement")
@given(script=scripts())
@SLOW
def test_inline_every_request_begins_with_the_one_before(script):
    talk = Talk(settings={"library": "inline", "changed": "append"})
    before = None
    for text, items, answer, _ in script:
        envelope = talk.ask(text or "?", *items, answer=answer or "So.")
        assert envelope.layer(LayerId.LIBRARY).text == ""
        if before is not None:
            assert envelope.system == before.system
            assert envelope.messages[: len(before.messages)] == before.messages
        before = envelope


@covers("library.siblings-share")
@given(script=scripts(), one=st.lists(attachments(), max_size=2), other=st.lists(attachments(), max_size=2))
@SLOW
def test_siblings_share_the_bytes_of_l1_and_l2(script, one, other):
    talk = Talk(settings={"changed": "append"})
    for text, items, answer, _ in script:
        talk.ask(text or "?", *items, answer=answer)
    first, second = talk.look("This?", *one), talk.look("Or that?", *other)
    assert first.system == second.system
    assert first.layer_hashes["L2_LIBRARY"] == second.layer_hashes["L2_LIBRARY"]


@given(script=scripts(most=5), placement=placements)
@SLOW
def test_tokens_of_a_manifest_add_up_and_nothing_absent_costs(script, placement):
    talk = Talk(settings={"library": placement})
    for text, items, answer, left_out in script:
        envelope = talk.ask(text or "?", *items, answer=answer, left_out=left_out)
        assert envelope.tokens == sum(entry.tokens for entry in envelope.manifest)
        assert not any(
            entry.tokens
            for entry in envelope.manifest
            if entry.outcome in {Outcome.CUT, Outcome.EXCLUDED, Outcome.COLLAPSED}
        )
        assert {entry.id for entry in envelope.manifest if entry.kind == "layer"} == {
            each.value for each in LayerId
        }
        assert all(entry.reason for entry in envelope.manifest)


def test_a_text_in_buffer_mode_has_no_layers():
    from weft.context.request import ContextRequest
    from weft.context.rows import PathOutline
    from weft.errors import InvalidInputError
    from weft.tree.tree import Mode

    request = ContextRequest(mode=Mode.BUFFER, outline=PathOutline(tail=()), budget=10)
    with pytest.raises(InvalidInputError, match="layers are made of dialogues"):
        _ = assemble(replace(request, layered=True), {}).laid_out


@given(stories(), st.integers(0, 2_000), st.sampled_from(["", "You are\r\ncareful.  \nAlways.", "Be brief."]))
def test_where_nothing_is_laid_out_layers_send_what_the_plain_path_sends(story, budget, prompt):
    request = story.request(budget, system=SystemParts(agent=prompt, tree="In a tree.\r\n"))
    try:
        plain = assemble(request, story.contents)
    except WeftError as error:
        with pytest.raises(type(error), match=re.escape(error.message)):
            assemble(replace(request, layered=True), story.contents)
        return
    envelope = assemble(replace(request, layered=True), story.contents).laid_out
    assert envelope.system == plain.system
    assert envelope.messages == plain.messages
    assert envelope.tokens == plain.tokens
    assert "\r" not in plain.system
