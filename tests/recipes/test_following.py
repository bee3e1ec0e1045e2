"""From a recipe and records to messages: order, labels, framing, ids, scope, filters."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.context.manifest_entries import EntryKind, Outcome
from weft.context.recipes import Registry
from weft.context.recipes.collapsed_groups import DocumentReader
from weft.context.recipes.recipe import decode_recipe
from weft.context.recipes.recipe_run import follow_recipe, follow_recipe_async
from weft.context.recipes.record_streams import (
    DocumentRecords,
    RecordScope,
    RecordSession,
    SessionSegment,
    Term,
    Topic,
    Week,
    promoted,
    slice_of,
    week_end,
    wider,
)
from weft.errors import InvalidInputError

END = 1_700_000_000
WEEK_END = 1_700_352_000
SEG = {"kind": "SegKala", "sessionId": "s", "end": END, "windowSeconds": 3_600}
TERM = Term(1_696_131_691.2359998, 1_704_020_675.8464)
SESSION = "users/u/convo.sessions/s"


def record(path, time, value, **fields):
    return {path: {"create_time": time, "value": value, **fields}}


def store_of(*records):
    return {path: document for each in records for path, document in each.items()}


STORE = store_of(
    record(f"{SESSION}/summaries/seg", END, {"n": "seg"}),
    record(f"{SESSION}/summaries/ses", END - 20_000, {"n": "session"}),
    record("users/u/log.sessions.summaries/week", WEEK_END, {"n": "week"}),
    record("users/u/log.weekly.summaries/term", TERM.end, {"n": "term"}),
    record(f"{SESSION}/messages/m", END, {"role": "user", "content": "hello"}),
)


def followed(model, kala=SEG, store=STORE, scope=None, **body):
    recipe = decode_recipe({"kala": kala, "model": {"filters": [], **model}, **body})
    given_scope = RecordScope(user_id="u") if scope is None else scope
    return follow_recipe(recipe, DocumentRecords(store), scope=given_scope, groups=DocumentReader(store))


def contents(*components, kala=SEG, store=STORE, **model) -> list:
    return [each["content"] for each in followed({"components": components, **model}, kala, store).messages]


def yoj(name, framing="", **fields):
    return {"kind": "yoj", "name": name, "framing": framing, **fields}


def literal(value):
    return {"kind": "literal", "value": value}


@covers("recipe.traversal", "recipe.literal", "recipe.intro")
def test_leaves_speak_depth_first_and_parents_are_silent():
    parent = yoj("summaries", "P", children=[literal("b"), yoj("x", children=[literal("c")]), literal("d")])
    model = {"intro": {"system": "first"}, "components": [literal("a"), parent, literal("e")]}
    found = followed(model).messages
    assert found == [{"role": "system", "content": each} for each in ("first", "a", "b", "c", "d", "e")]
    assert followed({"intro": {"system": ""}}).messages == []


@covers(
    "kala.promotion", "recipe.promote-upstream", "kala.labels", "recipe.framing", "kala.values-as-json-text"
)
def test_wider_slices_come_first_from_the_widest_on_and_literals_once():
    found = contents(yoj("summaries", "N: "), literal("lit"), yoj("messages"), promoteUpstream=True)
    assert found == [
        '(Term) N: {"n":"term"}',
        '(Week) N: {"n":"week"}',
        '(Session) N: {"n":"session"}',
        '(Session) N: {"n":"seg"}',
        '(Convo) N: {"n":"seg"}',
        "lit",
        "hello",
    ]
    assert contents(yoj("summaries"), promoteUpstream=False) == ['(Convo) {"n":"seg"}']


@covers("kala.promotion", "kala.seg", "kala.session", "kala.week", "kala.term")
def test_each_slice_reads_its_own_records():
    reads = {
        "SegKala": [SEG, "seg"],
        "SessionKala": [{"kind": "SessionKala", "sessionId": "s", "sessionEnd": END - 1}, "session"],
        "WeekKala": [{"kind": "WeekKala", "weekEnd": WEEK_END}, "week"],
        "TermKala": [TERM.to_wire(), "term"],
    }
    for kala, name in reads.values():
        (found,) = contents(yoj("summaries"), kala=kala)
        assert json.loads(found[found.index("{") :]) == {"n": name}


@covers("kala.weeks-and-terms")
@given(st.integers(-(10**10), 10**10))
def test_a_moment_lies_in_the_week_and_term_that_it_is_promoted_to(time):
    end = week_end(time)
    assert (end - 259_200) % 604_800 == 0
    assert end - 604_800 <= time < end
    session, week, term = reversed(wider(SessionSegment("s", time, 1)))
    assert (session, week) == (RecordSession("s", time), Week(end))
    assert isinstance(term, Term)
    assert term.begin <= end < term.end + 1e-3
    assert term.end - term.begin == pytest.approx(365.230769 * 86_400 / 4)


@covers("kala.range-bounds")
def test_a_slice_begins_after_its_begin_and_takes_in_its_end_and_equal_times_go_by_id():
    records = [("over", 11), ("end", 10), ("b", 5), ("a", 5), ("begin", 4), ("c", 4.5)]
    store = store_of(*(record(f"{SESSION}/summaries/{name}", time, name) for name, time in records))
    kala = {"kind": "SegKala", "sessionId": "s", "end": 10, "windowSeconds": 6}
    assert contents(yoj("summaries"), kala=kala, store=store) == [
        f'(Convo) "{name}"' for name in ("c", "a", "b", "end")
    ]


def test_records_without_a_time_are_in_no_slice():
    store = {
        f"{SESSION}/summaries/{number}": {"create_time": time, "value": 1}
        for number, time in enumerate([None, "5", True, 10**350])
    }
    store[f"{SESSION}/summaries/none"] = {"value": 1}
    kala = {"kind": "SegKala", "sessionId": "s", "end": 10, "windowSeconds": 100}
    assert contents(yoj("summaries"), kala=kala, store=store) == []


ODD = store_of(
    record(f"{SESSION}/messages/b", 7, {"role": "user", "content": "second"}, cost=0.5, execId="e"),
    record(
        f"{SESSION}/messages/a",
        5,
        {"role": "assistant", "content": "first", "cost": 9, "execId": "own"},
        cost=1,
        execId="w",
    ),
    record(f"{SESSION}/messages/null", 8, None, cost=None),
    {f"{SESSION}/messages/bare": {"create_time": 8.1, "role": "user", "content": "unwrapped"}},
    record(f"{SESSION}/messages/text", 8.2, "plain"),
    record(f"{SESSION}/messages/list", 8.3, ["x"]),
    record(f"{SESSION}/messages/tie2", 9, {"n": 2}),
    record(f"{SESSION}/messages/tie1", 9, {"n": 1}),
)
WINDOW = {"kind": "SegKala", "sessionId": "s", "end": 10, "windowSeconds": 100}


@covers("kala.raw-messages", "recipe.framing")
def test_messages_of_a_session_come_as_they_are_kept_without_label_or_framing():
    found = followed({"components": [yoj("messages", "F: ")]}, WINDOW, ODD, includeDocId=True).messages
    assert found == [
        {"role": "assistant", "content": "first", "cost": 9, "execId": "own", "docId": "a"},
        {"role": "user", "content": "second", "cost": 0.5, "execId": "e", "docId": "b"},
        {"cost": None, "docId": "null"},
        {"docId": "bare"},
        "plain",
        {"0": "x", "docId": "list"},
        {"n": 1, "docId": "tie1"},
        {"n": 2, "docId": "tie2"},
    ]


@covers("recipe.framing")
def test_framing_of_a_topic_stands_before_words_and_before_nothing_else():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"filepath":"f","content":"x"}'},
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {"role": "user", "content": ""},
    ]
    folder = "users/u/topics/t/messages"
    store = store_of(*(record(f"{folder}/{time}", time, value) for time, value in enumerate(said)))
    kept = [value["value"] for value in store.values()]
    kala = {"kind": "Topic", "topicId": "t"}
    found = followed({"components": [yoj("messages", "F: ")]}, kala, store).messages
    assert found == [*said[:3], {"role": "user", "content": "F: "}]
    assert [value["value"] for value in store.values()] == kept == said


@covers("recipe.framing", "kala.labels", "kala.values-as-json-text")
def test_summaries_and_topic_infos_are_json_text_whatever_they_hold():
    said = {
        "a": {"create_time": 1, "value": {"text": 'one "1"', "n": 1.5}, "cost": 0.25, "execId": "x"},
        "b": {"create_time": 2, "value": "text"},
        "c": {"create_time": 3, "text": "unwrapped", "cost": 2},
        "d": {"create_time": 4, "value": None},
        "e": {"create_time": 5, "value": ["é", {"7": 1, "z": 2, "a": 3}]},
    }
    for name in ("summaries", "topicInfos", "topicInfo"):
        store = {f"{SESSION}/{name}/{key}": document for key, document in said.items()}
        assert followed({"components": [yoj(name, "F: ")]}, WINDOW, store).messages == [
            {
                "role": "system",
                "content": '(Convo) F: {"text":"one \\"1\\"","n":1.5}',
                "cost": 0.25,
                "execId": "x",
            },
            {"role": "system", "content": '(Convo) F: "text"'},
            {
                "role": "system",
                "content": '(Convo) F: {"create_time":3,"text":"unwrapped","cost":2}',
                "cost": 2,
            },
            {"role": "system", "content": "(Convo) F: null"},
            {"role": "system", "content": '(Convo) F: ["é",{"7":1,"z":2,"a":3}]'},
        ]


@covers("recipe.framing")
def test_records_of_any_other_name_come_as_they_are_kept():
    store = {
        f"{SESSION}/notes/{key}": document
        for key, document in {
            "a": {"create_time": 1, "value": {"role": "user", "content": "c"}, "cost": 1, "callingExecId": 2},
            "b": {"create_time": 2, "value": {"n": 1}, "cost": 1},
            "c": {"create_time": 3, "n": 2},
            "d": {"create_time": 4, "value": None},
            "e": {"create_time": 5, "value": 5},
        }.items()
    }
    assert followed({"components": [yoj("notes", "F: ")]}, WINDOW, store, includeDocId=True).messages == [
        {"role": "user", "content": "c", "cost": 1, "callingExecId": 2, "docId": "a"},
        {"n": 1, "docId": "b"},
        {"create_time": 3, "n": 2, "docId": "c"},
        {"create_time": 4, "value": None, "docId": "d"},
        5,
    ]


@covers("kala.promotion", "recipe.promote-upstream")
def test_each_stream_is_widened_by_itself_before_the_next_component():
    store = STORE | store_of(
        record(f"{SESSION}/topicInfos/t", END, 1), record("users/u/log.sessions.topicInfos/w", WEEK_END, 2)
    )
    found = contents(
        yoj("topicInfos"), literal("between"), yoj("summaries"), store=store, promoteUpstream=True
    )
    assert found == [
        "(Week) 2",
        "(Session) 1",
        "(Convo) 1",
        "between",
        '(Term) {"n":"term"}',
        '(Week) {"n":"week"}',
        '(Session) {"n":"session"}',
        '(Session) {"n":"seg"}',
        '(Convo) {"n":"seg"}',
    ]


@covers("kala.raw-messages", "kala.topic")
def test_messages_come_from_segments_topics_and_paths_only():
    said = {"role": "user", "content": "hello"}
    store = STORE | store_of(
        record("users/u/topics/t/messages/1", 1, said),
        record("users/u/topics/t/summaries/1", 1, {"n": "topic"}),
        record("users/u/trees/T/paths/N/1", 1, said),
    )
    both = [yoj("messages"), {"kind": "ista", "name": "summaries"}]
    reads = [
        (SEG, ["hello", '(Convo) {"n":"seg"}']),
        ({"kind": "Topic", "topicId": "t"}, ["hello", '{"n":"topic"}']),
        ({"kind": "Path", "treeId": "T", "nodeId": "N"}, ["hello"]),
        ({"kind": "SessionKala", "sessionId": "s", "sessionEnd": END - 1}, ['(Session) {"n":"session"}']),
        ({"kind": "WeekKala", "weekEnd": WEEK_END}, ['(Week) {"n":"week"}']),
    ]
    for kala, expected in reads:
        assert contents(*both, kala=kala, store=store, promoteUpstream=False) == expected
    assert promoted(Topic("t")) is None


@covers("kala.fields-checked", "kala.unknown")
@pytest.mark.parametrize(
    ("kala", "field"),
    [
        ({"kind": "SegKala", "end": 1, "windowSeconds": 1}, "kala.sessionId"),
        ({"kind": "SegKala", "sessionId": "s", "end": "1", "windowSeconds": 1}, "kala.end"),
        ({"kind": "SegKala", "sessionId": "s", "end": 1}, "kala.windowSeconds"),
        ({"kind": "SessionKala", "sessionId": "s"}, "kala.sessionEnd"),
        ({"kind": "WeekKala", "weekEnd": True}, "kala.weekEnd"),
        ({"kind": "TermKala", "begin": 1, "end": float("inf")}, "kala.end"),
        ({"kind": "Path", "treeId": "T"}, "kala.nodeId"),
        ({"kind": "Topic", "topicId": 5}, "kala.topicId"),
        ({"kind": "DayKala"}, "kala.kind"),
    ],
)
def test_a_slice_that_lacks_something_is_refused_with_the_field(kala, field):
    with pytest.raises(InvalidInputError, match=field):
        followed({}, kala)
    with pytest.raises(InvalidInputError, match=field):
        slice_of(kala)


@covers("recipe.include-doc-id")
def test_messages_carry_their_ids_if_asked():
    model = {"intro": {"system": "i"}, "components": [yoj("summaries"), yoj("messages"), literal("x")]}
    assert [each.get("docId") for each in followed(model, includeDocId=True).messages] == [
        None,
        "seg",
        "m",
        None,
    ]
    assert [each.get("docId") for each in followed(model).messages] == [None] * 4


@covers("recipe.streams-by-user")
def test_a_stream_is_the_users_own_and_nobodys_where_the_user_has_none():
    store = STORE | store_of(record("convo.sessions/s/summaries/all", END, {"n": "everybody"}))
    model = {"components": [yoj("summaries")]}
    said = {
        user: [
            each["content"] for each in followed(model, store=store, scope=RecordScope(user_id=user)).messages
        ]
        for user in ("u", "v", None)
    }
    nobodys = ['(Convo) {"n":"everybody"}']
    assert said == {"u": ['(Convo) {"n":"seg"}'], "v": nobodys, None: nobodys}
    store["users/v/convo.sessions/s/summaries/old"] = {"create_time": 1, "value": 1}
    assert followed(model, store=store, scope=RecordScope(user_id="v")).messages == []


def test_the_filters_of_a_recipe_know_its_user_and_session():
    store = STORE | {f"{SESSION}/indexes/collapsed/messageToGroups/m": {"groups": {"G": {"responseId": "r"}}}}
    model = {"components": [yoj("messages")], "filters": ["collapseGroupReplacer"]}
    found = followed(model, store=store, includeDocId=True)
    assert [json.loads(each["content"])["name"] for each in found.messages] == ["G"]
    assert followed(model, store=store).messages == [{"role": "user", "content": "hello"}]


@covers("filter.everything-in-the-manifest")
def test_the_manifest_tells_sources_steps_and_messages():
    model = {
        "components": [yoj("summaries"), literal("x" * 400)],
        "filters": [{"name": "sizeLimiter", "options": {"maxTokens": 60}}],
    }
    found = followed(model, promoteUpstream=True)
    entries = list(found.manifest)
    assert [(entry.kind, entry.outcome) for entry in entries] == [
        (EntryKind.SOURCE, Outcome.KEPT),
        (EntryKind.SOURCE, Outcome.KEPT),
        (EntryKind.FILTER, Outcome.KEPT),
        (EntryKind.FILTER, Outcome.CUT),
        (EntryKind.MESSAGE, Outcome.KEPT),
    ]
    assert entries[0].reason == "yoj summaries of SegKala: 1"
    assert found.manifest.facts.budget == 60
    assert found.manifest.tokens == entries[-1].tokens > 0


def test_a_recipe_can_be_followed_where_a_loop_runs():
    async def late(messages, options, context):
        await asyncio.sleep(0)
        return [*messages, {"role": "user", "content": context.user_id}]

    recipe = decode_recipe({"kala": SEG, "model": {"filters": ["late"]}})
    scope, registry = RecordScope(user_id="u"), Registry({"late": late})
    found = asyncio.run(follow_recipe_async(recipe, DocumentRecords({}), scope=scope, registry=registry))
    assert found.messages == [{"role": "user", "content": "u"}]
    assert (
        follow_recipe(recipe, DocumentRecords({}), scope=scope, registry=registry).messages == found.messages
    )
