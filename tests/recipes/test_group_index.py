"""The collapse index: names, batches, and who has the last word."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.context.recipes import apply_filters
from weft.context.recipes.collapsed_groups import GroupParts, GroupReader, GroupScope, group_name
from weft.context.recipes.group_index import (
    BATCH,
    MOST_GROUPS,
    MemoryIndex,
    plan_index,
    plan_removal,
    plan_state,
    read_index_request,
    read_state_request,
)
from weft.errors import InvalidInputError

SCOPE = GroupScope(session_id="s", user_id="u")


def group(name, *ids):
    return {"name": name, "items": [{"type": "message", "id": each} for each in ids]}


def indexed(index, *groups, response="r", now=1):
    request = read_index_request({"sessionId": "s", "responseId": response, "groups": list(groups)})
    plan = plan_index(request, user_id="u", now=now)
    return plan, index.write(plan)


@covers("collapse.names")
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Past Decisions", "PAST_DECISIONS"),
        ("a--b__c", "A_B_C"),
        ("__lead_trail__", "LEAD_TRAIL"),
        ("v2.1", "V2_1"),
        ("Straße", "STRASSE"),
        ("café au lait", "CAF_AU_LAIT"),
        ("ﬁn", "FIN"),
        ("日本", ""),
        ("  ", ""),
        ("", ""),
        (None, ""),
        (5, "5"),
        (0, ""),
        (["a", "b"], "A_B"),
    ],
)
def test_names_are_upper_snake_case(name, found):
    assert group_name(name) == found
    assert group_name(found) == found


@covers("collapse.batches")
@pytest.mark.parametrize(
    ("members", "sizes"),
    [(0, [2]), (398, [400]), (399, [400, 1]), (798, [400, 400]), (1_000, [400, 400, 202])],
)
def test_writes_go_in_batches_of_at_most_400(members, sizes):
    plan, found = indexed(MemoryIndex(), group("A", *(f"m{number}" for number in range(members))))
    assert found == sizes
    assert plan.answer == {
        "ok": True,
        "indexed_groups": 1,
        "indexed_messages": members,
        "batches": len(sizes),
    }
    assert all(len(batch) <= BATCH for batch in plan.batches)


groups = st.lists(
    st.builds(
        lambda name, ids: group(name, *ids),
        st.sampled_from(["a", "B b", "日", "C"]),
        st.lists(st.sampled_from("1234")),
    ),
    max_size=4,
)


@covers("collapse.idempotent")
@given(groups, groups)
def test_indexing_twice_is_indexing_once_and_the_last_writer_wins(first, second):
    index = MemoryIndex()
    indexed(index, *first, response="r1", now=1)
    indexed(index, *second, response="r2", now=2)
    before = copy.deepcopy(index.documents)
    indexed(index, *second, response="r2", now=2)
    assert index.documents == before
    names = {group_name(each["name"]) for each in second} - {""}
    owners = index.reader.indexed(SCOPE, GroupParts.GROUP_TO_RESPONSE, names)
    assert all(document["responseId"] == "r2" for document in owners.values())
    assert owners.keys() == names


@covers("collapse.idempotent")
def test_a_message_keeps_its_other_groups_and_counts_once_in_each():
    index = MemoryIndex()
    indexed(index, group("a", "1", "1", "2"), now=1)
    plan, _ = indexed(
        index, group("b", "1"), {"name": "c", "items": [{"type": "collapsed", "id": "9"}, None]}, now=2
    )
    assert plan.answer["indexed_messages"] == 1
    sizes = index.reader.indexed(SCOPE, GroupParts.GROUP_TO_RESPONSE, "ABC")
    assert {name: document["size"] for name, document in sizes.items()} == {"A": 3, "B": 1, "C": 2}
    found = index.reader.memberships(SCOPE, ["1", "2", "9"])
    assert {key: list(document["groups"]) for key, document in found.items()} == {"1": ["A", "B"], "2": ["A"]}


def test_groups_come_from_the_response_in_either_shape_if_they_are_not_given():
    request = read_index_request({"sessionId": "s", "responseId": "r"})
    assert request.wants_response
    for response in ({"groups": [group("a", "1")]}, {"value": {"groups": [group("a", "1")]}}):
        assert plan_index(request, user_id=None, now=1, response=response).answer["indexed_groups"] == 1
    with pytest.raises(InvalidInputError, match="responseId: there is no response 'r'"):
        plan_index(request, user_id=None, now=1)


def test_groups_without_a_response_are_indexed_under_unknown():
    body = {"sessionId": "s", "groups": [group("a", "1"), group("a", 1, True), "b", None]}
    plan = plan_index(read_index_request(body), user_id=None, now=1)
    assert [(upsert.shelf, upsert.key) for upsert in plan.upserts] == [
        (GroupParts.GROUP_TO_RESPONSE, "A"),
        (GroupParts.GROUP_TO_RESPONSE, "A"),
        (GroupParts.MESSAGE_TO_GROUPS, "1"),
        (GroupParts.MESSAGE_TO_GROUPS, "true"),
        (GroupParts.RESPONSE_TO_GROUPS, "unknown"),
    ]
    assert plan.upserts[-1].document == {"groups": ["A", "A"], "updated_at": 1}
    assert plan.answer["indexed_groups"] == plan.answer["indexed_messages"] == 2
    assert plan.scope.path == "convo.sessions/s"
    alone = plan_index(read_index_request({**body, "includeResponseToGroups": False}), user_id=None, now=1)
    assert list(alone.upserts) == list(plan.upserts[:-1])


@covers("collapse.batches")
def test_a_message_in_very_many_groups_has_an_entry_for_each():
    many = [group(f"g{number}", "1") for number in range(MOST_GROUPS + 1)]
    plan, _ = indexed(MemoryIndex(), *many, group("a", "2"))
    aside = [upsert.key for upsert in plan.upserts if upsert.shelf is GroupParts.BY_MESSAGE]
    assert len(aside) == MOST_GROUPS + 1
    assert aside[0] == "1/groups/G0"
    assert plan.answer["indexed_messages"] == 2


@covers("collapse.state")
def test_a_group_keeps_the_response_it_was_opened_with():
    index = MemoryIndex()
    for now, more in [(1, {"responseId": "r"}), (2, {})]:
        body = {"sessionId": "s", "group": "a", "expanded": now == 1, **more}
        index.write(plan_state(read_state_request(body), user_id="u", now=now))
    assert index.reader.states(SCOPE, ["A"]) == {"A": {"expanded": False, "updated_at": 2, "responseId": "r"}}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "must be an object"),
        ([], "must be an object"),
        ({"responseId": "r"}, "sessionId is required"),
        ({"sessionId": "", "responseId": "r"}, "sessionId is required"),
        ({"sessionId": 5, "responseId": "r"}, "sessionId must be a string"),
        ({"sessionId": "a/b", "responseId": "r"}, "sessionId must be a string without slashes"),
        ({"sessionId": "s"}, "Either responseId or groups must be provided"),
        ({"sessionId": "s", "responseId": ""}, "Either responseId or groups must be provided"),
        ({"sessionId": "s", "groups": {}}, "Either responseId or groups must be provided"),
        ({"sessionId": "s", "responseId": "r", "groups": {}}, "groups must be an array"),
        ({"sessionId": "s", "responseId": "r", "groups": "all"}, "groups must be an array"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_the_field(body, said):
    with pytest.raises(InvalidInputError, match=said):
        read_index_request(body)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"sessionId": "s", "expanded": True}, "group must be a name"),
        ({"sessionId": "s", "group": "日", "expanded": True}, "group must be a name"),
        ({"sessionId": "s", "group": "a", "expanded": "no"}, "expanded must be true or false"),
        ({"group": "a", "expanded": True}, "sessionId is required"),
    ],
)
def test_a_state_that_makes_no_sense_is_refused_with_the_field(body, said):
    with pytest.raises(InvalidInputError, match=said):
        read_state_request(body)


def test_groups_that_say_nothing_are_those_of_the_response():
    for nothing in (None, False, 0, ""):
        request = read_index_request({"sessionId": "s", "responseId": "r", "groups": nothing})
        assert request.wants_response
    assert not read_index_request({"sessionId": "s", "responseId": "r", "groups": []}).wants_response


@covers("collapse.state")
def test_a_group_can_be_opened_and_closed_again():
    index, message = MemoryIndex(), {"role": "user", "content": "c", "docId": "1"}
    indexed(index, group("My group", "1"))

    def shown():
        context = {"sessionId": "s", "userId": "u", "store": index.reader}
        return apply_filters([message], ["collapseGroupReplacer"], context)[0]["role"]

    assert isinstance(index.reader, GroupReader)
    assert shown() == "system"
    for expanded, role in [(True, "user"), (False, "system"), (True, "user")]:
        request = read_state_request({"sessionId": "s", "group": "my group", "expanded": expanded})
        index.write(plan_state(request, user_id="u", now=2))
        assert shown() == role


@covers("collapse.removal")
def test_a_response_can_be_taken_out_of_the_index_again():
    index = MemoryIndex()
    indexed(index, group("a", "1", "2"), group("b", "2"), response="r1", now=1)
    indexed(index, group("b", "3"), response="r2", now=2)
    kept = MemoryIndex()
    indexed(kept, group("b", "3"), response="r2", now=2)
    reader = index.reader
    reverse = reader.indexed(SCOPE, GroupParts.RESPONSE_TO_GROUPS, ["r1"]).get("r1")
    plan = plan_removal(
        "r1",
        reverse,
        reader.memberships(SCOPE, ["1", "2", "3"]),
        reader.indexed(SCOPE, GroupParts.GROUP_TO_RESPONSE, "AB"),
        SCOPE,
    )
    index.write(plan)
    assert index.documents == kept.documents
    assert plan.answer == {"ok": True, "removed_groups": 2}
