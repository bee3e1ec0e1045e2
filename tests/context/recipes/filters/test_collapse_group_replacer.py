"""One placeholder for a collapsed group, and none for an open one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.context.manifest_entries import Outcome
from weft.context.recipes import apply_filters, run_filters

MINE, OURS = "users/u/convo.sessions/s", "convo.sessions/s"
CONTEXT = {"sessionId": "s", "userId": "u"}


def said(doc_id, content="c", **fields):
    return {"role": "user", "content": content, "docId": doc_id, **fields}


def group(**names):
    return {"groups": {name: {"responseId": "r", "updated_at": at} for name, at in names.items()}}


def member(doc_id, root=MINE, **names):
    return {f"{root}/indexes/collapsed/messageToGroups/{doc_id}": group(**names)}


def expanded(name, *, value=True, root=MINE):
    return {f"{root}/indexes/collapsed/groupState/{name}": {"expanded": value}}


def response(groups, root=MINE):
    return {f"{root}/collapsed/r": groups}


def collapsed(messages, *documents, **context):
    store = {path: document for each in documents for path, document in each.items()}
    return apply_filters(messages, ["collapseGroupReplacer"], {**CONTEXT, "store": store, **context})


def placeholder(name, **fields):
    content = {"type": "collapsed_group", "name": name, "responseId": "r", **fields}
    return {"role": "system", "content": json.dumps(content, ensure_ascii=False, separators=(",", ":"))}


@covers("filter.collapse-placeholder", "filter.collapse-content")
def test_a_group_is_one_system_message_where_its_first_one_stood():
    messages = [said("1"), said("2"), said("x"), said("3")]
    found = collapsed(messages, member("2", A=1), member("3", A=1))
    assert found == [said("1"), placeholder("A"), said("x")]


@covers("filter.collapse-newest-wins")
@pytest.mark.parametrize(
    ("groups", "newest"),
    [
        ({"A": 1, "B": 2}, "B"),
        ({"A": 2, "B": 2}, "A"),
        ({"B": 2, "10": 2, "9": 2}, "9"),
        ({"A": -5, "B": None}, "B"),
        ({"A": -5}, "A"),
        ({"A": "7", "B": 1}, "B"),
    ],
)
def test_a_message_in_several_groups_belongs_to_the_newest(groups, newest):
    entries = {name: {"responseId": "r", "updated_at": at} for name, at in groups.items()}
    store = {f"{MINE}/indexes/collapsed/messageToGroups/1": {"groups": entries}}
    (found,) = collapsed([said("1")], store)
    assert json.loads(found["content"])["name"] == newest


@pytest.mark.parametrize(
    "document",
    [
        *({}, {"groups": {}}, {"groups": []}, {"groups": "A"}, {"groups": None}),
        *(
            {"groups": {"A": None}},
            {"groups": {"A": {"updated_at": 1}}},
            {"groups": {"A": {"responseId": ""}}},
        ),
    ],
)
def test_a_message_whose_entry_names_no_group_stays(document):
    assert collapsed([said("1")], {f"{MINE}/indexes/collapsed/messageToGroups/1": document}) == [said("1")]


@covers("filter.collapse-expanded")
@pytest.mark.parametrize("value", [True, "false", 1, []])
def test_an_expanded_group_stays_and_says_which_group_it_is(value):
    found = collapsed([said("1"), said("2")], member("1", A=1), member("2", B=1), expanded("A", value=value))
    note = {"collapsedGroupId": "A", "collapsedGroup": {"name": "A", "expanded": True, "responseId": "r"}}
    assert found == [{**said("1"), **note}, placeholder("B")]


@covers("filter.collapse-expanded")
@pytest.mark.parametrize("value", [False, 0, "", None])
def test_a_group_that_is_not_expanded_is_collapsed(value):
    assert collapsed([said("1")], member("1", A=1), expanded("A", value=value)) == [placeholder("A")]


@covers("filter.collapse-scope")
def test_the_users_own_groups_come_first_and_nobodys_fill_in():
    mine, ours = member("1", A=1), member("1", OURS, B=1)
    assert collapsed([said("1")], mine, ours) == [placeholder("A")]
    assert collapsed([said("1")], ours) == [placeholder("B")]
    assert collapsed([said("1")], mine, ours, userId=None) == [placeholder("B")]
    assert collapsed([said("1")], mine, userId="v") == [said("1")]
    assert collapsed([said("1")], mine, ours, sessionId=None) == [said("1")]
    assert collapsed([said("1")], mine, expanded("A", root=OURS))[0]["collapsedGroupId"] == "A"


@covers("filter.collapse-scope")
def test_options_name_the_session_and_the_user_where_the_context_does_not():
    step = {"name": "collapseGroupReplacer", "options": CONTEXT}
    assert apply_filters([said("1")], [step], {"store": member("1", A=1)}) == [placeholder("A")]
    assert apply_filters([said("1")], [step], {"store": member("1", A=1), "userId": "v"}) == [said("1")]


@covers("filter.collapse-description-shapes")
def test_a_group_is_found_in_its_response_by_the_name_that_the_index_made_of_its_own():
    groups = [
        {"name": "Past plans", "description": "old"},
        {"name": "past-plans!", "description": "late"},
        {},
    ]
    response = {f"{MINE}/collapsed/r": {"groups": groups}}
    (found,) = collapsed([said("1")], member("1", PAST_PLANS=1), response)
    assert json.loads(found["content"])["description"] == "old"
    exact = {f"{MINE}/collapsed/r": {"groups": [*groups, {"name": "past_plans", "description": "exact"}]}}
    (found,) = collapsed([said("1")], member("1", PAST_PLANS=1), exact)
    assert json.loads(found["content"])["description"] == "exact"


@covers("filter.collapse-description-shapes", "filter.collapse-content")
@pytest.mark.parametrize(
    ("document", "fields"),
    [
        ({"groups": [{"name": "A", "description": "d"}, {"name": "B"}]}, {"description": "d"}),
        (
            {"value": {"groups": [{"name": "x"}, {"name": "a", "params": {"description": "d"}}]}},
            {"description": "d"},
        ),
        ({"value": {"groups": [{"name": "A", "items": [{"id": "1"}]}]}}, {"items": [{"id": "1"}]}),
        ({"groups": [{"name": "only", "description": "d"}]}, {"description": "d"}),
        ({"groups": [{"name": "x", "description": "d"}, {"name": "y"}]}, {}),
        (
            {"groups": [{"name": "a", "description": "first"}, {"name": "A", "description": "second"}]},
            {"description": "first"},
        ),
        (
            {"groups": [{"name": "A", "description": "", "params": {"description": "d"}}]},
            {},
        ),
        (
            {"groups": [{"group": "a", "value": {"description": "d", "items": []}}, {}]},
            {"description": "d", "items": []},
        ),
        ({"groups": [{"name": "A B", "description": "d"}, {"name": "y"}]}, {}),
        ({"groups": [{"name": "A", "description": "d", "messageIds": ["1"]}]}, {"description": "d"}),
        ({"groups": "none"}, {}),
        ({}, {}),
    ],
)
def test_descriptions_and_items_are_read_from_either_shape(document, fields):
    assert collapsed([said("1")], member("1", A=1), response(document)) == [placeholder("A", **fields)]


def test_the_first_message_says_which_response_the_group_is_of():
    store = {
        f"{MINE}/indexes/collapsed/messageToGroups/1": {"groups": {"A": {"responseId": "r1"}}},
        f"{MINE}/indexes/collapsed/messageToGroups/2": {"groups": {"A": {"responseId": "r2"}}},
    }
    (found,) = collapsed([said("2"), said("1")], store)
    assert json.loads(found["content"])["responseId"] == "r2"
    opened = collapsed([said("2"), said("1")], store, expanded("A"))
    groups = [each["collapsedGroup"] for each in opened]
    assert groups == [{"name": "A", "expanded": True, "responseId": "r2"}] * 2


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "docID": "1"},
        {"role": "user", "id": "1"},
        {"role": "user", "docId": "", "docID": None, "id": "1"},
        {"role": "user", "docId": "1", "docID": "2", "id": "3"},
        {"role": "user", "id": 1},
        {"role": "user", "id": [1]},
    ],
)
def test_a_message_is_known_by_the_first_id_it_has(message):
    assert collapsed([message], member("1", A=1)) == [placeholder("A")]


@pytest.mark.parametrize("message", [None, 5, "1", [], {}, {"docId": {}}, {"docId": True}])
def test_what_has_no_id_stays(message):
    assert collapsed([message], member("1", A=1)) == [message]


ids = st.sampled_from("123456")
stores = st.builds(
    lambda members, states: {
        path: document
        for each in [*(member(doc_id, **names) for doc_id, names in members.items()), *map(expanded, states)]
        for path, document in each.items()
    },
    st.dictionaries(ids, st.dictionaries(st.sampled_from("ABC"), st.integers(0, 3), min_size=1)),
    st.sets(st.sampled_from("ABC"), max_size=1),
)


@covers("filter.collapse-idempotent")
@given(st.lists(ids.map(said), max_size=10), stores)
def test_running_it_twice_changes_nothing_more(messages, store):
    once = collapsed(messages, store)
    assert collapsed(once, store) == once
    names = [json.loads(each["content"])["name"] for each in once if each["role"] == "system"]
    assert len(names) == len(set(names))


@covers("filter.collapse-idempotent")
def test_a_placeholder_that_has_an_id_stays_one():
    message = {**placeholder("A"), "docId": "1"}
    assert collapsed([message, said("1")], member("1", A=1)) == [message, placeholder("A")]


@covers("filter.everything-in-the-manifest")
def test_every_message_of_a_group_is_told():
    store = {**member("1", A=1), **member("2", A=1), **member("3", B=1), **expanded("B")}
    found = run_filters(
        [said("1"), said("2"), said("3")], ["collapseGroupReplacer"], {**CONTEXT, "store": store}
    )
    told = [(mark.outcome, mark.id, mark.reason) for mark in found.steps[0].marks]
    assert told == [
        (Outcome.ADDED, "added", "stands for the group A"),
        (Outcome.COLLAPSED, "1", "of the group A"),
        (Outcome.COLLAPSED, "2", "of the group A"),
        (Outcome.KEPT, "3", "of the expanded group B"),
    ]
