"""The manifest as a value: compared, stored, read back, and fed nonsense."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.stories import chat
from tests.covers import covers

from weft.context import fit_messages
from weft.context.engine import assemble
from weft.context.manifest import Manifest
from weft.context.manifest_entries import Outcome
from weft.errors import InvalidInputError
from weft.tree.tree import Mode


def context_of(story, limit=500, **preferences):
    return assemble(story.request(limit, window=1_000, preferences=preferences), story.contents)


@covers("manifest.diffable")
def test_what_another_strategy_would_drop_can_be_asked():
    story = chat(60)
    middle, rolling = context_of(story), context_of(story, truncationStrategy="rollingWindow")
    changes = middle.manifest.diff(rolling.manifest)
    gone = [change for change in changes if change.after is Outcome.CUT]
    assert [(change.id, change.before) for change in gone] == [("n0", Outcome.KEPT)]
    assert gone[0].count == sum(1 for entry in middle.manifest if entry.reason == "part of the beginning")
    back = rolling.manifest.diff(middle.manifest)
    assert {(each.id, each.before, each.after) for each in changes} == {
        (each.id, each.after, each.before) for each in back
    }
    assert not middle.manifest.diff(middle.manifest)


@covers("manifest.diffable")
def test_two_branches_are_compared_up_to_where_they_part():
    one, other = chat(6), chat(4)
    other.say("another question").answer("another answer").say("and more")
    changes = context_of(one).manifest.diff(context_of(other).manifest)
    # Both branches number their nodes alike here, so only what is longer differs.
    assert [
        (change.id, change.before, change.after) for change in changes if change.position is not None
    ] == [("n6", None, Outcome.KEPT)]


def test_a_manifest_survives_being_stored():
    for mode in Mode:
        story = chat(80)
        manifest = assemble(story.request(400, mode=mode), story.contents).manifest
        stored = json.loads(json.dumps(manifest.stored()))
        again = Manifest.from_stored(stored)
        assert again == manifest
        assert list(again) == list(manifest)
        assert again.to_wire() == manifest.to_wire()
        assert again.facts.hash == manifest.facts.hash
        assert len(json.dumps(stored)) < len(json.dumps(manifest.to_wire()))
    fitted = fit_messages([{"role": "user", "content": "é" * n} for n in range(1, 90)], 900).manifest
    assert Manifest.from_stored(json.loads(json.dumps(fitted.stored()))) == fitted


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 5),
        st.text(max_size=5),
        st.sampled_from(["node", "kept", "fits"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=7), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(values, st.lists(values, max_size=7))
def test_nonsense_is_a_typed_error_or_a_manifest(value, run):
    for given_value in (
        value,
        {"budget": 1, "renderer": 1, "hash": "", "settings": {}, "runs": value},
        {"budget": 1, "renderer": 1, "hash": "", "settings": {}, "runs": [run]},
        {"budget": 1, "renderer": 1, "hash": "", "runs": [["node", "kept", "fits", 0, ["a"], run, value]]},
    ):
        try:
            found = Manifest.from_stored(given_value)
        except InvalidInputError:
            continue
        assert isinstance(list(found), list)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_a_word_on_the_wire(outcome):
    run = ["node", outcome.value, "because", 0, ["a"], [3], [1]]
    manifest = Manifest.from_stored({"budget": 9, "renderer": 1, "hash": "", "settings": {}, "runs": [run]})
    (entry,) = manifest
    assert entry.to_wire()["outcome"] == outcome.value
    assert manifest.totals() == {outcome: (1, 3)}


@covers("manifest.diffable")
def test_a_source_that_stands_at_two_places_is_compared_at_both():
    def manifest(*outcomes):
        runs = [["source", outcome, "because", None, ["a7x2"], [3], None] for outcome in outcomes]
        return Manifest.from_stored({"budget": 9, "renderer": 1, "hash": "", "settings": {}, "runs": runs})

    one, neither = manifest("kept", "cut"), manifest("cut", "cut")
    assert [(each.before, each.after) for each in one.diff(neither)] == [("kept", "cut")]
    assert [(each.before, each.after) for each in neither.diff(one)] == [("cut", "kept")]
    assert [(each.before, each.after) for each in one.diff(manifest("kept"))] == [("cut", None)]
    assert not one.diff(manifest("cut", "kept"))


@covers("manifest.outcomes")
def test_nine_words_say_what_became_of_a_candidate_and_earlier_manifests_are_read_with_them():
    words = "kept cut excluded collapsed shortened masked merged referenced added"
    assert [outcome.value for outcome in Outcome] == words.split()
    runs = [
        ["node", "dropped", "over the budget", 0, {"count": 2, "first": "a", "last": "b", "size": 9}],
        ["node", "dropped", "excluded", 2, ["c"], [3], None],
    ]
    earlier = Manifest.from_stored({"budget": 9, "renderer": 1, "hash": "", "settings": {}, "runs": runs})
    assert [entry.outcome for entry in earlier] == [Outcome.CUT, Outcome.EXCLUDED]
