"""What holds for every filter, and for pipelines of them."""

import copy
import functools
from collections import UserDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.recipes.filters.chats import chats
from tests.covers import covers

from weft.context.manifest import Facts, Manifest
from weft.context.manifest_entries import EntryKind, Outcome
from weft.context.recipes import (
    FilterContext,
    FilterError,
    Registry,
    apply_filters,
    apply_filters_async,
    installed_filters,
    run_filters,
)
from weft.errors import ContextLimitError, InvalidInputError

STORE = {
    "users/u/convo.sessions/s/indexes/collapsed/messageToGroups/d1": {
        "groups": {"A": {"responseId": "r", "updated_at": 1}}
    },
    "users/u/convo.sessions/s/indexes/collapsed/messageToGroups/d2": {"groups": {"B": {"responseId": "r"}}},
    "users/u/convo.sessions/s/indexes/collapsed/groupState/B": {"expanded": True},
    "users/u/convo.sessions/s/collapsed/r": {"groups": [{"name": "a", "description": "what was said"}]},
}
CONTEXT = {"sessionId": "s", "userId": "u", "store": STORE}
ENTRIES = st.one_of(
    st.just("collapseGroupReplacer"),
    st.just("toolCallBackfill"),
    st.just("dropToolCallsCompleted"),
    st.builds(
        lambda files, versions: {
            "name": "fileContentsLimiter",
            "options": {"filesLimit": files, "versionsPerFile": versions},
        },
        st.integers(0, 2),
        st.integers(0, 2),
    ),
    st.builds(
        lambda most, system, user, longest: {
            "name": "sizeLimiter",
            "options": {
                "maxTokens": most,
                "prioritizeSystem": system,
                "prioritizeUser": user,
                "maxContentChars": longest,
            },
        },
        st.integers(0, 300),
        st.booleans(),
        st.booleans(),
        st.sampled_from([0, 3, 7, 50_000]),
    ),
)


@covers("filter.never-mutates", "filter.everything-in-the-manifest")
@given(chats(strange=True), st.lists(ENTRIES, max_size=4))
def test_no_filter_changes_its_input_and_every_change_is_told(messages, entries):
    before, kept = copy.deepcopy(messages), list(messages)
    found = run_filters(messages, entries, CONTEXT)
    assert messages == before
    assert all(one is other for one, other in zip(messages, kept, strict=True))
    assert [step.name for step in found.steps] == [e if isinstance(e, str) else e["name"] for e in entries]
    now = messages
    for step in found.steps:
        assert step.given == len(now)
        gone = [
            mark for mark in step.marks if mark.outcome in {Outcome.CUT, Outcome.EXCLUDED, Outcome.COLLAPSED}
        ]
        added = [mark for mark in step.marks if mark.outcome is Outcome.ADDED]
        assert step.gave == step.given - len(gone) + len(added)
        assert all(mark.position is None or now[mark.position] == mark.before for mark in step.marks)
        now = apply_filters(now, [entries[step.index]], CONTEXT)
    assert found.messages == now


@covers("filter.everything-in-the-manifest")
@given(chats(strange=True), st.lists(ENTRIES, max_size=3))
def test_steps_are_pieces_of_a_manifest_that_cost_nothing(messages, entries):
    found = run_filters(messages, entries, CONTEXT)
    manifest = Manifest(Facts(budget=0), [piece for step in found.steps for piece in step.pieces()])
    assert manifest.tokens == 0
    assert {entry.kind for entry in manifest} <= {EntryKind.FILTER}
    assert all(entry.reason for entry in manifest)
    assert Manifest.from_stored(manifest.stored()) == manifest
    assert all(step.to_wire()["name"] == step.name for step in found.steps)


@covers("filter.plain-callable")
def test_filters_run_in_the_order_given():
    def note(letter):
        return lambda messages, options, context: [*messages, letter + options.get("after", "")]

    registry = Registry({"a": note("a"), "b": note("b")})
    orders = [["a", "b"], ["b", "a"], ["a", "a", "b"], [{"name": "b", "options": {"after": "!"}}, "a"]]
    found = [apply_filters([], order, registry=registry) for order in orders]
    assert found == [["a", "b"], ["b", "a"], ["a", "a", "b"], ["b!", "a"]]


@covers("filter.plain-callable")
def test_all_filters_of_the_chapter_are_installed_by_entry_point():
    assert set(installed_filters().names) >= {
        "collapseGroupReplacer",
        "dropToolCallsCompleted",
        "fileContentsLimiter",
        "fit",
        "repair",
        "sizeLimiter",
        "toolCallBackfill",
        "toolResultMasker",
    }


async def late(messages, options, context):
    return [*messages, context.session_id]


@covers("filter.plain-callable")
def test_an_asynchronous_filter_runs_from_both_entrances():
    import asyncio

    registry = installed_filters().with_filter("late", late)
    assert apply_filters([], ["late", "toolCallBackfill"], {"sessionId": "s"}, registry=registry) == ["s"]

    async def inside():
        with pytest.raises(FilterError, match="asynchronous"):
            apply_filters([], ["late"], registry=registry)
        return await apply_filters_async([], ["late"], FilterContext(session_id="t"), registry=registry)

    assert asyncio.run(inside()) == ["t"]
    assert "late" not in installed_filters().names


def broken(messages, options, context):
    messages.clear()
    raise ValueError("out of thread")


@covers("filter.errors-named")
@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (["toolCallBackfill", "nothing"], r"filters\[1\] 'nothing': there is no filter 'nothing'"),
        (["toolCallBackfill", "broken"], r"filters\[1\] 'broken': ValueError: out of thread"),
        (["nolist"], r"filters\[0\] 'nolist': it gave NoneType"),
        ([""], r"filters\[0\] ''"),
    ],
)
def test_an_unknown_or_failing_filter_is_named_with_its_place(entries, said):
    registry = installed_filters().with_filter("broken", broken)
    registry = registry.with_filter("nolist", lambda *_: None)
    with pytest.raises(FilterError, match=said) as caught:
        apply_filters([{"role": "user", "content": "a"}], entries, registry=registry)
    assert caught.value.index == len(entries) - 1
    assert caught.value.row.http == 400


@covers("filter.skip-on-error")
def test_with_skip_a_failing_filter_is_passed_over_with_a_warning():
    registry = installed_filters().with_filter("broken", broken)
    messages = [{"role": "tool", "tool_call_id": "x", "content": "a"}]
    found = run_filters(
        messages, ["broken", "nothing", "toolCallBackfill"], on_error="skip", registry=registry
    )
    assert found.messages == [{"role": "system", "content": "a"}]
    assert [step.outcome for step in found.steps] == [Outcome.EXCLUDED, Outcome.EXCLUDED, Outcome.KEPT]
    assert found.warnings[0] == "filters[0] broken: ValueError: out of thread"
    entry = next(found.steps[0].entries())
    assert (entry.outcome, entry.reason) == (
        Outcome.EXCLUDED,
        "filters[0] broken: skipped: ValueError: out of thread",
    )


@pytest.mark.parametrize(
    ("messages", "filters", "options", "said"),
    [
        ("text", [], {}, "messages must be an array"),
        ([], {"name": "fit"}, {}, "filters must be an array"),
        ([], [5], {}, r"filters\[0\] must be a string or an object"),
        ([], [{"options": {}}], {}, r"filters\[0\].name"),
        ([], [{"name": "fit", "options": 5}], {}, r"filters\[0\].options must be an object"),
        ([], [], {"on_error": "carry on"}, "onFilterError must be fail or skip"),
        ([], [], {"context": {"sessionId": 5}}, "context.sessionId"),
        ([], [], {"context": {"store": 5}}, "context.store"),
    ],
)
def test_what_is_no_pipeline_is_refused_in_words(messages, filters, options, said):
    with pytest.raises(InvalidInputError, match=said):
        apply_filters(messages, filters, **options)


@covers("filter.everything-in-the-manifest")
def test_a_foreign_filter_that_copies_everything_is_not_said_to_have_replaced_everything():
    registry = Registry({"copy": lambda messages, options, context: copy.deepcopy(messages[:-1])})
    messages = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]
    found = run_filters(messages, ["copy"], registry=registry)
    assert [(mark.outcome, mark.position) for mark in found.steps[0].marks] == [(Outcome.EXCLUDED, 2)]


def test_an_error_of_the_engine_keeps_its_code():
    messages = [{"role": "system", "content": "x" * 4_000}, {"role": "user", "content": "a"}]
    with pytest.raises(ContextLimitError):
        apply_filters(messages, [{"name": "fit", "options": {"limit": 100}}])


@covers("filter.never-mutates", "filter.everything-in-the-manifest", "filter.skip-on-error")
def test_a_filter_that_changes_messages_in_place_changes_none_of_the_callers():
    def shout(messages, *_):
        messages[0]["content"][0]["text"] = "LOUD"
        return messages

    def shout_and_fail(messages, *_):
        shout(messages)
        raise ValueError("hoarse")

    shared = {"type": "text", "text": "quiet"}
    messages = [{"role": "user", "content": [shared]}, {"role": "user", "content": [shared]}]
    before = copy.deepcopy(messages)
    registry = Registry({"shout": shout, "hoarse": shout_and_fail})
    found = run_filters(messages, ["hoarse", "shout"], registry=registry, on_error="skip")
    assert messages == before
    assert [each["content"] for each in found.messages] == [[{**shared, "text": "LOUD"}], [shared]]
    assert found.messages[1] is messages[1]
    (mark,) = found.steps[1].marks
    assert (mark.outcome, mark.position, mark.before is messages[0]) == (Outcome.KEPT, 0, True)


@covers("filter.never-mutates")
def test_a_plug_in_changes_neither_what_is_nested_in_tuples_nor_its_options():
    block = {"type": "text", "text": "quiet"}
    messages = [{"role": "user", "content": (block, UserDict(block))}]
    options, values = {"words": ["quiet"]}, {"names": ["Ada"]}
    before = copy.deepcopy((messages, options, values))

    @functools.wraps(installed_filters().filter_of("repair"))
    def shout(given, settings, context):
        for each in given[0]["content"]:
            each["text"] = "LOUD"
        settings["words"].append("LOUD")
        context.values["names"].append("LOUD")
        return given

    registry = Registry({"shout": shout})
    found = run_filters(messages, [{"name": "shout", "options": options}], values, registry=registry)
    assert (messages, options, values) == before
    assert found.messages == [
        {"role": "user", "content": ({**block, "text": "LOUD"}, {**block, "text": "LOUD"})}
    ]


def test_what_json_cannot_hold_is_still_told():
    deep: list = []
    for _ in range(5_000):
        deep = [deep]
    messages = [{"role": "user", "content": object()}, {"role": "user", "content": deep}]
    found = run_filters(messages, ["last"], registry=Registry({"last": lambda given, *_: []}))
    assert [entry.outcome for entry in found.steps[0].entries()][1:] == [Outcome.EXCLUDED] * 2
    with pytest.raises(FilterError, match=r"filters\[0\] 'sizeLimiter': JSON has no object"):
        apply_filters(messages[:1], ["sizeLimiter"])
    with pytest.raises(FilterError, match="nested too deeply"):
        apply_filters(messages[1:], ["sizeLimiter"])
    while deep:
        (deep,) = deep
